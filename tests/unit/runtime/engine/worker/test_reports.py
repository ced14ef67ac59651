from __future__ import annotations

import os
import time
from unittest.mock import Mock

from runtime.engine.placement.roster import Roster, SlotLink, TaskRun
from runtime.engine.protocol.task_specs import about
from runtime.engine.worker.reports import UNEXPECTED_END, TaskReports
from runtime.model.states import State
from runtime.system.processes import OwnProcess
from tests.support.engine_recorder import task_spec


def running() -> tuple[Roster, SlotLink, TaskRun, Mock, TaskReports]:
    roster, listener = Roster(1, 0.0, time.monotonic), Mock()
    link = SlotLink(0, 0, 0, OwnProcess(os.getpid()), Mock(), 0.0)
    task = TaskRun(task_spec("x"))
    roster.tasks[task.spec.id] = task
    link.add(task)
    return roster, link, task, listener, TaskReports(roster, listener, Mock(), Mock(), Mock(), time.monotonic)


def test_a_task_that_reports_unassigned_before_its_end_is_handed_out_again() -> None:
    roster, link, task, listener, reports = running()
    task.member_id = "m-1"
    reports.take(link, about("state", task.spec, state=State.UNASSIGNED, trace="its producer failed"))
    reports.take(link, about("ended", task.spec))
    assert not roster.tasks and not link.tasks and task.ended.is_set()
    listener.task_lost.assert_called_once_with(task.spec.id, task.spec.epoch, "m-1", "its producer failed")
    listener.task_state.assert_called_once_with(task.spec.id, task.spec.epoch, State.UNASSIGNED, "its producer failed")


def test_a_task_that_ends_without_a_request_is_failed() -> None:
    _, link, task, listener, reports = running()
    reports.take(link, about("ended", task.spec))
    listener.task_state.assert_called_once_with(task.spec.id, task.spec.epoch, State.FAILED, UNEXPECTED_END)
    assert not listener.task_lost.called


def test_a_task_that_was_stopped_meanwhile_is_not_handed_out_again() -> None:
    roster, link, task, listener, reports = running()
    reports.take(link, about("state", task.spec, state=State.UNASSIGNED, trace="its producer failed"))
    del roster.tasks[task.spec.id]
    reports.take(link, about("ended", task.spec))
    assert not listener.task_lost.called and task.ended.is_set()
