"""Reports of calls that take too long."""

from __future__ import annotations

import threading
from typing import cast

from runtime.engine.slot.task_thread import TaskThread
from runtime.engine.slot.watchdog import Watchdog, stack_of
from runtime.pipeline.task.control import PluginCall
from tests.support.clock import Clock


class Task:
    def __init__(self, call: PluginCall | None) -> None:
        self.call = call


def test_a_long_call_is_reported_once_and_so_is_its_return() -> None:
    clock, reported, task = Clock(100.0), [], Task(None)
    watchdog = Watchdog(lambda: cast("list[TaskThread]", [task]), lambda task, call: reported.append(call), 10.0, clock)
    watchdog.check()
    call = task.call = PluginCall("poll", 100.0)
    clock.now = 109.0
    watchdog.check()
    assert reported == []
    for clock.now in (110.0, 115.0):
        watchdog.check()
    assert reported == [call]
    task.call = None
    watchdog.check()
    watchdog.check()
    assert reported == [call, None]


def test_another_long_call_is_reported_again() -> None:
    clock, reported = Clock(100.0), []
    task = Task(PluginCall("put", 50.0))
    watchdog = Watchdog(lambda: cast("list[TaskThread]", [task]), lambda task, call: reported.append(call), 10.0, clock)
    watchdog.check()
    first, task.call = task.call, PluginCall("put", 80.0)
    watchdog.check()
    assert reported == [first, task.call]


def test_the_stack_of_a_thread() -> None:
    started, end = threading.Event(), threading.Event()

    def wait_here() -> None:
        started.set()
        end.wait(10)

    thread = threading.Thread(target=wait_here)
    thread.start()
    started.wait(5)
    assert "wait_here" in stack_of(thread.ident)
    end.set()
    thread.join()
    assert stack_of(thread.ident) == ""
