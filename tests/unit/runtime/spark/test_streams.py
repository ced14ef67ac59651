"""Streams as Spark calls them, without a JVM: offsets, batches, restarts from a checkpoint, failures."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from runtime.api.connector import SourceConnector
from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConfigError, ConnectError
from runtime.api.task import SourceTask
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.plugins import registry
from runtime.spark.options import SparkOptions
from runtime.spark.source.batch_reader import HeadraceReader, inferred_schema
from runtime.spark.source.stream_reader import HeadraceStreamReader
from tests.support.waiting import wait_until

Offset = dict[str, Any]
ALL = ReadAllAvailable()


class Stream:
    """A query's calls of the reader."""

    def __init__(self, schema: str, **options: str) -> None:
        self.options = SparkOptions.of({name.replace("_", "."): text for name, text in options.items()})
        self.schema = parse_ddl(schema)
        self.reader = HeadraceStreamReader(self.options, self.schema)
        self.end: Offset = self.reader.initialOffset()

    def advance(self, rows: int | None = None) -> Offset:
        """The end of the next batch that has records."""
        start, limit = self.end, ALL if rows is None else ReadMaxRows(rows)

        def has_records() -> bool:
            self.end = stored(self.reader.latestOffset(start, limit))
            return self.end != start

        wait_until(has_records, 20)
        return self.end

    def rows(self, start: Offset, end: Offset) -> list[dict[str, Any]]:
        return [row for part in self.reader.partitions(start, end) for batch in self.reader.read(part)
                for row in batch.to_pylist()]  # fmt: skip


def stored(offset: Offset) -> Offset:
    """An offset as it comes back from Spark's checkpoint."""
    found: Offset = json.loads(json.dumps(offset))
    return found


@contextlib.contextmanager
def running(stream: Stream) -> Iterator[Stream]:
    try:
        yield stream
    finally:
        stream.reader.stop()


def lines(path: Path, *numbers: int) -> Path:
    with path.open("a") as file:
        file.writelines(f"line {number}\n" for number in numbers)
    return path


def file_stream(path: Path, schema: str = "value STRING", **more: str) -> Stream:
    return Stream(schema, connector_class="FileStreamSource", file=str(path), topic="lines", **more)


def numbers_stream(schema: str = "n BIGINT", **more: str) -> Stream:
    return Stream(schema, connector_class="Datagen", topic="numbers", fields='{"n": "sequence"}', rate="0", **more)


def test_batches_follow_each_other(tmp_path: Path) -> None:
    path = lines(tmp_path / "in", *range(3))
    with running(file_stream(path)) as stream:
        first = stream.advance()
        lines(path, 3, 4)
        second = stream.advance()
        assert [row["value"] for row in stream.rows(first, second)] == ["line 3", "line 4"]
        assert [row["value"] for row in stream.rows(stream.reader.initialOffset(), first)] == [
            f"line {number}" for number in range(3)
        ]
        assert stored(stream.reader.latestOffset(second, ALL)) == second


def test_offsets_are_those_of_the_connector(tmp_path: Path) -> None:
    path = lines(tmp_path / "in", 1, 2)
    with running(file_stream(path)) as stream:
        assert stream.advance() == {
            "partitions": [{"partition": {"filename": str(path)}, "offset": {"position": 14}, "records": 2}]
        }


def test_a_restarted_query_continues(tmp_path: Path) -> None:
    path = lines(tmp_path / "in", *range(5))
    with running(file_stream(path)) as before:
        end = before.advance()
    lines(path, 5)
    with running(file_stream(path)) as after:
        after.end = end
        assert [row["value"] for row in after.rows(end, after.advance())] == ["line 5"]


def test_a_batch_of_the_checkpoint_is_repeated_exactly() -> None:
    """Polls have other boundaries than before."""
    with running(numbers_stream(tasks_max="2", batch_size="700")) as before:
        start = before.advance(3000)
        first = before.rows(before.reader.initialOffset(), start)
        end = before.advance(3000)
        wanted = before.rows(start, end)
    with running(numbers_stream(tasks_max="2", batch_size="333")) as after:
        repeated = after.rows(start, end)
        after.end = end
        third = after.rows(end, after.advance())
    assert in_order(repeated) == in_order(wanted)
    counts = [one["records"] for one in after.end["partitions"]]
    assert in_order([*first, *wanted, *third]) == sorted(n for count in counts for n in range(count))


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted(row["n"] for row in rows)


