"""What Kafka's system tests of Connect check with several workers (connect_distributed_test.py), where no other test
does: restarts that double nothing, connectors that stay paused, and levels of loggers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.clusters.lives import HANDED_OVER, TAKEN_OVER, Pipelines
from tests.support.clusters.worker_group import WorkerGroup
from tests.support.connect import Connect
from tests.support.kafka.topics import contents
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

TASKS = 3
ROUNDS = 3
PAUSE = 2.0  # seconds in which paused connectors must not move records
LOGGER, OTHER = "runtime.herder", "runtime.storage"


def _started(group: WorkerGroup, pipelines: Pipelines, **properties: str) -> None:
    group.properties |= properties
    group.start(*(group.ours() for _ in range(3)))
    pipelines.create(group.connect)
    group.wait_running(pipelines.names, tasks=TASKS)


def _rotated(workers: Sequence[WorkerProcess], number: int) -> list[WorkerProcess]:
    """The workers in another order in each round."""
    start = number % len(workers)
    return [*workers[start:], *workers[:start]]


def test_clean_restarts_lose_and_double_no_record(group: WorkerGroup) -> None:
    """test_bounce, clean: the tasks of a source and of a sink share a topic."""
    pipelines = Pipelines(group.folder, group.broker, 2, TASKS)
    _started(group, pipelines)
    for number in range(ROUNDS):
        for worker in _rotated(group.workers, number):
            assert group.stop(worker) == 0
            group.start(worker)
            group.wait_running(pipelines.names, tasks=TASKS)
    assert pipelines.finish() > 0
    assert pipelines.faults(HANDED_OVER) == []
    assert pipelines.doubled() == []


@pytest.mark.parametrize("clean", [True, False])
def test_exactly_once_sources_double_nothing(group: WorkerGroup, clean: bool) -> None:
    """test_exactly_once_source: in the last rounds, workers end before the group has settled."""
    pipelines = Pipelines(group.folder, group.broker, 2, TASKS)
    _started(group, pipelines, **{"exactly.once.source.support": "enabled"})
    for number in range(ROUNDS + 1):
        for worker in _rotated(group.workers, number):
            if clean:
                assert group.stop(worker) == 0
            else:
                group.kill(worker)
            group.start(worker)
            if number < ROUNDS - 1:
                group.wait_running(pipelines.names, tasks=TASKS)
    group.wait_running(pipelines.names, 120, tasks=TASKS)
    assert pipelines.finish() > 0
    assert pipelines.faults(HANDED_OVER if clean else TAKEN_OVER) == []
    sinks = {pipeline.sink for pipeline in pipelines.all}
    assert [line for line in pipelines.doubled() if line.partition(":")[0] not in sinks] == []


def test_connectors_stay_paused_when_all_workers_restart(group: WorkerGroup) -> None:
    """test_pause_and_resume_source and …_sink, test_pause_state_persistent: as each worker reports it."""
    pipelines = Pipelines(group.folder, group.broker, 1, TASKS)
    _started(group, pipelines)
    for name in pipelines.names:
        group.connect.put(name, "pause")
    _await_everywhere(group, pipelines, "PAUSED")
    moved = _settled(group, pipelines)
    for worker in group.workers:
        assert group.stop(worker) == 0
    group.start(*group.workers)
    _await_everywhere(group, pipelines, "PAUSED")
    time.sleep(PAUSE)
    assert _moved(group, pipelines) == moved
    for name in pipelines.names:
        group.connect.put(name, "resume")
    _await_everywhere(group, pipelines, "RUNNING")
    wait_until(lambda: all(now > before for now, before in zip(_moved(group, pipelines), moved, strict=True)))
    assert pipelines.finish() > 0
    assert pipelines.faults(HANDED_OVER) == []


def _await_everywhere(group: WorkerGroup, pipelines: Pipelines, state: str) -> None:
    for worker in group.workers:
        for name in pipelines.names:
            Connect(worker).wait(name, state, [state] * TASKS)


def _settled(group: WorkerGroup, pipelines: Pipelines) -> tuple[int, int]:
    """As _moved(), once the records are in the topic that had been polled when the source was paused."""
    readings = [_moved(group, pipelines)]

    def unchanged() -> bool:
        readings.append(_moved(group, pipelines))
        return readings[-1] == readings[-2]

    wait_until(unchanged, 30, every=0.5)
    return readings[-1]


def _moved(group: WorkerGroup, pipelines: Pipelines) -> tuple[int, int]:
    """The numbers of records in the topic, and of those that the sink has written."""
    [pipeline] = pipelines.all
    written = len(pipeline.out.read_text().splitlines()) if pipeline.out.exists() else 0
    return len(contents(group.broker.bootstrap, [pipeline.topic])[pipeline.topic]), written


def test_levels_of_loggers_change_on_one_worker_or_on_all(group: WorkerGroup) -> None:
    """test_dynamic_logging."""
    group.start(*(group.ours() for _ in range(3)))
    first, *others = [Connect(worker) for worker in group.workers]
    before = _levels([first, *others])
    assert all(logger["last_modified"] is None for levels in before for logger in levels.values())

    assert _set(first, LOGGER, "DEBUG") == [LOGGER]
    assert _levels([first])[0][LOGGER]["level"] == "DEBUG"
    assert _levels(others) == before[1:], "other workers keep their levels"

    assert _set(first, "root", "DEBUG", "?scope=cluster") is None
    at = _now()
    _set(first, "root", "INFO", "?scope=cluster")
    _await_level([first, *others], "root", "INFO", at)
    assert _levels([first])[0][LOGGER]["level"] == "INFO", "the level of the root applies to all loggers"
    at = _now()
    _set(first, LOGGER, "DEBUG", "?scope=cluster")
    _await_level([first, *others], LOGGER, "DEBUG", at)

    settled = _levels([first, *others])
    _set(first, LOGGER, "DEBUG", "?scope=cluster")  # no change
    at = _now()
    _set(first, OTHER, "WARN", "?scope=cluster")
    _await_level([first, *others], OTHER, "WARN", at)
    changed = _levels([first, *others])
    assert [levels | {OTHER: now[OTHER]} for levels, now in zip(settled, changed, strict=True)] == changed

    _set(first, OTHER, "ERROR", "?scope=worker")
    now = _levels([first])[0]
    assert (now.pop(OTHER)["level"], now) == ("ERROR", {k: v for k, v in changed[0].items() if k != OTHER})
    assert _levels(others) == changed[1:]

    group.workers[0].restart()
    assert _levels([first]) == before[:1], "levels end with the worker"
    assert _levels(others) == changed[1:]


def _now() -> int:
    return int(time.time() * 1000)


def _set(worker: Connect, logger: str, level: str, scope: str = "") -> Any:
    return worker.ask("PUT", f"/admin/loggers/{logger}{scope}", {"level": level})


def _levels(workers: Sequence[Connect]) -> list[dict[str, Any]]:
    return [worker.ask("GET", "/admin/loggers") for worker in workers]


def _await_level(workers: Sequence[Connect], logger: str, level: str, since: int) -> None:
    """Waits until the workers have set the level of a logger at or after a time in milliseconds."""

    def is_set() -> bool:
        found = [levels.get(logger) for levels in _levels(workers)]
        return all(entry and entry["level"] == level and (entry["last_modified"] or 0) >= since for entry in found)

    wait_until(is_set, 10, f"{logger} {level} on all workers")
