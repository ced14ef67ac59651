"""Notices of failures."""

from __future__ import annotations

from typing import Any, cast

import pytest

from runtime.config.secret_values import Secrets
from runtime.herder.answers import EntryAnswer
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.log.log import LogRecord
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusRecord, StatusStore
from tests.support.memory_logs import TestLogs, topic

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


async def test_followers_receive_reports_of_other_workers_once() -> None:
    """Two workers share a status topic; each event is published once at each of them."""
    logs = TestLogs()
    here, there = StatusStore(logs, topic("s")), StatusStore(logs, topic("other"))
    events = EventLog()
    board = StatusBoard(here, events, "w:1", Secrets(), lambda name: cast("EntryAnswer", {"name": name}))
    here.subscribe(board.changed_elsewhere, lambda name: None)

    def copy() -> None:
        """The topic's records, as this worker reads them."""
        written = logs.by_topic["other"].written
        records = [LogRecord(key, value, 0, 100 + i, 1) for i, (key, value) in enumerate(written)]
        here.apply(records)
        written.clear()

    board.connector("mine", State.RUNNING, "1")
    there.put_connector("theirs", StatusRecord(State.RUNNING, None, "w:2", 1))
    there.put_task(TaskId("theirs", 0), StatusRecord(State.RUNNING, None, "w:2", 1))
    copy()
    there.remove_task(TaskId("theirs", 0))
    copy()
    there.remove_connector("theirs")
    copy()
    seen = [(event.kind, event.data["name"]) for event in events._events]
    assert seen == [("connector", "mine"), ("connector", "theirs"), ("connector", "theirs"), ("removed", "theirs")]


async def test_a_rebalance_alone_writes_no_statuses() -> None:
    logs = TestLogs()
    statuses = StatusStore(logs, topic("statuses"))
    board = StatusBoard(statuses, EventLog(), "w:1", Secrets(), lambda name: None)
    for generation in (1, 2):
        board.joined(generation)
        board.connector("c", State.RUNNING, None)
        board.task(TaskId("c", 0), State.RUNNING, None)
    assert statuses.changes("c") == 2
    board.task(TaskId("c", 0), State.PAUSED, None)
    assert statuses.task_statuses("c")[0] == StatusRecord(State.PAUSED, None, "w:1", 2)


async def test_a_worker_that_hands_over_late_does_not_overwrite_the_state_reported_by_its_successor() -> None:
    statuses = StatusStore(TestLogs(), topic("statuses"))
    board = StatusBoard(statuses, EventLog(), "w:1", Secrets(), lambda name: None)
    board.joined(3)
    theirs = StatusRecord(State.RUNNING, None, "w:2", 2)
    statuses.put_connector("taken", theirs)
    statuses.put_task(TaskId("taken", 0), theirs)
    board.connector("mine", State.RUNNING, None)
    board.task(TaskId("mine", 0), State.RUNNING, None)
    for name in ("taken", "mine"):
        board.handed_over(name, None, None)
        board.handed_over(name, 0, None)
    assert statuses.connector_status("taken") == statuses.task_statuses("taken")[0] == theirs
    released = StatusRecord(State.UNASSIGNED, None, "w:1", 3)
    assert statuses.connector_status("mine") == statuses.task_statuses("mine")[0] == released
