"""Repeated stops and resumes leave no descriptor, thread or process behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.process_usage import Usage, usage
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

CYCLES = 30
SLACK = 10
"""Threads or descriptors that appear once, independent of the number of cycles: the client that asks Kafka for the
retention of offsets is created a minute after the start, and has four threads and five descriptors. A leak in each
cycle would make 30."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_leaks_over_many_cycles(
    worker: Callable[..., WorkerProcess], broker: KafkaBroker, tmp_path: Path
) -> None:
    connect, topic, file = Connect(worker()), broker.create_topic(), tmp_path / "in.txt"
    file.write_text("one\n")
    source, sink = unique("src"), unique("snk")
    connect.source(source, str(file), topic)
    connect.sink(sink, str(tmp_path / "out.txt"), topic)
    for _ in range(10):  # objects that are created only once exist by now
        _cycle(connect, source, sink)
    before = usage(connect.worker.pid)
    for _ in range(CYCLES):
        _cycle(connect, source, sink)
    print(f"\nbefore {before}\nafter  {usage(connect.worker.pid)}")
    wait_until(lambda: _no_more(usage(connect.worker.pid), before), 30, "the same numbers as before", every=0.5)


def _cycle(connect: Connect, *names: str) -> None:
    for name in names:
        connect.put(name, "stop")
    for name in names:
        connect.wait(name, "STOPPED", [])
    for name in names:
        connect.put(name, "resume")
    for name in names:
        connect.wait(name, "RUNNING", ["RUNNING"])


def _no_more(now: Usage, before: Usage) -> bool:
    within = now.threads <= before.threads + SLACK and now.files <= before.files + SLACK
    return within and now.processes <= before.processes
