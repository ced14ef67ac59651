"""Counts of failed records, and the latest failures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from runtime.api.data.record import SourceRecord
from runtime.api.errors import DataError
from runtime.engine.slot.polled_reports import ErrorReports
from runtime.herder.status.error_board import ErrorBoard, merged
from runtime.model.states import TaskId
from runtime.pipeline.task.error_counts import Counts
from runtime.pipeline.task.failure import Failure, Stage

TASK = TaskId("c", 0)


def _failure(stage: Stage = Stage.VALUE_CONVERTER, message: str = "bad") -> Failure:
    record = SourceRecord({"file": "a"}, {"n": 1}, "t", "its value")
    return Failure(stage, "a.Plugin", DataError(message), record, "")


def _counted(*failures: Failure) -> dict[str, Any]:
    counts = Counts()
    for failure in failures:
        counts.failed_try()
        counts.failed(failure)
        counts.was_skipped(failure.stage)
    return counts.snapshot()


def test_runs_of_a_task_add_up_and_are_forgotten_with_the_connector() -> None:
    board = ErrorBoard(lambda name, text: text)
    for epoch in range(1, 10):
        board.report(TASK, epoch, _counted(_failure()))
        board.report(
            TASK, epoch, _counted(_failure(), _failure(Stage.TRANSFORMATION))
        )  # a later report of the same run
    found = board.view("c")
    assert found["total"]["failed"] == found["total"]["skipped"] == found["total"]["failed_tries"] == 18
    assert found["stages"]["TRANSFORMATION"] == {"failed": 9, "skipped": 9, "retries": 0, "dead_letters": 0}
    assert found["tasks"] == [{"id": 0, "total": found["total"], "stages": found["stages"]}]
    assert board.by_task("c")[0].total["failed"] == 18
    board.forget("c")
    assert board.view("c")["total"]["failed"] == 0
    assert board.view("c")["tasks"] == []


def test_the_newest_failures_are_kept_without_values_and_secrets() -> None:
    board = ErrorBoard(lambda name, text: text.replace("hunter2", "[hidden]"))
    board.report(TASK, 1, _counted(*(_failure(message=f"{n} hunter2") for n in range(30))))
    last = board.view("c")["last"]
    assert len(last) == 10
    assert {e["message"] for e in last} == {f"{n} [hidden]" for n in range(20, 30)}
    assert "its value" not in str(last)
    assert {key: last[0][key] for key in ("task", "stage", "class", "exception", "topic", "source_offset")} == {
        "task": 0, "stage": "VALUE_CONVERTER", "class": "a.Plugin", "topic": "t", "source_offset": "{'n': 1}",
        "exception": "org.apache.kafka.connect.errors.DataException",
    }  # fmt: skip


def test_counts_are_reported_when_they_change() -> None:
    reported: list[Any] = []
    spec = SimpleNamespace(connector="c", task=0, epoch=7)
    task = SimpleNamespace(spec=spec, errors=None)
    other = SimpleNamespace(spec=spec, errors=Counts())

    class Key:
        """Hashable, as threads are."""

        def __init__(self, of: Any) -> None:
            self.of = of

        spec = property(lambda self: self.of.spec)
        errors = property(lambda self: self.of.errors)

    reports = ErrorReports(lambda: [first, second], reported.append)  # type: ignore[list-item]
    first, second = Key(task), Key(other)
    reports.check()
    assert reported == []
    counts = task.errors = Counts()
    counts.failed(_failure())
    reports.check()
    reports.check()
    assert [(m["op"], m["epoch"], m["counts"]["total"]["failed"]) for m in reported] == [("errors", 7, 1)]
    counts.retried("TRANSFORMATION")
    reports.report(first)  # type: ignore[arg-type]
    assert reported[-1]["counts"]["stages"]["TRANSFORMATION"]["retries"] == 1


def test_views_of_several_workers_are_merged() -> None:
    """A restarted task may have failed on both workers."""
    first, second = (ErrorBoard(lambda name, text: text) for _ in range(2))
    first.since, second.since = 20, 10
    error = {"time": 5, "stage": "TRANSFORMATION", "message": "m"}
    counts = {"total": {"failed": 2}, "stages": {"TRANSFORMATION": {"failed": 2}}, "last": [error]}
    first.report(TaskId("c", 0), 1, counts)
    second.report(TaskId("c", 0), 1, {**counts, "last": [{**error, "time": 9}]})
    second.report(TaskId("c", 1), 1, {**counts, "stages": {"TASK_PUT": {"failed": 2}}})
    found = merged([first.view("c"), second.view("c")])
    assert (found["since"], found["total"]["failed"]) == (10, 6)
    assert {name: counted["failed"] for name, counted in found["stages"].items()} == {
        "TRANSFORMATION": 4,
        "TASK_PUT": 2,
    }
    assert [(task["id"], task["total"]["failed"]) for task in found["tasks"]] == [(0, 4), (1, 2)]
    assert [one["time"] for one in found["last"]] == [9, 5, 5]
    assert merged([first.view("c")]) == first.view("c")
