"""The operations of tasks on the Spark session."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, cast

import pytest

from runtime.engine.driver.session.operations import SessionOperations
from runtime.engine.driver.session.targets import write_directly
from tests.support.waiting import wait_until


def test_attempts_to_write_a_batch_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = SessionOperations(cast("Any", None), cast("Any", None))
    running: list[str] = []
    may_end = {"a": threading.Event(), "b": threading.Event()}
    most: list[int] = []

    def write(request: Any) -> dict[str, Any]:
        running.append(request["id"])
        most.append(running.count(request["id"]))
        may_end[request["id"]].wait(5)
        running.remove(request["id"])
        if len(most) == 1:
            raise OSError("cancelled")
        return {}

    monkeypatch.setattr(operations, "_write_alone", write)
    threads = [threading.Thread(target=_attempt, args=(operations, batch)) for batch in ("a", "a", "b")]
    for thread in threads:
        thread.start()
    wait_until(lambda: sorted(running) == ["a", "b"], 5, "another batch is written meanwhile")
    may_end["a"].set()
    may_end["b"].set()
    for thread in threads:
        thread.join(5)
    assert most == [1, 1, 1]


def _attempt(operations: SessionOperations, batch: str) -> None:
    with contextlib.suppress(OSError):
        operations._write({"id": batch})


class _Writer:
    """As Spark's DataFrame and its writer: notes the format."""

    found = ""

    @property
    def write(self) -> _Writer:
        return self

    def format(self, name: str) -> _Writer:
        self.found = name
        return self

    def mode(self, name: str) -> _Writer:
        return self

    def options(self) -> _Writer:
        return self

    def saveAsTable(self, name: str) -> None:
        """Nothing is written."""


def test_avro_tables_are_written_without_the_jar_that_registers_the_name() -> None:
    frame = _Writer()
    target = {"format": "avro", "mode": "append", "options": {}, "partition_by": [], "table": "t", "path": ""}
    write_directly(frame, target)
    assert frame.found == "org.apache.spark.sql.avro.AvroFileFormat"
