"""DataSource: streaming readers as a source."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from runtime.api.connector import ExactlyOnceSupport
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import INT64_SCHEMA
from runtime.api.data.validate import validate_struct
from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.data_source.source import DataSourceConnector
from runtime.connectors.data_source.source_task import DataSourceTask
from tests.support.tasks.task_contexts import StoredOffsets, started
from tests.support.waiting import wait_until

NUMBERS, LETTERS = "tests.support.data_sources.Numbers", "tests.support.data_sources.Letters"
PARTITION = {"data.source": NUMBERS}


def config_of(source: str, **options: str) -> dict[str, str]:
    common = {"topic": "t", "data.source": source, "data.source.poll.interval.ms": "10", "data.source.batch.size": "15"}
    return common | {f"data.source.option.{name}": value for name, value in options.items()}


@contextmanager
def reading(config: Mapping[str, str], offsets: StoredOffsets | None = None) -> Iterator[DataSourceTask]:
    seconds = count()
    task = started(DataSourceTask(clock=lambda: next(seconds)), config, offsets)
    try:
        yield task
    finally:
        task.stop()


def take(task: DataSourceTask, count: int) -> list[SourceRecord]:
    found: list[SourceRecord] = []
    until = time.monotonic() + 10
    while len(found) < count and time.monotonic() < until:
        records = task.poll()
        found += records or ()
        if not records:
            time.sleep(0.001)
    return found


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_rows_of_all_partitions_arrive_in_order(threads: str) -> None:
    config = {**config_of(NUMBERS, total="100"), "data.source.threads": threads, "key.field": "n"}
    with reading(config) as task:
        records = take(task, 100)
        assert not task.poll()
    assert [record.value["n"] for record in records] == list(range(100))
    assert [record.value["text"] for record in records[9:12]] == ["number 9", None, "number 11"]
    assert (records[7].key, records[7].key_schema) == (7, INT64_SCHEMA)
    for record in records:
        assert record.value_schema is not None and record.source_partition == PARTITION
        validate_struct(record.value_schema, record.value)


def test_a_reader_with_the_methods_of_spark_4_0() -> None:
    with reading(config_of(f"{NUMBERS}OfSpark40", total="100")) as task:
        records = take(task, 100)
    assert [record.value["n"] for record in records] == list(range(100))
    assert records[0].source_offset == {"offset": '{"n":0}', "end": '{"n":100}', "records": 1}


def test_a_reader_that_accepts_both_signatures_gets_the_offset() -> None:
    with reading(config_of(f"{NUMBERS}OfAnySpark", total="100")) as task:
        assert [record.value["n"] for record in take(task, 100)] == list(range(100))


def test_a_reader_of_spark_4_2_runs_on_spark_4_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pyspark.sql.datasource.DataSourceStreamReader.getDefaultReadLimit", raising=False)
    with reading(config_of(NUMBERS, total="100")) as task:
        assert [record.value["n"] for record in take(task, 100)] == list(range(100))


def test_partitions_are_read_at_the_same_time(tmp_path: Path) -> None:
    config = config_of(NUMBERS, total="40", together=str(tmp_path), partitions="4")
    with reading({**config, "data.source.threads": "4"}) as task:
        assert len(take(task, 40)) == 40


@pytest.mark.parametrize("source", [NUMBERS, LETTERS])
def test_every_offset_resumes_with_the_next_record(source: str) -> None:
    config = config_of(source, total="26", step="10") | {"data.source.batch.size": "2"}
    with reading(config) as task:
        records = take(task, 26)
    connector = DataSourceConnector()
    for n in (1, 2, 3, 9, 10, 11, 25):
        stored = StoredOffsets()
        stored.commit([records[n - 1]])
        with reading(config, stored) as task:
            assert [r.value for r in take(task, 26 - n)] == [r.value for r in records[n:]]
        assert connector.alter_offsets(config, [(records[n].source_partition, records[n].source_offset)])


def test_arrow_batches_and_offsets_within_them() -> None:
    config = config_of("tests.support.data_sources.ArrowNumbers", total="100")
    with reading(config) as task:
        records = take(task, 100)
    assert [record.value["n"] for record in records] == list(range(100))
    assert records[10].value == {"n": 10, "text": None}
    stored = StoredOffsets()
    stored.commit([records[20]])
    with reading(config, stored) as task:
        assert [record.value["n"] for record in take(task, 79)] == list(range(21, 100))


def test_offsets_show_those_of_the_reader() -> None:
    with reading(config_of(NUMBERS, total="40")) as task:
        records = take(task, 40)
    assert records[0].source_offset == {"offset": '{"n":0}', "end": '{"n":40}', "records": 1}
    assert records[-1].source_offset == {"offset": '{"n":40}'}


def test_values_of_all_kinds() -> None:
    with reading(config_of(LETTERS)) as task:
        records = take(task, 26)
    assert records[1].value == {
        "letter": "b", "at": dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC), "price": Decimal("1.00"), "tags": ["1"],
        "place": {"x": 1, "y": None},
    }  # fmt: skip
    for record in records:
        assert record.value_schema is not None
        validate_struct(record.value_schema, record.value)


def test_the_reader_commits_what_the_worker_has_committed(tmp_path: Path) -> None:
    commits, stored = tmp_path / "commits", StoredOffsets()
    commits.touch()
    with reading(config_of(NUMBERS, total="100", commits=str(commits)), stored) as task:
        records = take(task, 100)
        task.commit()
        stored.commit([records[45]])
        task.commit()
        wait_until(lambda: commits.read_text() == '{"n": 40}\n', 10, "the reader's commit")
        stored.commit(records[-1:])
        task.commit()
        wait_until(lambda: commits.read_text().endswith('{"n": 100}\n'), 10, "the reader's commit")


def test_errors_of_the_reader_fail_the_task() -> None:
    with reading(config_of(NUMBERS, fail="20", partitions="2")) as task, pytest.raises(ValueError, match="number 20"):
        take(task, 100)


def test_a_reader_that_waits_does_not_delay_a_stop() -> None:
    with reading(config_of(NUMBERS, delay="20")) as task:
        assert not task.poll()
        begin = time.monotonic()
    assert time.monotonic() - begin < 15, "less than the reader waits"


@pytest.mark.parametrize(
    ("source", "schema", "message"),
    [
        ("Numbers", None, "expected a class such as package.module.Class"),
        ("tests.support.no_module.Class", None, "there is no module tests.support.no_module"),
        ("tests.support.data_sources.Path", None, "not a subclass of DataSource"),
        ("tests.support.data_sources.RowFiles", "n INT", "RowFiles has no reader"),
        ("tests.support.data_sources.LettersWithoutSchema", None, "does not return a schema: set data.source.schema"),
        (NUMBERS, "n INTERVAL", "not supported"),
        (NUMBERS, "n", "expected more"),
    ],
)
def test_invalid_configurations(source: str, schema: str | None, message: str) -> None:
    config = config_of(source) | ({} if schema is None else {"data.source.schema": schema})
    errors = [error for value in DataSourceConnector().validate(config) for error in value.errors]
    assert message in " ".join(errors)
    with pytest.raises(ConfigError):
        DataSourceConnector().start(config)


def test_altered_offsets_are_checked() -> None:
    connector, config = DataSourceConnector(), config_of(NUMBERS)
    assert connector.alter_offsets(config, [(PARTITION, {"offset": '{"n": 5}'}), ({"old": 1}, None)])
    assert connector.exactly_once_support(config) is ExactlyOnceSupport.SUPPORTED
    wrong: list[Mapping[str, Any]] = [
        {}, {"n": 5}, {"offset": {"n": 5}}, {"offset": "5"}, {"offset": "{"}, {"offset": "{}", "records": 5},
        {"offset": "{}", "end": "{}"}, {"offset": "{}", "end": "{}", "records": -1},
    ]  # fmt: skip
    for offset in wrong:
        with pytest.raises(ConnectError):
            connector.alter_offsets(config, [(PARTITION, offset)])
    with pytest.raises(ConnectError, match="source partition"):
        connector.alter_offsets(config, [({"data.source": LETTERS}, {"offset": "{}"})])