def test_a_repeated_batch_may_have_records_that_transformations_drop(tmp_path: Path) -> None:
    options = {
        "transforms": "odd", "predicates": "seen", "transforms_odd_type": "org.apache.kafka.connect.transforms.Filter",
        "transforms_odd_predicate": "seen", "predicates_seen_pattern": "none",
        "predicates_seen_type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "transforms_odd_negate": "true",
    }  # fmt: skip
    path = lines(tmp_path / "in", 1, 2, 3)
    with running(file_stream(path, **options)) as before:
        start, end = before.end, before.advance()
        assert before.rows(start, end) == []
    lines(path, 4)
    with running(file_stream(path, **options)) as after:
        assert after.rows(start, end) == []
        after.end = end
        assert after.advance()["partitions"][0]["records"] == 4


@pytest.mark.parametrize(
    ("count", "later", "message"),
    [
        (9, "line 0\n", r"8 records of source partition .* are missing .*new checkpointLocation"),
        (2, "a longer line\nand another one\n", r'ends at \{"position": 30\} instead of \{"position": 14\}'),
    ],
)
def test_records_that_are_gone_or_others_than_before_are_an_error(
    tmp_path: Path, count: int, later: str, message: str
) -> None:
    path = lines(tmp_path / "in", *range(count))
    with running(file_stream(path)) as before:
        start, end = before.end, before.advance()
    path.write_text(later)
    with running(file_stream(path, headrace_timeout_ms="300")) as after, pytest.raises(ConnectError, match=message):
        after.rows(start, end)


def test_the_limit_of_a_batch_is_that_of_the_trigger() -> None:
    with running(numbers_stream(batch_size="100", headrace_max_records_per_batch="250")) as stream:
        assert stream.reader.getDefaultReadLimit() == ReadMaxRows(250)
        start = stream.end
        assert 100 <= len(stream.rows(start, stream.advance(250))) <= 250


def test_reading_ahead_is_bounded() -> None:
    """A task stops polling until Spark takes rows."""
    with running(numbers_stream(headrace_buffer_mb="1")) as stream:
        stream.advance()
        taken = [one["records"] for _ in range(3) for one in stream.advance()["partitions"]]
        assert max(later - earlier for earlier, later in itertools.pairwise(taken)) <= 1024 * 1024 // 8 + 2048


def test_available_now_ends_when_the_source_is_idle(tmp_path: Path) -> None:
    path = lines(tmp_path / "in", *range(3))
    with running(file_stream(path, headrace_idle_ms="200")) as stream:
        stream.reader.prepareForTriggerAvailableNow()
        start = stream.end
        end = stored(stream.reader.latestOffset(start, ALL))
        assert len(stream.rows(start, end)) == 3
        assert stored(stream.reader.latestOffset(end, ALL)) == end


def test_files_of_committed_batches_are_removed(tmp_path: Path) -> None:
    path, spool = lines(tmp_path / "in", 1), tmp_path / "spool"
    spool.mkdir()
    with running(file_stream(path, headrace_spool_path=str(spool))) as stream:
        start, end = stream.end, stream.advance()
        stream.rows(start, end)
        assert len(list(spool.glob("*/*.arrow"))) == 1
        stream.reader.commit(end)
        assert not list(spool.glob("*/*.arrow"))
    assert not list(spool.iterdir())


def test_the_checkpoint_of_another_source_is_an_error(tmp_path: Path) -> None:
    stream = file_stream(lines(tmp_path / "in", 1))
    with running(stream), pytest.raises(ConnectError, match="use a checkpointLocation for this query only"):
        stream.reader.latestOffset({"n": 1}, ALL)


def test_batch_reading_ends_when_the_source_is_idle(tmp_path: Path) -> None:
    options = file_stream(lines(tmp_path / "in", 1, 2), headrace_idle_ms="100").options
    assert [row["value"] for row in batch_rows(options, "key STRING, value STRING")] == ["line 1", "line 2"]


def test_batch_reading_has_a_partition_for_each_task() -> None:
    options = numbers_stream(tasks_max="3", count="10").options
    assert len(HeadraceReader(options, parse_ddl("n BIGINT")).partitions()) == 3
    assert sorted(row["n"] for row in batch_rows(options, "n BIGINT")) == sorted([*range(10)] * 3)


def test_batch_reading_may_be_limited() -> None:
    assert len(batch_rows(numbers_stream(headrace_max_records="1500").options, "n BIGINT")) == 1500


def test_a_stream_has_the_fields_of_json_texts(tmp_path: Path) -> None:
    (file := tmp_path / "lines").write_text('{"id": 1, "name": "a"}\n{"id": 2}\n')
    with running(file_stream(file, "id BIGINT, name STRING", value_schema="infer")) as stream:
        start = stream.end
        assert stream.rows(start, stream.advance()) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


