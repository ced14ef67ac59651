"""The task of SparkSource: batches, their commits, and errors of the session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyarrow import parquet

from runtime.api import ConnectError
from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTaskContext
from runtime.connectors.spark.session_client import SessionClient
from runtime.connectors.spark.source.task import SparkSourceTask
from tests.support.tasks.spark_sink import ScriptedSession
from tests.support.tasks.task_contexts import StoredOffsets, TaskSourceContext

PARTITION = {"spark.source": "json /in"}


class SparkSourceRig:
    """The task with a clock, and the offsets that have been committed."""

    def __init__(
        self, folder: Path, offset: Mapping[str, Any] | None = None, config: Mapping[str, str] | None = None
    ) -> None:
        self.now = 0.0
        self._folder = folder
        self.session = ScriptedSession()
        session = cast("SessionClient", self.session)  # the methods that the task uses
        self.offsets = StoredOffsets([(PARTITION, offset)] if offset is not None else [])
        self.context = TaskSourceContext(self.offsets)
        self.task = SparkSourceTask(lambda: self.now, lambda name: session)
        self.task.context = cast(SourceTaskContext, self.context)
        self.task.start(
            {"name": "lake", "topic": "t", "spark.format": "json", "spark.path": "/in", "spark.checkpoint": "/c"}
            | dict(config or {})
        )

    def opened(self) -> dict[str, Any]:
        """The session has opened the source; returns the request."""
        request = self.session.requests[0][0]
        self.session.take("open", {"checkpoint": "c1"})
        assert self.task.poll() is None
        return request

    def hand_over(self, batch: int, *files: list[dict[str, Any]]) -> dict[str, Any]:
        """The session has a batch, in these files; returns the request."""
        paths = []
        for number, rows in enumerate(files):
            paths.append(str(self._folder / f"{batch}-{number}.parquet"))
            parquet.write_table(
                pa.Table.from_pylist(rows, pa.schema({"id": pa.int64(), "name": pa.string()})), paths[-1]
            )
        request = self.session.requests[0][0]
        self.session.take("next", {"batch": batch, "spool": "s1", "files": paths, "seconds": 0.5})
        return request

    def poll(self) -> list[SourceRecord]:
        """The records of a poll, which are not committed yet."""
        return list(self.task.poll() or ())

    def commit(self, *found: SourceRecord) -> None:
        """The worker has committed the offsets of these records."""
        self.offsets.commit(found)
        self.task.commit()


def _rows(*ids: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"n{number}"} for number in ids]


def test_the_next_batch_is_requested_when_the_whole_one_has_been_committed(tmp_path: Path) -> None:
    rig = SparkSourceRig(tmp_path, config={"batch.size": "2"})
    assert rig.opened()["committed"] is None
    assert rig.hand_over(0, _rows(1, 2, 3), [], _rows(4))["committed"] == -1
    first, second, third = rig.poll(), rig.poll(), rig.poll()
    assert [record.value["id"] for record in (*first, *second, *third)] == [1, 2, 3, 4]
    assert [record.source_offset for record in (*first, *second, *third)] == [
        {"checkpoint": "c1", "batch": 0, "rows": 1, "spool": "s1"},
        {"checkpoint": "c1", "batch": 0, "rows": 2, "spool": "s1"},
        {"checkpoint": "c1", "batch": 0, "rows": 3, "spool": "s1"},
        {"checkpoint": "c1", "batch": 0},
    ]
    rig.commit(*first)
    assert rig.poll() == []
    assert rig.session.requests == []
    rig.commit(*second, *third)
    assert rig.poll() == []
    assert [(request["op"], request["committed"]) for request, _ in rig.session.requests] == [("next", 0)]
    assert [metric.value for metric in rig.task.metrics_owner.metrics] == [1, 4, 4, 0.5]


def test_a_task_continues_within_the_batch_of_its_offset(tmp_path: Path) -> None:
    rig = SparkSourceRig(tmp_path, {"checkpoint": "c1", "batch": 7, "rows": 2, "spool": "s1"})
    assert rig.opened()["committed"] == {"checkpoint": "c1", "batch": 7, "rows": 2, "spool": "s1"}
    assert rig.hand_over(7, _rows(1), _rows(2, 3), _rows(4))["committed"] == 6
    assert [record.value["id"] for record in (*rig.poll(), *rig.poll())] == [3, 4]


def test_the_offset_of_a_batch_without_rows_is_committed(tmp_path: Path) -> None:
    rig = SparkSourceRig(tmp_path, {"checkpoint": "c1", "batch": 7})
    assert rig.opened()["committed"] == {"checkpoint": "c1", "batch": 7, "rows": 0, "spool": ""}
    assert rig.hand_over(8, [])["committed"] == 7
    assert rig.poll() == []
    assert rig.offsets.offset(PARTITION) == {"checkpoint": "c1", "batch": 8}
    rig.task.commit()
    assert rig.poll() == []
    assert rig.session.requests[0][0]["committed"] == 8


def test_the_committed_offset_is_read_again_if_it_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(partition: object) -> None:
        raise ConnectError("no answer")

    rig = SparkSourceRig(tmp_path)
    rig.opened()
    rig.hand_over(0, _rows(1))
    found = rig.poll()
    with monkeypatch.context() as patched:
        patched.setattr(rig.offsets, "offset", fail)
        rig.commit(*found)
        assert rig.poll() == []
    assert rig.session.requests == []
    rig.now += 1
    rig.poll()
    assert rig.session.requests[0][0]["committed"] == 0


def test_the_source_is_opened_again_after_an_error_and_the_last_error_fails_the_task(tmp_path: Path) -> None:
    rig = SparkSourceRig(tmp_path, config={"spark.read.retries": "1"})
    rig.opened()
    rig.hand_over(0, _rows(1))
    rig.commit(*rig.poll())
    rig.poll()
    rig.session.refuse("connection refused")
    assert rig.poll() == []
    assert rig.session.requests == []
    rig.now += 0.5
    rig.poll()
    assert rig.opened()["committed"] == {"checkpoint": "c1", "batch": 0, "rows": 0, "spool": ""}
    rig.session.refuse("connection refused")
    with pytest.raises(ConnectError, match="Spark could not read json /in: connection refused"):
        rig.poll()


def test_errors_of_a_source_that_has_been_idle_for_long_are_not_added_up(tmp_path: Path) -> None:
    rig = SparkSourceRig(tmp_path, config={"spark.read.retries": "1"})
    for _ in range(3):
        rig.opened()
        rig.session.refuse("connection refused")
        assert rig.poll() == []
        rig.now += 601
        rig.poll()


@pytest.mark.parametrize(("offset", "seconds"), [(None, 60), ({"checkpoint": "c1", "batch": 7}, 300)])
def test_the_loss_of_the_session_fails_the_task_only_if_it_lasts(
    tmp_path: Path, offset: Mapping[str, Any] | None, seconds: int
) -> None:
    """And first the task that has never had a batch: another one may be at fault."""
    rig = SparkSourceRig(tmp_path, offset, {"spark.read.retries": "1"})
    for _ in range(4):
        rig.session.lose()
        assert rig.poll() == []
        rig.now += seconds / 5
        rig.poll()
    rig.session.refuse("a port is taken")
    assert rig.poll() == []
    rig.now += seconds / 5
    rig.poll()
    rig.session.lose()
    with pytest.raises(ConnectError, match="Spark could not read json /in: The Spark session has closed"):
        rig.poll()


def test_an_error_of_the_query_fails_the_task_at_once(tmp_path: Path) -> None:
    rig = SparkSourceRig(tmp_path)
    rig.session.refuse("no column x", "query")
    with pytest.raises(ConnectError, match="no column x"):
        rig.poll()


def test_a_time_that_connect_does_not_have_fails_the_task_with_the_name_of_its_column(tmp_path: Path) -> None:
    rig = SparkSourceRig(tmp_path)
    rig.opened()
    times = pa.array([0, 317_280_000_000_000_000], pa.timestamp("us", "UTC"))  # in the year 12024
    parquet.write_table(pa.table({"id": [1, 2], "at": times}), tmp_path / "late.parquet")
    file = str(tmp_path / "late.parquet")
    rig.session.take("next", {"batch": 0, "spool": "s1", "files": [file], "seconds": 0.5})
    with pytest.raises(ConnectError, match="Connect has no type for a value of column at: date value out of range"):
        rig.poll()


def test_keys_are_columns_or_structs(tmp_path: Path) -> None:
    for key, expected in (("name", "n1"), ("name,id", {"name": "n1", "id": 1})):
        rig = SparkSourceRig(tmp_path, config={"spark.key": key})
        rig.opened()
        rig.hand_over(0, _rows(1))
        assert [record.key for record in rig.poll()] == [expected]
    rig = SparkSourceRig(tmp_path, config={"spark.key": "nothing"})
    rig.opened()
    rig.hand_over(0, _rows(1))
    with pytest.raises(ConnectError, match=r"spark\.key names no column of the rows: nothing\. Columns: id, name"):
        rig.poll()
