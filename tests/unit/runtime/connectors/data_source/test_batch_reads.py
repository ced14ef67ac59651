"""DataSource: batch readers, read once and at intervals, and what is refused before a task starts."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.api.connector import ExactlyOnceSupport
from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.data_source.source import DataSourceConnector
from runtime.connectors.data_source.source_task import BatchReads, DataSourceTask
from tests.support.data_sources import Squares
from tests.support.tasks.task_contexts import StoredOffsets, started

SQUARES, NUMBERS = "tests.support.data_sources.Squares", "tests.support.data_sources.Numbers"
PARTITION = {"data.source": SQUARES, "mode": "batch"}


def config_of(folder: Path, mode: str = "once", **more: str) -> dict[str, str]:
    return {
        "topic": "t", "data.source": SQUARES, "data.source.mode": mode, "data.source.poll.interval.ms": "5",
        "data.source.batch.size": "4", "data.source.option.reads": str(folder / "reads"), **more,
    }  # fmt: skip


@contextmanager
def reading(config: dict[str, str], offsets: StoredOffsets | None = None) -> Iterator[DataSourceTask]:
    task = started(DataSourceTask(), config, offsets)
    try:
        yield task
    finally:
        task.stop()


def take(task: DataSourceTask, count: int, seconds: float = 10) -> list[SourceRecord]:
    records: list[SourceRecord] = []
    until = time.monotonic() + seconds
    while len(records) < count and time.monotonic() < until:
        records += task.poll() or ()
        time.sleep(0.001)
    return records


@pytest.mark.parametrize("threads", ["1", "2"])
def test_once_reads_everything_once(tmp_path: Path, threads: str) -> None:
    config, stored = config_of(tmp_path, **{"data.source.threads": threads}), StoredOffsets()
    with reading(config, stored) as task:
        records = take(task, 10)
        assert take(task, 1, 0.1) == []
    assert [record.value for record in records] == [{"n": n, "square": n * n, "reads": 1} for n in range(10)]
    assert {str(record.source_partition) for record in records} == {str(PARTITION)}
    stored.commit(records)
    with reading(config, stored) as task:
        assert take(task, 1, 0.1) == []
    assert (tmp_path / "reads").read_text() == "read\n"


def test_a_read_that_was_interrupted_begins_again(tmp_path: Path) -> None:
    config, stored = config_of(tmp_path), StoredOffsets()
    with reading(config, stored) as task:
        stored.commit(take(task, 4))
    with reading(config, stored) as task:
        records = take(task, 10)
    assert [(record.value["n"], record.value["reads"]) for record in records] == [(n, 2) for n in range(10)]


def test_interval_reads_again_and_again(tmp_path: Path) -> None:
    config, stored = config_of(tmp_path, "interval", **{"data.source.trigger": "20 ms"}), StoredOffsets()
    with reading(config, stored) as task:
        records = take(task, 20)
    assert [(record.value["n"], record.value["reads"]) for record in records[:20]] == [
        (n, read) for read in (1, 2) for n in range(10)
    ]
    stored.commit(records[:20])
    waiting = {**config, "data.source.trigger": "1 day"}
    with reading(waiting, stored) as task:
        assert take(task, 1, 0.1) == []


def test_the_time_of_the_next_read_follows_from_the_offset(tmp_path: Path) -> None:
    now = 1000.0
    source = Squares({"reads": str(tmp_path / "reads")})
    reads = BatchReads(source, source.schema(), 1, 60.0, lambda: now)
    first, batch = reads.following(reads.initial())
    assert first == {"reads": 1, "read_at": 1_000_000} and batch is not None and batch.partitions == 2
    now = 1059.0
    assert reads.following(first) == (first, None)
    now = 1060.0
    assert reads.following(first)[0] == {"reads": 2, "read_at": 1_060_000}
    ahead = {"reads": 1, "read_at": 2_000_000}  # of a clock that was ahead
    assert reads.following(ahead)[0] == {"reads": 2, "read_at": 1_060_000}
    with pytest.raises(ConnectError, match="'reads' of the offset must be a number"):
        reads.following({"reads": "x"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"data.source.mode": "stream"},
            "Squares has no streaming reader, only a batch reader: set data.source.mode to once",
        ),
        (
            {"data.source": NUMBERS},
            "Numbers has no batch reader, only a streaming reader: set data.source.mode to stream",
        ),
        ({"data.source": "tests.support.data_sources.Cubes"}, "no subclass of DataSource of this name"),
        ({"data.source": "tests.support.data_sourcess.Squares"}, "there is no module tests.support.data_sourcess"),
        ({"data.source": "squares"}, "expected a class such as package.module.Class, or the short name"),
        ({"data.source.mode": "twice"}, "String must be one of"),
        ({"data.source.trigger": "often"}, "Must be a number with a unit"),
    ],
)
def test_what_cannot_be_read_is_refused_before_a_task_starts(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    config = {**config_of(tmp_path), **changes}
    errors = [error for value in DataSourceConnector().validate(config) for error in value.errors]
    assert message in " ".join(errors)
    with pytest.raises(ConfigError):
        DataSourceConnector().start(config)
    assert not (tmp_path / "reads").exists()


def test_a_batch_reader_has_one_task_and_offsets_of_its_own(tmp_path: Path) -> None:
    connector, config = DataSourceConnector(), config_of(tmp_path)
    connector.start({**config, "data.source": SQUARES.replace(".Squares", ":Squares")})
    assert len(connector.task_configs(4)) == 1
    assert connector.exactly_once_support(config) is ExactlyOnceSupport.UNSUPPORTED
    assert connector.alter_offsets(config, [(PARTITION, {"offset": '{"reads": 0}'})])
    with pytest.raises(ConnectError, match="source partition"):
        connector.alter_offsets(config, [({"data.source": SQUARES}, {"offset": "{}"})])


def test_short_names_are_those_of_packages_that_spark_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from pyspark.sql.datasource import DataSource\nfrom tests.support.data_sources import Squares\n"
        "class Roots(Squares):\n    @classmethod\n    def name(cls):\n        return 'Roots'\n"
    )
    (tmp_path / "pyspark_hr_roots.py").write_text(code)
    (tmp_path / "pyspark_hr_default.py").write_text(
        code.replace("return 'Roots'", "return f'x{1}'") + "DefaultSource = Roots"
    )
    (tmp_path / "hr_other.py").write_text(code.replace("'Roots'", "'other'"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", {**sys.modules})

    def problems(name: str) -> list[Any]:
        config = {**config_of(tmp_path), "data.source": name}
        return [error for value in DataSourceConnector().validate(config) for error in value.errors]

    assert problems("roots") == problems("hr_default") == problems("pyspark_hr_roots:Roots") == []
    (unknown,) = problems("other")
    assert "hr_default, roots, squares" in unknown
