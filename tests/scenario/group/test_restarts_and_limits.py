"""Automatic restarts and rate limits in a group of two workers, of which one is killed and started again."""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.lives import lives, overlaps
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.connect import STRINGS
from tests.support.kafka.topics import count
from tests.support.plugins import PLUGINS
from tests.support.waiting import soon, wait_until
from tests.support.workers import WorkerProcess

CONNECTORS = 40
PER_MINUTE = 60
QUICK = 0.5  # seconds within which most answers arrive
LIMIT = 8
TASKS = 4

Unit = dict[str, Any]


@pytest.fixture(scope="module")
def group(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerGroup]:
    properties = {
        "plugin.path": PLUGINS, "headrace.slots": "1", "headrace.restart.attempts": "-1",
        "headrace.restart.delay.ms": "50", "headrace.restart.budget": str(PER_MINUTE),
    }  # fmt: skip
    with worker_group(tmp_path_factory.mktemp("group"), broker, properties) as group:
        group.start(group.ours(), group.ours())
        yield group


def _failing(group: WorkerGroup, number: int, **more: str) -> list[str]:
    """Connectors whose task fails in each poll."""
    names, topic = [unique("failing") for _ in range(number)], group.broker.create_topic()
    config = {
        "connector.class": "headrace_bad_plugins.BadSource", "topic": topic, "tasks.max": "1", "bad.in": "task.poll",
        **STRINGS, **more,
    }  # fmt: skip
    for name in names:
        group.connect.create(name, config)
    return names


def _restarts(worker: WorkerProcess) -> int:
    """The automatic restarts since the worker's start, from its metrics."""
    status, text = worker.request("GET", "/metrics")
    assert status == 200
    return sum(int(count) for count in re.findall(r"^headrace_task_auto_restarts_total\{.*\} (\d+)$", text, re.M))


def _unit(group: WorkerGroup, name: str) -> Unit | None:
    """The record of the connector's task; None if it has not failed yet."""
    units = group.connect.ask("GET", f"/connectors/{name}/restarts")["units"]
    return dict(units[0]) if units else None


def _carried_out(group: WorkerGroup, names: list[str]) -> Counter[tuple[str, int]]:
    """How often each restart was carried out, by connector and attempt, from the logs of all workers."""
    text = "".join(worker.log.read_text() for worker in group.workers)
    found = re.findall(r"(failing\S*)-0 is restarted automatically, attempt (\d+)", text)
    return Counter((name, int(attempt)) for name, attempt in found if name in names)


@pytest.mark.soak
def test_a_storm_of_failures_is_limited_on_each_worker_and_does_not_slow_the_rest_api(group: WorkerGroup) -> None:
    """Connectors that fail at once and for ever on both workers."""
    names = _failing(group, CONNECTORS)
    wait_until(lambda: all(_restarts(worker) > 0 for worker in group.workers), 60, "restarts on both workers")
    begun, first, latencies = time.monotonic(), [_restarts(worker) for worker in group.workers], []
    while time.monotonic() - begun < 2:
        asked = time.monotonic()
        assert len(group.connect.ask("GET", "/connectors?expand=status")) == CONNECTORS
        latencies.append(time.monotonic() - asked)
        time.sleep(0.05)

    def more() -> list[int]:
        return [_restarts(worker) - before for worker, before in zip(group.workers, first, strict=True)]

    wait_until(lambda: min(more()) > 0, 60, "more restarts on both workers")
    done = more()
    allowed = PER_MINUTE / 60 * (10 + time.monotonic() - begun) + 1  # a burst of ten seconds, then the rate
    assert max(done) <= allowed, done
    assert statistics.median(latencies) < soon(QUICK)
    assert set(_carried_out(group, names).values()) == {1}, "each restart by one worker"
    for name in names:
        group.connect.ask("DELETE", f"/connectors/{name}")


