"""Reports of slots about their tasks."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from typing import Any

import pytest

from runtime.engine.placement.client_failures import MIN_FAILURES, MIN_SECONDS
from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.protocol.task_specs import about
from runtime.engine.worker.reports import UNEXPECTED_END, TaskReports
from runtime.engine.worker.stacks import Stacks
from runtime.model.states import State, TaskId
from runtime.system import frames
from tests.support.engine.engine_recorder import Recorder, ignore, slot_link, task_spec
from tests.support.waiting import until


def running() -> tuple[Roster, SlotLink, TaskRun, Recorder, TaskReports]:
    roster, listener = Roster(1, 0.0, time.monotonic), Recorder()
    link = slot_link(leased=False)
    task = TaskRun(task_spec("x"))
    roster.tasks[task.spec.id] = task
    link.add(task)
    return roster, link, task, listener, TaskReports(roster, listener, Stacks(), ignore, ignore, time.monotonic)


def hand_back(reports: TaskReports, link: SlotLink, task: TaskRun, client_failed: bool = False) -> None:
    state = {"state": State.UNASSIGNED, "trace": "its producer failed", "client_failed": client_failed}
    reports.take(link, {"op": "state", **about(task.spec), **state})  # type: ignore[arg-type]


def test_a_task_that_reports_unassigned_before_its_end_is_lost() -> None:
    roster, link, task, listener, reports = running()
    task.member_id = "m-1"
    hand_back(reports, link, task)
    reports.take(link, {"op": "ended", **about(task.spec)})
    assert not roster.tasks and not link.tasks and task.ended.is_set()
    assert listener.lost == [(task.spec.id, task.spec.epoch, "m-1", "its producer failed")]
    assert [entry[:4] for entry in listener.states] == [
        (task.spec.id, task.spec.epoch, State.UNASSIGNED, "its producer failed")
    ]


def test_a_task_that_ends_without_a_request_is_failed() -> None:
    _, link, task, listener, reports = running()
    reports.take(link, {"op": "ended", **about(task.spec)})
    assert [entry[:4] for entry in listener.states] == [(task.spec.id, task.spec.epoch, State.FAILED, UNEXPECTED_END)]
    assert not listener.lost


def test_a_task_that_was_stopped_meanwhile_is_not_restarted() -> None:
    roster, link, task, listener, reports = running()
    hand_back(reports, link, task)
    del roster.tasks[task.spec.id]
    reports.take(link, {"op": "ended", **about(task.spec)})
    assert not listener.lost and task.ended.is_set()


def test_a_task_whose_client_fails_without_end_is_failed_with_the_reason() -> None:
    now = 0.0
    roster, listener = Roster(1, 0.0, lambda: now), Recorder()
    reports = TaskReports(roster, listener, Stacks(), ignore, ignore, time.monotonic)
    for _ in range(MIN_FAILURES):
        link, task = slot_link(leased=False), TaskRun(task_spec("x"))
        roster.tasks[task.spec.id] = task
        link.add(task)
        hand_back(reports, link, task, client_failed=True)
        reports.take(link, {"op": "ended", **about(task.spec)})
        now += MIN_SECONDS
    assert len(listener.lost) == MIN_FAILURES - 1
    state, trace = listener.states[-1][2:4]
    assert state is State.FAILED and "its producer failed" in str(trace)


def test_a_task_that_is_stopping_reports_the_topics_to_which_it_has_written() -> None:
    """Its successor may write no record to them."""
    roster, link, task, listener, reports = running()
    del roster.tasks[task.spec.id]
    reports.take(link, {"op": "topic", **about(task.spec), "topic": "t"})
    assert listener.topics == [(task.spec.id, task.spec.epoch, "t")]
    task.revoked_at = 1.0
    reports.take(link, {"op": "topic", **about(task.spec), "topic": "u"})
    assert len(listener.topics) == 1


async def test_offsets_that_fit_into_no_message_are_an_error_of_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a reply the task would wait for fifteen minutes."""
    _, link, task, listener, reports = running()
    sent = io.BytesIO()

    async def read_offsets(task: TaskId, partitions: Sequence[str]) -> list[Any]:
        return [{"position": "x" * (64 << 20)}]

    monkeypatch.setattr(listener, "read_offsets", read_offsets)
    monkeypatch.setattr(link.writer, "write", sent.write)
    reports.take(link, {"op": "read_offsets", **about(task.spec), "number": 5, "partitions": ["{}"]})
    await until(lambda: bool(sent.getvalue()))
    sent.seek(0)
    [reply] = frames.read_all(sent)
    assert (reply["number"], reply["offsets"]) == (5, []) and "longer than" in reply["error"]
