"""The last restart of a task, and by whom."""

from __future__ import annotations

from typing import Any

from tui.client.responses import RestartsResponse
from tui.screens.services.last_restarts import KnownRestarts, newest, of_audit_log, of_operations, of_worker
from tui.screens.services.operations import Operations


def entry(at: float, task: int | None, **more: Any) -> dict[str, Any]:
    return {"at": at, "task": task, "who": "ann@bastion", "from": "script", **more}


def test_restarts_by_this_console_are_of_the_task_or_of_its_connector() -> None:
    now = [100.0]
    log = Operations(lambda operation: None, lambda: now[0], lambda: now[0])
    log.begin("restart", "a", goal="RUNNING", doing="restarting")
    now[0] = 200.0
    of_task = log.begin("restart task", "a", goal="RUNNING", doing="restarting", task=1)
    log.failed(of_task, "refused")
    log.begin("stop", "a", goal="STOPPED", doing="stopping")
    last = newest(of_operations(log.log, "a", 1))
    assert last is not None and (last.at, last.by, last.task, last.result) == (200.0, "you", 1, "refused")
    other = newest(of_operations(log.log, "a", 0))
    assert other is not None and (other.at, other.task) == (100.0, None)
    assert newest(of_operations(log.log, "b", 0)) is None
    known = KnownRestarts(log.log, [entry(150.0, 0)])
    assert [getattr(known.last("a", *units), "at", None) for units in [(0,), (None,), (None, 0, 1), ()]] == [
        150.0, 100.0, 200.0, None,
    ]  # fmt: skip


def test_the_audit_log_adds_restarts_by_others_on_this_machine() -> None:
    now = [100.0]
    log = Operations(lambda operation: None, lambda: now[0], lambda: now[0])
    operation = log.begin("restart task", "a", goal="RUNNING", doing="restarting", task=0)
    now[0] = 101.0
    log.accepted(operation)
    entries = [entry(300.0, 1), entry(200.0, 0, error="409 rebalance"), entry(100.5, 0)]
    restarts = list(of_audit_log(entries, log.log, "a", 0))
    assert [(each.at, each.by, each.result, each.kind) for each in restarts] == [
        (200.0, "ann@bastion (script)", "refused: 409 rebalance", "bad")
    ], "that of task 1 is not shown, and that of this console is an operation"


def test_a_headrace_worker_reports_automatic_restarts() -> None:
    response: RestartsResponse = {
        "name": "a",
        "policy": {"attempts": 3},
        "units": [
            {
                "task": 0,
                "attempts": 2,
                "due": None,
                "ended": True,
                "history": [
                    {"time": 9000, "attempt": 0, "restarted": None, "error": "disk full"},
                    {"time": 5000, "attempt": 2, "restarted": 6000, "error": "disk full"},
                    {"time": 1000, "attempt": 1, "restarted": 2000, "error": "disk full"},
                ],
            }
        ],
    }
    last = newest(of_worker(response, 0))
    assert last is not None
    assert (last.at, last.by, last.result) == (6.0, "the worker, automatic restart 2", "failed again: disk full")
    assert newest(of_worker(response, 1)) is None and newest(of_worker(None, 0)) is None
