"""The rows about a group: two workers, of which one is killed."""

from __future__ import annotations

import time

from tests.bench.life import config
from tests.bench.sides import JAVA, Bench
from tests.support.broker import unique
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

CONNECTORS = 20
SESSION = {"session.timeout.ms": "10000", "heartbeat.interval.ms": "3000"}  # Connect's defaults


def takeover(bench: Bench, side: str) -> dict[str, float]:
    """Seconds from kill -9 of one of two workers until all connectors and tasks are RUNNING on the other."""
    found = {}
    for key, leads in (("takeover", False), ("takeover-leader", True)):
        with worker_group(bench.folder / unique("takeover"), bench.broker, SESSION) as group:
            make = group.java if side == JAVA else group.ours
            found[key] = take_over(group, make(), make(), bench.topic(), leads)
    return found


def take_over(group: WorkerGroup, first: WorkerProcess, second: WorkerProcess, topic: str, leads: bool) -> float:
    """Starts two workers, creates connectors, and kills the worker that leads the group or the other; returns the
    seconds until the remaining worker runs everything."""
    group.start(first)  # Kafka chooses the first member of a group as its leader, and keeps it
    group.start(second)
    file = group.folder / "takeover.txt"
    file.write_text("one\n")
    names = [unique("taken") for _ in range(CONNECTORS)]
    for name in names:
        group.connect.create(name, config(str(file), topic))
    group.wait_running(names)
    wait_until(lambda: {group.worker_of(name) for name in names} == {first, second}, 60, "both workers have tasks")
    group.wait_running(names)
    started = time.monotonic()
    group.kill(first if leads else second)
    group.wait_running(names, 60)
    return time.monotonic() - started
