"""A machine that is too busy to start all tasks: the worker says so, and runs as many as it can."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.console.script_console import Console
from tests.support.kafka.topics import count
from tests.support.processes import children, is_slot
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

TASKS = 200
PERIOD, SHARE = 0.25, 0.03  # seconds, and the part of them in which the slots may run


@contextmanager
def throttled(worker: int) -> Iterator[None]:
    """Gives the slots of a worker a small part of a processor, also those that start meanwhile."""
    over, slots = threading.Event(), slots_of(worker)

    def send(number: signal.Signals) -> None:
        for pid in slots:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def throttle() -> None:
        next_look = 0.0
        while not over.is_set():
            send(signal.SIGSTOP)
            if time.monotonic() > next_look:
                slots[:] = slots_of(worker)
                next_look = time.monotonic() + 1.0
            over.wait(PERIOD * (1 - SHARE))
            send(signal.SIGCONT)
            time.sleep(PERIOD * SHARE)

    thread = threading.Thread(target=throttle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        slots[:] = slots_of(worker)
        send(signal.SIGCONT)


def slots_of(worker: int) -> list[int]:
    return list(filter(is_slot, children(worker)))


@pytest.mark.soak
def test_a_machine_that_cannot_start_all_tasks(worker: StartWorker, broker: KafkaBroker, tmp_path: Path) -> None:
    """A slot that is stopped for most of the time starts its tasks slowly, and the worker starts few at once."""
    process = worker({"headrace.slots": "1", "spark.master": "local[3]", "offset.flush.interval.ms": "2000"})
    connect, name, topic = Connect(process), unique("many"), broker.create_topic()
    wait_until(lambda: "Slot 0 is up" in process.log.read_text(), 60)
    config = {"connector.class": "DatagenSource", "template": "users", "rate": "1", "topic": topic, **STRINGS}

    def running() -> int:
        return connect.states(name)[1].count("RUNNING")

    with throttled(process.pid):
        connect.create(name, {**config, "tasks.max": str(TASKS)})
        began = time.monotonic()
        wait_until(lambda: "tasks are waiting to be started" in process.log.read_text(), 120)
        print(f"reported after {time.monotonic() - began:.0f} s: {running()} of {TASKS} tasks are RUNNING")
        before, written = running(), count(broker.bootstrap, topic)
        assert 0 < before < TASKS
        states = connect.states(name)
        assert states[0] == "RUNNING" and set(states[1]) == {"RUNNING", "UNASSIGNED"}
        shown = Console(process.url, tmp_path)("get connectors").out
        assert re.search(rf"^{name} +source +UNASSIGNED +\d+/\d+ ", shown, re.MULTILINE), shown
        wait_until(lambda: running() > before, 60, "more tasks are started")
        wait_until(lambda: count(broker.bootstrap, topic) > written, 60, "the tasks that run write records")
    wait_until(lambda: running() == TASKS, 120, "all tasks run once the slot gets processor time")
