"""Failures around a group of workers: the broker, a slot, and a leader in the middle of a change."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.embedded.processes.process import ProcessRef
from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.clusters import offset_change_crasher
from tests.support.clusters.lives import Pipelines
from tests.support.clusters.worker_group import SESSION, WorkerGroup, worker_group, worker_id
from tests.support.connect import STRINGS
from tests.support.plugins import PLUGINS
from tests.support.processes import alive, children, freeze, is_slot
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

PIPELINES = 4
PROPERTIES = {"plugin.path": PLUGINS, "headrace.slots": "1"}


@pytest.fixture
def on_own_broker(own_broker: EmbeddedBroker, tmp_path: Path) -> Iterator[WorkerGroup]:
    with worker_group(tmp_path, own_broker, PROPERTIES) as group:
        yield group


@pytest.fixture(scope="module")
def shared(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerGroup]:
    """Two workers for tests that leave both alive."""
    with worker_group(tmp_path_factory.mktemp("shared"), broker, PROPERTIES) as group:
        group.start(group.ours(), group.ours())
        yield group


@pytest.fixture
def pair(shared: WorkerGroup) -> Iterator[WorkerGroup]:
    """The shared workers, without connectors before and after the test."""
    yield shared
    for worker in shared.workers:
        shared.thaw(worker)
    shared.connect.delete_all()


def started(group: WorkerGroup, count: int = PIPELINES) -> Pipelines:
    """Pipelines that run on all workers of the group; each worker runs some of them."""
    pipelines = Pipelines(group.folder, group.broker, count)
    pipelines.create(group.connect)
    group.wait_running(pipelines.names)
    wait_until(
        lambda: {group.worker_of(name) for name in pipelines.names} == set(group.workers), 30, "units on all workers"
    )
    group.wait_running(pipelines.names)
    written = [pipeline.out for pipeline in pipelines.all]
    wait_until(lambda: all(out.exists() and out.stat().st_size for out in written), 30, "records of all sources")
    return pipelines


def check_all_share(group: WorkerGroup, pipelines: Pipelines) -> None:
    """All workers of the group run something again, and the traces are sound."""
    wait_until(
        lambda: {group.worker_of(name) for name in pipelines.names} == set(group.workers),
        60,
        "units on all workers again",
    )
    group.wait_running(pipelines.names)
    check(pipelines)


def check(pipelines: Pipelines) -> None:
    assert pipelines.finish() > 0
    assert pipelines.faults() == []


@pytest.mark.soak  # test_chaos.py kills a broker between the deaths of workers, and judges more
def test_the_broker_restarts_during_a_rebalance(on_own_broker: WorkerGroup, own_broker: EmbeddedBroker) -> None:
    group = on_own_broker
    group.start(group.ours(), group.ours())
    pipelines = started(group)
    group.ours().start(wait=False)
    wait_until(lambda: len(group.connect.ask("GET", "/workers")["workers"]) == 3, 30, "the third worker has joined")
    own_broker.kill()
    own_broker.start()
    group.wait_running(pipelines.names, 90)
    check(pipelines)


@pytest.mark.slow
def test_a_frozen_slot_is_replaced_and_never_runs_again(pair: WorkerGroup) -> None:
    pipelines = started(pair)
    victim = pair.workers[1]
    (slot,) = slots(victim)
    freeze(slot)
    wait_until(lambda: not alive(slot), 30, "the frozen slot has ended")
    pair.wait_running(pipelines.names)
    assert set(pair.living) == set(pair.workers), "the workers themselves are not affected"
    check(pipelines)


@pytest.mark.slow
def test_a_slot_that_holds_the_gil_ends_before_its_tasks_run_elsewhere(pair: WorkerGroup) -> None:
    """The worker is frozen, so that only the slot's own lease can end tasks that do not check it."""
    group, pipelines = pair, started(pair)
    held = pipelines.all[0]
    hold = group.folder / unique("hold")
    group.connect.ask("PUT", f"/connectors/{held.source}/config", pipelines.source_config(held, hold=str(hold)))
    group.wait_running(pipelines.names)
    holder = group.worker_of(held.source)
    other = next(worker for worker in group.workers if worker is not holder)
    (slot,) = slots(holder)
    hold.touch()
    wait_until(lambda: not hold.exists(), 10, "the task holds the GIL")
    group.freeze(holder)
    process = ProcessRef.of(slot)
    wait_until(lambda: group.running() >= set(pipelines.names), 60, "all RUNNING on the other worker")
    assert not process.alive(), "the slot outlived its lease"
    assert group.living == [other]
    group.thaw(holder)
    check_all_share(group, pipelines)


@pytest.mark.soak
def test_a_worker_that_is_frozen_for_less_than_its_session_loses_no_slot(broker: KafkaBroker, tmp_path: Path) -> None:
    """As on a busy machine: it renews the leases of its slots late, but no other worker can have taken their tasks."""
    properties = {"plugin.path": PLUGINS, "headrace.slots": "1", "session.timeout.ms": "10000"}
    with worker_group(tmp_path, broker, properties) as group:
        group.start(group.ours(), group.ours())
        pipelines = started(group, 2)
        victim = group.workers[1]
        before = slots(victim)
        group.freeze(victim)
        time.sleep(7.5)
        group.thaw(victim)
        group.wait_running(pipelines.names)
        check(pipelines)
        assert slots(victim) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "whole", [pytest.param(False, marks=pytest.mark.soak), True], ids=["worker", "all its processes"]
)
def test_another_worker_takes_over_from_a_worker_frozen_beyond_its_session(pair: WorkerGroup, whole: bool) -> None:
    group, pipelines = pair, started(pair)
    victim = group.workers[1]
    group.freeze(victim, whole)
    waited = group.wait_running(pipelines.names, SESSION * 4)
    print(f"\nall RUNNING on the other worker after {waited:.1f} s")
    group.thaw(victim)
    check_all_share(group, pipelines)


@pytest.mark.soak
@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_next_leader_finishes_a_change_of_offsets_exactly_once(
    group: WorkerGroup, step: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The leader dies between two steps of the change, after which a follower leads."""
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    leader, follower = group.ours(), group.ours()
    (orders := tmp_path / "orders").write_text(str(step))
    leader.command = [sys.executable, offset_change_crasher.__file__, str(orders), str(leader.properties_file)]
    group.start(leader)
    group.start(follower)
    name, topic = unique("counting"), group.broker.create_topic()
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, "tasks.max": "1", **STRINGS}
    group.connect.create(name, config, initial_state="STOPPED")
    group.connect.wait(name, "STOPPED", [])
    wanted = [{"partition": {"counter": str(number)}, "offset": {"n": 5}} for number in range(20)]
    status, body = follower.request("PATCH", f"/connectors/{name}/offsets", {"offsets": wanted})
    assert status >= 400, body
    assert leader.wait(30) == -signal.SIGKILL

    wait_until(
        lambda: follower.request("GET", "/workers")[1]["leader"] == worker_id(follower), 30, "the follower leads"
    )
    group.connect.resume(name)  # 409 until the change is finished
    group.connect.stop(name)
    kept = [entry for entry in group.connect.offsets(name) if entry["partition"] != {"counter": topic}]
    assert sorted(kept, key=str) == sorted(wanted, key=str)
    history = group.connect.ask("GET", f"/connectors/{name}/offsets/history")
    assert len(history) == 1, history
    assert group.stop(follower) == 0


def slots(worker: WorkerProcess) -> list[int]:
    return [pid for pid in children(worker.pid) if is_slot(pid)]
