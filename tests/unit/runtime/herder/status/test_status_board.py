"""Notices of failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest

from runtime.config.secret_values import Secrets
from runtime.herder.responses import EntryResponse
from runtime.herder.status.entry_events import FEW_TASKS, SECONDS_PER_TASK
from runtime.herder.status.events import EventLog, WorkerEvent
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.log.log import LogRecord
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusRecord, StatusStore
from tests.support.herder.memory_logs import TestLogs, topic

TASKS = 10 * FEW_TASKS

WRAPPED = """a.ConnectException: Tolerance exceeded
    at x
Caused by: a.B: outer
    at y
Caused by: a.DataException: no JSON
"""


class _Statuses:
    """An empty status store."""

    def task_status(self, task: TaskId) -> None:
        pass

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
    view: dict[str, Any] = {"status": {"tasks": []}, "info": {"tasks": []}}
    board = StatusBoard(here, events, "w:1", Secrets(), lambda name: cast("EntryResponse", {"name": name, **view}))
    here.subscribe(board.changed_elsewhere, lambda name, at: None)

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


async def test_a_worker_reports_again_what_a_late_report_of_its_predecessor_has_replaced() -> None:
    statuses = StatusStore(TestLogs(), topic("statuses"))
    board = StatusBoard(statuses, EventLog(), "w:1", Secrets(), lambda name: None)
    board.joined(3)
    late = StatusRecord(State.UNASSIGNED, None, "w:2", 4)

    def replaced_by_the_late_report(owned: bool) -> None:
        board.connector("c", State.RUNNING, "1")
        board.task(TaskId("c", 0), State.FAILED, "1", "a trace\n")
        statuses.put_connector("c", late)
        statuses.put_task(TaskId("c", 0), late)
        board.report_again("c", lambda unit: owned)

    replaced_by_the_late_report(owned=False)
    assert statuses.connector_status("c") == statuses.task_statuses("c")[0] == late
    board.joined(5)
    replaced_by_the_late_report(owned=True)
    assert statuses.connector_status("c") == StatusRecord(State.RUNNING, None, "w:1", 5, "1")
    assert statuses.task_statuses("c")[0] == StatusRecord(State.FAILED, "a trace\n", "w:1", 5, "1")
    board.connector("c", State.UNASSIGNED, "1")
    later = replace(late, generation=6)
    statuses.put_connector("c", later)
    board.report_again("c", lambda unit: True)
    assert statuses.connector_status("c") == later, "this worker has handed over, too"


async def test_a_worker_reports_again_what_a_worker_of_an_earlier_generation_has_replaced_or_removed() -> None:
    """The write of a worker that was cut off from Kafka, or frozen, arrives when the next owner has reported."""
    statuses = StatusStore(TestLogs(), topic("statuses"))
    board = StatusBoard(statuses, EventLog(), "w:1", Secrets(), lambda name: None)
    board.joined(3)
    board.connector("c", State.RUNNING, "1")
    for task in range(3):
        board.task(TaskId("c", task), State.RUNNING, "1")
    earlier, later = (StatusRecord(State.RUNNING, None, "w:2", generation) for generation in (2, 4))
    statuses.remove_connector("c")
    statuses.put_task(TaskId("c", 0), earlier)
    statuses.put_task(TaskId("c", 1), later)
    statuses.remove_task(TaskId("c", 2))
    board.report_again("c", lambda unit: True)
    ours = StatusRecord(State.RUNNING, None, "w:1", 3, "1")
    assert statuses.connector_status("c") == ours
    assert statuses.task_statuses("c") == {0: ours, 1: later, 2: ours}


async def test_a_worker_that_was_taken_for_ended_reports_its_units_again() -> None:
    """A leader that was frozen reports them as UNASSIGNED in this worker's name, after this worker has joined again."""
    statuses = StatusStore(TestLogs(), topic("statuses"))
    board = StatusBoard(statuses, EventLog(), "w:1", Secrets(), lambda name: None)
    board.joined(3)
    board.connector("c", State.RUNNING, "1")
    board.task(TaskId("c", 0), State.PAUSED, "1")
    lost = StatusRecord(State.UNASSIGNED, None, "w:1", 2, "1")
    statuses.put_connector("c", lost)
    statuses.put_task(TaskId("c", 0), lost)
    board.report_again("c", lambda unit: True)
    assert statuses.connector_status("c") == StatusRecord(State.RUNNING, None, "w:1", 3, "1")
    assert statuses.task_statuses("c")[0] == StatusRecord(State.PAUSED, None, "w:1", 3, "1")


async def test_a_start_of_many_tasks_does_not_publish_all_tasks_for_each_of_them() -> None:
    """Each view has the states of all tasks."""
    logs, events, views, again = TestLogs(), EventLog(), 0, asyncio.Event()
    statuses = StatusStore(logs, topic("s"))

    def entry(name: str) -> EntryResponse:
        nonlocal views
        views += 1
        if views == 2:
            again.set()
        tasks = [{"id": i, "state": s.state.value} for i, s in statuses.task_statuses(name).items()]
        return cast("EntryResponse", {"name": name, "status": {"tasks": tasks}, "info": {"tasks": range(TASKS)}})

    board = StatusBoard(statuses, events, "w:1", Secrets(), entry)
    for i in range(TASKS):
        board.task(TaskId("orders", i), State.RUNNING, "1")
    await asyncio.wait_for(again.wait(), 10)
    (last,) = [cast("EntryResponse", event.data) async for event in _first(events.follow(0, 0.01))]
    assert views == 2, "a view of the first task, and one of all"
    assert [task["state"] for task in last["status"]["tasks"]] == ["RUNNING"] * TASKS, "older views are not kept"


async def test_the_view_of_a_deleted_connector_is_not_published_later() -> None:
    events = EventLog()
    view = cast("EntryResponse", {"name": "orders", "status": {"tasks": []}, "info": {"tasks": range(TASKS)}})
    board = StatusBoard(StatusStore(TestLogs(), topic("s")), events, "w:1", Secrets(), lambda name: view)
    board.task(TaskId("orders", 0), State.RUNNING, "1")
    board.task(TaskId("orders", 1), State.RUNNING, "1")
    board.remove_connector("orders")
    published = events.last
    await asyncio.sleep(2 * TASKS * SECONDS_PER_TASK)
    assert events.last == published


async def _first(follower: AsyncIterator[WorkerEvent | None]) -> AsyncIterator[WorkerEvent]:
    """The events until now."""
    async for event in follower:
        if event is None:
            return
        yield event
