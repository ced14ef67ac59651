"""Cordon and drain of a worker in a group of two: units move or stay as documented, and no record is lost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker
from tests.support.clusters.lives import HANDED_OVER, Pipelines
from tests.support.clusters.worker_group import WorkerGroup, worker_group, worker_id
from tests.support.console.script_console import Console
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

pytestmark = pytest.mark.slow


@pytest.fixture
def group(tmp_path: Path, broker: KafkaBroker) -> Iterator[WorkerGroup]:
    """Two workers; the first one leads."""
    with worker_group(tmp_path, broker, {"plugin.path": PLUGINS, "headrace.slots": "1"}) as group:
        group.start(group.ours())
        group.start(group.ours())
        wait_until(lambda: len(view(group.workers[1])["workers"]) == 2, 30, "both workers in the group")
        yield group


@pytest.fixture
def pipelines(tmp_path: Path, broker: KafkaBroker, group: WorkerGroup) -> Pipelines:
    """Three pipelines whose units are on both workers."""
    found = Pipelines(tmp_path / "lives", broker, 3)
    found.create(group.connect)
    group.wait_running(found.names)
    for worker in group.workers:
        wait_until(partial(units, worker), 30, f"units on {worker.url}")
    settled(group)
    return found


def view(at: WorkerProcess) -> dict[str, Any]:
    """GET /workers of this worker."""
    status, answer = at.request("GET", "/workers")
    assert status == 200, answer
    found: dict[str, Any] = answer
    return found


def entry(of: WorkerProcess, at: WorkerProcess | None = None) -> dict[str, Any]:
    """A worker in the answer of GET /workers."""
    return next(w for w in view(at or of)["workers"] if w["worker_id"] == worker_id(of))


def units(of: WorkerProcess, at: WorkerProcess | None = None) -> set[tuple[str, int]]:
    """The connectors (task -1) and tasks of a worker."""
    found = entry(of, at)
    return {(name, -1) for name in found["connectors"]} | {(task["connector"], task["task"]) for task in found["tasks"]}


def unassigned(group: WorkerGroup, pipelines: Pipelines) -> set[tuple[str, int]]:
    """Connectors (task -1) and tasks that are UNASSIGNED."""
    statuses = [group.connect.status(name) for name in pipelines.names]
    parts = [(s["name"], part.get("id", -1), part["state"]) for s in statuses for part in (s["connector"], *s["tasks"])]
    return {(name, task) for name, task, state in parts if state == "UNASSIGNED"}


def settled(group: WorkerGroup) -> None:
    wait_until(lambda: not view(group.living[0])["rebalancing"], 30, "the end of the rebalance")


def change(at: WorkerProcess, verb: str, of: WorkerProcess) -> tuple[int, Any]:
    return at.request("PUT", f"/workers/{worker_id(of)}/{verb}")


def test_draining_moves_everything_and_loses_nothing(group: WorkerGroup, pipelines: Pipelines, tmp_path: Path) -> None:
    leader, other = group.workers
    console = Console(leader.url, tmp_path)
    done = console(f"drain {worker_id(other)} --wait")  # the request reaches the leader
    assert done.code == 0, done
    assert not units(other) and entry(other)["state"] == "DRAINING"
    group.wait_running(pipelines.names)
    assert all(set(group.owners(name).values()) == {worker_id(leader)} for name in pipelines.names)
    assert other.running() and other.request("GET", "/health")[0] == 200
    status, answer = change(other, "drain", leader)
    assert status == 409 and f"{worker_id(other)} is DRAINING" in answer["message"]
    status, answer = change(other, "cordon", group.workers[0])
    assert status == 202  # so that nothing returns before the next request
    assert change(other, "uncordon", leader)[0] == 202
    assert change(other, "uncordon", other)[0] == 202  # the follower forwards
    wait_until(lambda: units(other), 40, "units on the uncordoned worker")
    group.wait_running(pipelines.names)
    assert pipelines.finish() > 0
    assert pipelines.faults(HANDED_OVER) == []


def test_a_cordoned_worker_keeps_its_units_and_receives_no_others(
    group: WorkerGroup, pipelines: Pipelines, tmp_path: Path, broker: KafkaBroker
) -> None:
    leader, other = group.workers
    before = units(other)
    assert before and change(other, "cordon", other)[0] == 202
    assert entry(other)["state"] == entry(other, at=leader)["state"] == "CORDONED"
    more = Pipelines(tmp_path / "more", broker, 2)
    more.create(group.connect)
    group.wait_running([*pipelines.names, *more.names])
    assert units(other) == before
    assert change(leader, "uncordon", other)[0] == 202
    wait_until(lambda: units(other) - before, 40, "further units on the uncordoned worker")
    group.wait_running([*pipelines.names, *more.names])


@pytest.mark.soak
def test_a_cordon_survives_the_death_of_the_leader(group: WorkerGroup, pipelines: Pipelines) -> None:
    leader, other = group.workers
    before, everything = units(other), {(name, task) for name in pipelines.names for task in (-1, 0)}
    assert change(leader, "cordon", other)[0] == 202
    group.kill(leader)
    wait_until(lambda: view(other)["leader"] == worker_id(other), 40, "a new leader")
    assert entry(other)["state"] == "CORDONED" and units(other) == before
    wait_until(lambda: unassigned(group, pipelines) == everything - before, 30, "UNASSIGNED units of the dead worker")
    group.start(leader)
    group.wait_running(pipelines.names)
    assert units(other) == before
    assert units(leader, at=other) == everything - before