@pytest.mark.soak
def test_restarts_and_limits_survive_the_death_and_the_return_of_a_worker(group: WorkerGroup) -> None:
    limited, topic, marks = unique("limited"), group.broker.create_topic(), group.folder / unique("marks")
    config = {
        "connector.class": "headrace_life_plugins.LifeSourceConnector", "topic": topic, "tasks.max": str(TASKS),
        "marks": str(marks), "done": str(group.folder / "never"), "headrace.rate.records": str(LIMIT), **STRINGS,
    }  # fmt: skip
    group.connect.create(limited, config)
    names = _failing(group, 6, **{"headrace.restart.delay.ms": "280000"})
    group.wait_running([limited], tasks=TASKS)

    def written() -> int:
        return count(group.broker.bootstrap, topic)

    def waiting() -> dict[str, Unit]:
        """The records of all tasks; none unless each waits for a restart."""
        found = {name: unit for name in names if (unit := _unit(group, name)) is not None and unit["due"]}
        return found if len(found) == len(names) else {}

    def owners() -> set[WorkerProcess]:
        return {group.worker_of(limited, task) for task in range(TASKS)}

    before = wait_until(waiting, 40, "all tasks wait for their restarts")
    wait_until(lambda: owners() == set(group.workers), 40, "limited tasks on both workers")
    group.wait_running([limited], tasks=TASKS)
    tasks_begun = len(lives(marks.read_text().splitlines()))

    # one limit on two workers, and its change
    begun, first = time.monotonic(), written()
    time.sleep(1.5)
    assert 0 < written() - first <= LIMIT * (time.monotonic() - begun) + TASKS + 1
    group.connect.ask("PATCH", f"/connectors/{limited}/config", {"headrace.rate.records": "1000"})
    wait_until(lambda: _rate(written, 0.5) > 3 * LIMIT, 60, "the higher limit on both workers")
    assert len(lives(marks.read_text().splitlines())) == tasks_begun, "without a restart"
    group.connect.ask("PATCH", f"/connectors/{limited}/config", {"headrace.rate.records": str(LIMIT)})
    wait_until(lambda: _rate(written, 1.0) < 2 * LIMIT, 60, "the lower limit on both workers")

    # the other worker takes over: it starts the failed tasks, and counts on
    victim = group.worker_of(names[0])
    moved = [name for name in names if group.worker_of(name) is victim]
    begun, first = time.monotonic(), written()
    group.kill(victim)
    group.wait_running([limited], tasks=TASKS)

    def counted() -> bool:
        found = waiting()
        return bool(found) and all(found[name]["attempts"] == before[name]["attempts"] + 1 for name in moved)

    wait_until(counted, 40, "the next failures of the tasks that were taken over")
    assert written() - first <= LIMIT * (time.monotonic() - begun) + 2 * TASKS
    after = waiting()
    assert {name for name in names if after[name]["due"] == before[name]["due"]} == set(names) - set(moved)
    for name in moved:
        newest, last = after[name]["history"]
        assert (newest["attempt"], last["attempt"]) == (2, 1)
        assert last["time"] <= last["restarted"] <= newest["time"]
        assert newest["restarted"] is None

    # the worker returns, and receives tasks in the middle of their delays
    group.start(victim)

    def on_victim() -> bool:
        return victim in owners() or any(group.worker_of(name) is victim for name in names)

    wait_until(on_victim, 40, "tasks on both workers again")
    group.wait_running([limited], tasks=TASKS)

    def counted_back() -> Any:
        """A task on the victim has failed once more; until then the older wait may be shown."""
        given_back = {name for name in names if group.worker_of(name) is victim}
        found = waiting()
        attempts = {name: after[name]["attempts"] + (name in given_back) for name in names}
        return found and {name: found[name]["attempts"] for name in names} == attempts and (found, given_back)

    returned, given_back = wait_until(counted_back, 40, "all tasks wait again")
    for name in names:
        assert (returned[name]["due"] == after[name]["due"]) is (name not in given_back), name
    assert not _carried_out(group, names), "no delay is over"
    assert overlaps(lives(marks.read_text().splitlines())) == []
    for name in (*names, limited):
        group.connect.ask("DELETE", f"/connectors/{name}")


def _rate(done: Any, seconds: float) -> float:
    """Records per second."""
    first, begun = done(), time.monotonic()
    time.sleep(seconds)
    return float(done() - first) / (time.monotonic() - begun)
