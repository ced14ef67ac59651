"""Rows about the cost of idle tasks: processor and memory."""

from __future__ import annotations

import time

from tests.bench.life import config, running
from tests.bench.sides import Bench, create
from tests.support.broker import unique
from tests.support.connect import SINK, STRINGS, Connect
from tests.support.process_usage import usage
from tests.support.waiting import wait_until

STEPS = (0, 100, 200)
SETTLE, WATCH = 15.0, 20.0


def started(bench: Bench, side: str) -> dict[str, float]:
    """MB of a worker that has been started and has run no connector."""
    with bench.running(side, warm=False) as connect:
        time.sleep(SETTLE)
        return {"idle-memory-new": usage(connect.worker.pid).pss / 1e6}


def idle(bench: Bench, connect: Connect) -> dict[str, float]:
    """For 0, 100 and 200 tasks, half of them sources and half sinks: % of a core, MB, threads, descriptors."""
    prefix, topic, file = unique("idle"), bench.topic(), bench.folder / "idle.txt"
    file.write_text("one\n")
    names: list[str] = []
    found: dict[str, float] = {}
    for step in STEPS:
        while len(names) < step:
            name = f"{prefix}-{len(names)}"
            create(connect, name, config(str(file), topic) if len(names) % 2 else _sink(bench, name, topic))
            names.append(name)
        wait_until(lambda: running(connect, names) == len(names), 120, every=0.2)
        time.sleep(SETTLE)  # a fixed pause, so that the starts are not measured
        before = usage(connect.worker.pid)
        time.sleep(WATCH)
        after = usage(connect.worker.pid)
        found[f"idle-cpu-{step}"] = (after.cpu - before.cpu) / WATCH * 100
        found[f"idle-memory-{step}"] = after.pss / 1e6
        found[f"idle-threads-{step}"] = after.threads
        found[f"idle-files-{step}"] = after.most_files
    for name in names:
        connect.ask("DELETE", f"/connectors/{name}")
    return found


def _sink(bench: Bench, name: str, topic: str) -> dict[str, str]:
    out = bench.folder / f"{name}.out"
    return {"connector.class": SINK, "tasks.max": "1", "file": str(out), "topics": topic, **STRINGS}
