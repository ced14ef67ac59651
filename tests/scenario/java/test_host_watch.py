"""JVMs that do not answer, whose plugins ignore interrupts, or that are not used any more, are ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from runtime.java.errors import HostLostError
from runtime.java.host.host import JavaClass, JavaHost
from runtime.java.host.process import JvmEnd
from runtime.java.host.watch import IDLE_TIMEOUT, LEAK_TIMEOUT, MOVE_TIMEOUT, HostWatch
from runtime.java.plugins.converters import JavaConverter
from runtime.java.plugins.sink_task import JavaSinkTask
from tests.support.java.host import probe, settings, sink_record
from tests.support.processes import freeze
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_JSON = JavaClass("org.apache.kafka.connect.json.JsonConverter")


class Rig:
    """A host with a watch whose clock the test sets."""

    def __init__(self) -> None:
        self.ends: list[JvmEnd] = []
        self.moved: list[str] = []
        self.ahead = 0.0
        self.host = JavaHost(settings(), lambda end, owners: self.ends.append(end))
        self.watch = HostWatch(self.host, lambda owners, reason: self.moved.append(reason), clock=self._now)

    def _now(self) -> float:
        return time.monotonic() + self.ahead

    def until(self, condition: Callable[[], object]) -> None:
        """Checks until the condition holds."""

        def holds() -> bool:
            self.watch.check()
            return bool(condition())

        wait_until(holds, 20)


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.fixture(autouse=True)
def stopped(rig: Rig) -> Iterator[None]:
    yield
    rig.host.stop()


def test_a_jvm_that_is_frozen_is_ended(rig: Rig) -> None:
    converter = JavaConverter(rig.host, _JSON)
    rig.until(lambda: rig.watch.heap > 0)
    assert rig.host.pid is not None
    freeze(rig.host.pid)
    rig.until(lambda: any(watched._asked for watched in rig.watch._watched.values()))
    rig.watch.check()
    rig.ahead = 7.0
    rig.until(lambda: rig.ends)
    assert rig.ends[0].at_fault
    assert "has not responded for" in rig.ends[0].reason
    with pytest.raises(HostLostError, match="has not responded for"):
        converter.from_connect("t", None, "x")


def test_a_jvm_whose_plugin_ignores_interrupts_is_replaced_when_the_other_tasks_have_left(rig: Rig) -> None:
    task, other = JavaSinkTask(rig.host, probe("ProbeSink")), JavaConverter(rig.host, _JSON)
    thread = threading.Thread(target=partial(_put, task, "deaf"), daemon=True)
    thread.start()
    wait_until(lambda: rig.host.stacks(thread.ident or 0), 10)
    task.interrupt()
    thread.join(30)
    rig.until(lambda: rig.watch.heap > 0)
    assert not rig.moved
    rig.ahead = LEAK_TIMEOUT + 0.1
    rig.until(lambda: rig.moved)
    assert "ignores that it was interrupted" in rig.moved[0]
    new = JavaConverter(rig.host, _JSON)
    new.configure({}, False)
    assert len(rig.host.jvms) == 2
    rig.watch.check()
    assert not rig.ends
    other.plugin.close()
    rig.until(lambda: rig.ends)
    assert rig.ends == [JvmEnd(rig.moved[0], planned=True)]
    assert new.from_connect("t", None, 1) is not None


def test_tasks_that_do_not_leave_a_jvm_in_time_lose_it(rig: Rig) -> None:
    task, other = JavaSinkTask(rig.host, probe("ProbeSink")), JavaConverter(rig.host, _JSON)
    thread = threading.Thread(target=partial(_put, task, "deaf"), daemon=True)
    thread.start()
    wait_until(lambda: rig.host.stacks(thread.ident or 0), 10)
    task.interrupt()
    rig.until(lambda: rig.watch.heap > 0)
    rig.ahead = LEAK_TIMEOUT + 0.1
    rig.until(lambda: rig.moved)
    (watched,) = rig.watch._watched.values()
    assert watched.replaced_since is not None
    watched.replaced_since -= MOVE_TIMEOUT
    rig.until(lambda: rig.ends)
    with pytest.raises(HostLostError, match="is replaced"):
        other.from_connect("t", None, 1)


def test_a_plugin_that_can_be_interrupted_costs_nothing(rig: Rig) -> None:
    task = JavaSinkTask(rig.host, probe("ProbeSink"))
    thread = threading.Thread(target=partial(_put, task, "hang"), daemon=True)
    thread.start()
    wait_until(lambda: rig.host.stacks(thread.ident or 0), 10)
    task.interrupt()
    (jvm,) = rig.host.jvms
    wait_until(lambda: task.plugin.link.number not in jvm.status().links, 10)
    rig.ahead = LEAK_TIMEOUT + 0.1
    rig.until(lambda: rig.watch.heap > 0)
    rig.watch.check()
    assert rig.host.jvms == [jvm]
    assert not rig.moved


def test_a_jvm_without_objects_is_ended_after_a_while(rig: Rig) -> None:
    converter = JavaConverter(rig.host, _JSON)
    (jvm,) = rig.host.jvms
    jvm.used -= IDLE_TIMEOUT
    rig.watch.check()
    assert rig.host.jvms == [jvm]
    converter.plugin.close()
    rig.watch.check()
    assert rig.host.jvms == [jvm]
    jvm.used -= IDLE_TIMEOUT
    rig.until(lambda: rig.ends)
    assert rig.ends[0].planned
    JavaConverter(rig.host, _JSON)


def _put(task: JavaSinkTask, order: str) -> None:
    with pytest.raises(HostLostError):
        task.put([sink_record(order)])
