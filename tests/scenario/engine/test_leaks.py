"""Repeated stops and resumes leave no descriptor, thread or process behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.process_usage import Usage, usage
from tests.support.waiting import allowed
from tests.support.workers import StartWorker

CYCLES, ROUNDS = 30, 3
"""A leak in each cycle makes the numbers grow in each round. What is created only once, on a busy machine maybe after
the first cycles, does so in one."""

SLACK = 10
"""Threads or descriptors that appear once, independent of the number of cycles: the client that asks Kafka for the
retention of offsets is created a minute after the start, and has four threads and five descriptors. A leak in each
cycle would make 30."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_leaks_over_many_cycles(worker: StartWorker, broker: KafkaBroker, tmp_path: Path) -> None:
    connect, topic, file = Connect(worker()), broker.create_topic(), tmp_path / "in.txt"
    file.write_text("one\n")
    source, sink = unique("src"), unique("snk")
    connect.source(source, str(file), topic)
    connect.sink(sink, str(tmp_path / "out.txt"), topic)
    for _ in range(10):  # objects that are created only once exist by now
        _cycle(connect, source, sink)
    for _ in range(ROUNDS):
        before = usage(connect.worker.pid)
        for _ in range(CYCLES):
            _cycle(connect, source, sink)
        if _settles(connect.worker.pid, before):
            return
    raise AssertionError("threads, files or processes grow with the number of cycles: see the output")


def _cycle(connect: Connect, *names: str) -> None:
    for name in names:
        connect.put(name, "stop")
    for name in names:
        connect.wait(name, "STOPPED", [])
    for name in names:
        connect.put(name, "resume")
    for name in names:
        connect.wait(name, "RUNNING", ["RUNNING"])


def _settles(pid: int, before: Usage) -> bool:
    """Whether threads, files and processes become as few as before within some seconds."""
    until = time.monotonic() + allowed(10)
    while not (few := _no_more(usage(pid), before)) and time.monotonic() < until:
        time.sleep(0.5)
    print(f"\nbefore {before}\nafter  {usage(pid)}")
    return few


def _no_more(now: Usage, before: Usage) -> bool:
    within = now.threads <= before.threads + SLACK and now.files <= before.files + SLACK
    return within and now.processes <= before.processes