def batch_rows(options: SparkOptions, schema: str) -> list[dict[str, Any]]:
    reader = HeadraceReader(options, parse_ddl(schema))
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("fields", "ddl"),
    [
        ('{"n": "sequence"}', "n BIGINT NOT NULL"),
        ('{"d": {"generator": "decimal", "scale": 2}, "t": "timestamp"}', "d DECIMAL(38, 2), t TIMESTAMP"),
        ('{"s": "uuid", "b": "boolean", "f": "number"}', "s STRING, b BOOLEAN, f DOUBLE"),
    ],
)
def test_the_schema_is_that_of_the_records(fields: str, ddl: str) -> None:
    options = Stream("n INT", connector_class="Datagen", topic="t", fields=fields, rate="0").options
    assert names_and_types(inferred_schema(options)) == names_and_types(parse_ddl(ddl))
    target = to_arrow_schema(parse_ddl(ddl), timezone="UTC")
    reader = HeadraceReader(options, parse_ddl(ddl))
    first = next(iter(reader.read(reader.partitions()[0])))
    assert first.schema.equals(target)  # Spark refuses all others


def names_and_types(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def test_records_without_fields_have_the_columns_of_kafka(tmp_path: Path) -> None:
    options = file_stream(lines(tmp_path / "in", 1), headrace_idle_ms="100").options
    assert inferred_schema(options).names == ["key", "value", "topic", "timestamp", "headers"]


def test_a_converter_makes_bytes() -> None:
    stream = numbers_stream(
        "value BINARY, topic STRING", value_converter="org.apache.kafka.connect.json.JsonConverter",
        value_converter_schemas_enable="false",
    )  # fmt: skip
    with running(stream):
        start = stream.end
        assert stream.rows(start, stream.advance())[0] == {"value": b'{"n":0}', "topic": "numbers"}


def test_record_columns_keep_structs() -> None:
    with running(numbers_stream("value STRUCT<n: BIGINT>", headrace_columns="record")) as stream:
        start = stream.end
        assert stream.rows(start, stream.advance())[0] == {"value": {"n": 0}}


class DeviatingTask(SourceTask):
    """Fails with its third poll, or returns a value that does not fit."""

    def start(self, config: Mapping[str, str]) -> None:
        self._polls, self._config = 0, config

    def poll(self) -> Sequence[SourceRecord]:
        self._polls += 1
        if self._polls > 2:
            if self._config["then"] == "fail":
                raise ConnectError("the system is gone")
            return []
        values: list[Any] = [{"n": 1}, {"n": "no number"}, {"n": 3}, None]
        return [SourceRecord({"p": 1}, {"o": 4 * self._polls + n}, "t", value) for n, value in enumerate(values)]

    def stop(self) -> None: ...


class DeviatingConnector(SourceConnector):
    task_class = DeviatingTask


@pytest.fixture
def deviating(monkeypatch: pytest.MonkeyPatch) -> str:
    name = "tests.DeviatingConnector"
    plugin = (name, f"{__name__}:DeviatingConnector", (registry.PluginType.SOURCE,))
    monkeypatch.setattr(registry, "BUNDLED", (*registry.BUNDLED, plugin))
    return name


def test_tolerated_records_are_skipped(deviating: str) -> None:
    stream = Stream("n BIGINT", connector_class=deviating, then="wait", errors_tolerance="all")
    with running(stream):
        start = stream.end
        rows: list[dict[str, Any]] = []
        while len(rows) < 4:
            rows = stream.rows(start, stream.advance())
        assert rows == [{"n": 1}, {"n": 3}] * 2
        assert stream.end["partitions"][0]["records"] == 8


def test_a_record_that_does_not_fit_fails_the_query(deviating: str) -> None:
    stream = Stream("n BIGINT", connector_class=deviating, then="wait")
    with running(stream), pytest.raises(ConnectError, match="Tolerance exceeded"):
        stream.advance()


def test_the_error_of_a_task_fails_the_query_after_its_records(deviating: str) -> None:
    stream = Stream("n BIGINT", connector_class=deviating, then="fail", errors_tolerance="all")
    with running(stream):
        rows = 0
        with pytest.raises(ConnectError, match="the system is gone"):
            while True:
                start = stream.end
                rows += len(stream.rows(start, stream.advance()))
        assert rows == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Option connector.class is missing"),
        ({"connector_class": "Nothing"}, "Option connector.class=Nothing: .*headrace.plugin.path"),
        ({"connector_class": "JdbcSink"}, "is a sink connector: use it with write or writeStream"),
        ({"connector_class": "Datagen", "topic": "t"}, "refuses its configuration: .*Set either template or fields"),
        ({"connector_class": "Datagen", "headrace_idle": "1"}, "Option headrace.idle is unknown; choose from"),
        (
            {"connector_class": "Datagen", "headrace_idle_ms": "soon"},
            "headrace.idle.ms=soon: expected a positive integer",
        ),
        ({"headrace_columns": "all"}, "Option headrace.columns=all: expected value or record"),
        ({"headrace_config": "{"}, "Option headrace.config is not valid JSON"),
    ],
)
def test_errors_name_the_option_and_the_remedy(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Stream("n INT", **options).advance()
