"""Automatic restarts by a real worker: a storm of failures, and a restart of the worker."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from tests.support import plugins
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

PLUGINS = str(Path(plugins.__path__[0]))
CONNECTORS = 100
PER_MINUTE = 120
QUICK = 1.0  # seconds within which almost all answers arrive, while other tests may run beside this one

Start = Callable[..., WorkerProcess]


def _restarts(connect: Connect) -> int:
    """The automatic restarts since the worker's start, from its metrics."""
    status, text = connect.worker.request("GET", "/metrics")
    assert status == 200
    return sum(int(count) for count in re.findall(r"^headrace_task_auto_restarts_total\{.*\} (\d+)$", text, re.M))


def test_a_storm_of_failures_neither_restarts_without_limit_nor_slows_the_rest_api(
    worker: Start, broker: KafkaBroker
) -> None:
    """A hundred connectors that fail at once and for ever; then the worker is restarted, and continues the count."""
    process = worker({
        "plugin.path": PLUGINS, "headrace.restart.attempts": "-1", "headrace.restart.delay.ms": "50",
        "headrace.restart.budget": str(PER_MINUTE),
    })  # fmt: skip
    connect, topic = Connect(process), broker.create_topic()
    config = {
        "connector.class": "headrace_bad_plugins.BadSource", "topic": topic, "tasks.max": "1", "bad.in": "task.poll",
        **STRINGS,
    }  # fmt: skip
    names = [unique("storm") for _ in range(CONNECTORS)]
    for name in names:
        connect.create(name, config)
    wait_until(lambda: _restarts(connect) > 0, 60, "the first automatic restart")
    begun, first, latencies = time.monotonic(), _restarts(connect), []
    while time.monotonic() - begun < 4:
        asked = time.monotonic()
        assert len(connect.ask("GET", "/connectors?expand=status")) == CONNECTORS
        latencies.append(time.monotonic() - asked)
        time.sleep(0.05)
    done, seconds = _restarts(connect) - first, time.monotonic() - begun
    allowed = PER_MINUTE / 60 * (10 + seconds) + 1  # a burst of ten seconds, then the rate
    assert 0 < done <= allowed
    assert sorted(latencies)[len(latencies) * 95 // 100] < QUICK

    for name in names[1:]:
        connect.ask("DELETE", f"/connectors/{name}")
    restarts = connect.ask("GET", f"/connectors/{names[0]}/restarts")
    (task,) = restarts["units"]
    assert (restarts["policy"]["attempts"], task["task"], task["ended"]) == (-1, 0, False)
    assert "task.poll fails as configured" in task["history"][0]["error"]
    process.restart()

    def attempts() -> int:
        (unit,) = connect.ask("GET", f"/connectors/{names[0]}/restarts")["units"]
        return int(unit["attempts"])

    wait_until(lambda: attempts() > task["attempts"], 30, "another restart, counted with those before")
