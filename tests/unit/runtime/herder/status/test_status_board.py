"""Notices of failures."""

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
    """An empty status store."""

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
def test_the_notice_of_a_failed_task_names_the_innermost_cause(trace: str, reason: str) -> None:
    notices: list[str] = []

    class Events(EventLog):
        def notice(self, level: str, message: str, connector: str | None = None, task: int | None = None) -> None:
            notices.append(message)

    board = StatusBoard(cast("StatusStore", _Statuses()), Events(), "w:1", Secrets(), lambda name: None)
    board.task(TaskId("orders", 0), State.FAILED, "1", trace)
    assert notices == [f"orders-0 is FAILED: {reason}"]
