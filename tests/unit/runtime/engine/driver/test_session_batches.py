"""Batches of tasks on the Spark session."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, cast

import pytest

from runtime.engine.driver.session.batches import BatchOperations, TaskGoneError
from runtime.engine.driver.session.operations import SessionOperations
from runtime.engine.driver.session.staging import Ranges, StagedBatches
from tests.support.waiting import wait_until


def test_attempts_to_write_a_batch_follow_each_other() -> None:
    running: list[str] = []
    may_end = {"a": threading.Event(), "b": threading.Event()}
    most: list[int] = []

    def write(request: Any) -> None:
        running.append(request["id"])
        most.append(running.count(request["id"]))
        may_end[request["id"]].wait(5)
        running.remove(request["id"])
        if len(most) == 1:
            raise OSError("cancelled")

    operations = BatchOperations(write, cast("Any", None))
    threads = [threading.Thread(target=_attempt, args=(operations, batch)) for batch in ("a", "a", "b")]
    for thread in threads:
        thread.start()
    wait_until(lambda: sorted(running) == ["a", "b"], 5, "another batch is written meanwhile")
    may_end["a"].set()
    may_end["b"].set()
    for thread in threads:
        thread.join(5)
    assert most == [1, 1, 1]


def _attempt(operations: BatchOperations, batch: str) -> None:
    with contextlib.suppress(OSError):
        operations.write({"id": batch, "staging": ""}, _exists)


def _exists() -> bool:
    """As `has_gone`, of a task that exists."""
    return False


def _has_gone() -> bool:
    return True


class StagedInMemory(StagedBatches):
    """Batches whose publication fails a few times."""

    def __init__(self, *batches: str, failures: int = 0) -> None:
        self.staged, self.published, self.failures = list(batches), list[str](), failures

    def stage(self, batch: str, frame: Any, ranges: Ranges) -> None:
        self.staged.append(batch)

    def publish(self, batch: str) -> bool:
        if self.failures:
            self.failures -= 1
            raise OSError("not now")
        self.published.append(batch)
        return batch in self.staged

    def discard(self, batch: str) -> None:
        self.staged.remove(batch)

    def batches(self) -> list[str]:
        return list(self.staged)

    def ranges(self, batch: str) -> Ranges | None:
        return None if batch.endswith("incomplete") else {"t": {batch[0]: [0, 5]}}


def on(staged: StagedBatches, delay: float = 0.0) -> BatchOperations:
    """Operations on these batches. `delay`: seconds by which each delay between two attempts grows, from zero."""

    def stage(request: Any) -> None:
        staged.stage(request["id"], None, {})

    return BatchOperations(stage, lambda request: staged, lambda attempt: delay * (attempt - 1), 0.01)


def test_a_batch_that_was_written_for_a_task_that_has_gone_is_discarded() -> None:
    staged = StagedInMemory()
    operations = on(staged)
    operations.write({"id": "0-a", "staging": "files"}, _exists)
    with pytest.raises(TaskGoneError):
        operations.write({"id": "0-b", "staging": "files"}, _has_gone)
    assert staged.staged == ["0-a"]


def test_rows_of_a_cancelled_write_are_discarded() -> None:
    staged = StagedInMemory()

    def write(request: Any) -> None:
        staged.stage(request["id"], None, {})
        raise OSError("cancelled")

    operations = BatchOperations(write, lambda request: staged)
    with pytest.raises(TaskGoneError):
        operations.write({"id": "0-a", "staging": "files"}, _has_gone)
    assert staged.staged == []


def test_a_task_that_has_gone_does_not_wait_for_other_requests() -> None:
    staged = StagedInMemory("0-a")
    operations = on(staged)
    request = {"batch": "0-a", "retries": 2, "task": 0, "positions": [["t", 0, 5, "0-a"]], "live": []}
    with operations.alone("0-a", _exists):
        for operation in (operations.publish, operations.discard, operations.resolve):
            with pytest.raises(TaskGoneError, match="batch 0-a was in use"):
                operation(request, _has_gone)
    assert (staged.staged, staged.published) == (["0-a"], [])
    operations.publish(request, _has_gone)
    assert staged.published == ["0-a"]


def test_a_publication_is_not_repeated_for_a_task_that_has_gone(caplog: pytest.LogCaptureFixture) -> None:
    staged = StagedInMemory("0-a", failures=9)
    operations = on(staged, delay=1.0)
    gone = iter([False, False, True])  # during the second delay
    with pytest.raises(TaskGoneError):
        operations.publish({"batch": "0-a", "retries": 8}, lambda: next(gone))
    assert staged.failures == 7
    assert "Batch 0-a is published when its connector starts again" in caplog.text


def test_a_publication_is_repeated(caplog: pytest.LogCaptureFixture) -> None:
    staged = StagedInMemory("0-a", failures=4)
    operations = on(staged)
    with pytest.raises(OSError, match="not now"):
        operations.publish({"batch": "0-a", "retries": 2}, _exists)
    operations.publish({"batch": "0-a", "retries": 2}, _exists)
    assert staged.published == ["0-a"]
    staged.discard("0-a")
    staged.failures = 1  # after the batch was published
    operations.publish({"batch": "0-a", "retries": 2}, _exists)
    assert "no longer staged" not in caplog.text
    operations.publish({"batch": "0-a", "retries": 2}, _exists)
    assert "Batch 0-a, whose offsets have been committed, is no longer staged" in caplog.text


def test_batches_of_earlier_runs_are_published_or_discarded() -> None:
    staged = StagedInMemory("0-a", "0-b", "0-incomplete", "1-incomplete", "1-other", "0-live")
    operations = on(staged)
    positions = [["t", 0, 5, "0-a"]]
    request = {"task": 0, "positions": positions, "live": ["0-live"], "retries": 1}
    nothing = cast("Any", None)
    assert SessionOperations(nothing, nothing, nothing).must_complete({"op": "resolve", **request})
    assert operations.resolve(request, _has_gone) == {"published": ["0-a"], "discarded": []}
    staged.failures = 1
    answer = operations.resolve(request, _exists)
    assert answer == {"published": ["0-a"], "discarded": ["0-b", "0-incomplete"]}
    assert staged.staged == ["0-a", "1-incomplete", "1-other", "0-live"]


def test_batches_that_others_have_published_meanwhile_are_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    staged = StagedInMemory("0-a", "0-incomplete")
    operations = on(staged)
    listed = iter([staged.batches(), ["0-incomplete"], []])
    staged.batches = lambda: next(listed)  # type: ignore[method-assign]
    request = {"task": 0, "positions": [["t", 0, 5, "0-a"]], "live": [], "retries": 1}
    assert operations.resolve(request, _exists) == {"published": [], "discarded": []}
    assert staged.published == []
    assert "no longer staged" not in caplog.text
