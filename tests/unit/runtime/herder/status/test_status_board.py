"""What is told of a failure: the reason at its bottom, in one line."""

from __future__ import annotations

from typing import Any, cast

import pytest

from runtime.config.secret_values import Secrets
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import StatusBoard
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusStore

WRAPPED = """a.ConnectException: Tolerance exceeded
    at x
Caused by: a.B: outer
    at y
Caused by: a.DataException: no JSON
"""


class _Statuses:
    """Knows nothing yet, and takes all."""

    def task_statuses(self, name: str) -> dict[int, Any]:
        return {}

    def put_task(self, task: TaskId, status: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        (WRAPPED, "a.DataException: no JSON"),
        ("java.io.IOException: gone\n    at x\n", "java.io.IOException: gone"),
        ("", ""),
    ],
)
def test_the_reason_of_a_failed_task(trace: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    events = EventLog()
    monkeypatch.setattr(events, "notice", lambda level, message, name, task: told.append(message))
    board = StatusBoard(cast("StatusStore", _Statuses()), events, "w:1", Secrets(), lambda name: None)
    board.task(TaskId("orders", 0), State.FAILED, "1", trace)
    assert told == [f"orders-0 is FAILED: {reason}"]
