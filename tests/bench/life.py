"""Rows about starting, stopping and listing."""

from __future__ import annotations

import time

from runtime.engine.driver.archive import archive_path
from tests.bench.sides import Bench, create, median, wait_running
from tests.support.broker import unique
from tests.support.clusters import rest
from tests.support.connect import SOURCE, STRINGS, Connect, is_running
from tests.support.process_usage import usage
from tests.support.waiting import wait_until

CONNECTORS, STOPPED, LISTED = 100, 20, 1000


def starts(bench: Bench, side: str) -> dict[str, float]:
    """Seconds from the start of the process to REST answering, to ready, and to a stored connector RUNNING; and the
    processor time of the worker's processes until then. Not the first start on a machine, which has no archive yet."""
    worker = bench.worker(side)
    worker.start(120)
    connect = Connect(worker)
    file = bench.folder / "start.txt"
    file.write_text("one\n")
    create(connect, "stored", config(str(file), bench.topic()))
    wait_running(connect, "stored")
    if side == "ours":
        archive = archive_path()
        assert archive is not None
        wait_until(archive.exists, 180, "the archive of Spark's classes", every=0.5)
    assert worker.stop(60) == 0 or side == "java"
    started = time.monotonic()
    worker.start(wait=False)
    try:
        wait_until(lambda: rest.answers(f"{worker.url}/"), 60, every=0.01)
        rest_up = time.monotonic() - started
        wait_until(lambda: rest.answers(f"{worker.url}/health"), 60, every=0.01)
        ready = time.monotonic() - started
        wait_until(lambda: _running_again(connect), 60, every=0.01)
        running_again = time.monotonic() - started
        cpu = usage(worker.pid).cpu
        return {"start-rest": rest_up, "start-ready": ready, "start-running": running_again, "start-cpu": cpu}
    finally:
        worker.stop(60)


def hundred(bench: Bench, connect: Connect) -> dict[str, float]:
    """Seconds to create 100 connectors one after another, until all are RUNNING, and to stop 20 of them."""
    prefix, topic, file = unique("many"), bench.topic(), bench.folder / "many.txt"
    file.write_text("one\n")
    names = [f"{prefix}-{number}" for number in range(CONNECTORS)]
    started = time.monotonic()
    for name in names:
        create(connect, name, config(str(file), topic))
    created = time.monotonic()
    wait_until(lambda: running(connect, names) == CONNECTORS, 120, every=0.02)
    all_running = time.monotonic()
    for name in names[:STOPPED]:
        connect.put(name, "stop")
        wait_until(lambda: connect.states(name) == ("STOPPED", []), 30, every=0.002)  # noqa: B023
    stopped = time.monotonic()
    for name in names:
        connect.ask("DELETE", f"/connectors/{name}")
    return {"create-100": created - started, "running-100": all_running - started, "stop-20": stopped - all_running}


def listed(bench: Bench, connect: Connect) -> float:
    """Milliseconds of GET /connectors?expand=status&expand=info with 1,000 stopped connectors; median of 9."""
    prefix = unique("listed")
    for number in range(LISTED):
        create(connect, f"{prefix}-{number}", config("nowhere.txt", "nowhere"), "STOPPED")
    path = "/connectors?expand=status&expand=info"
    wait_until(lambda: sum("status" in entry for entry in connect.ask("GET", path).values()) >= LISTED, 60, every=0.5)
    times = []
    for _ in range(9):
        started = time.monotonic()
        connect.ask("GET", path)
        times.append((time.monotonic() - started) * 1000)
    return median(times)


def config(file: str, topic: str, **more: str) -> dict[str, str]:
    return {"connector.class": SOURCE, "tasks.max": "1", "file": file, "topic": topic, **STRINGS, **more}


def running(connect: Connect, names: list[str]) -> int:
    """The number of connectors that are RUNNING with a RUNNING task."""
    entries = connect.ask("GET", "/connectors?expand=status")
    return sum(is_running(entries.get(name, {}).get("status")) for name in names)


def _running_again(connect: Connect) -> bool:
    try:
        return connect.states("stored") == ("RUNNING", ["RUNNING"])
    except OSError:
        return False
