"""Slots on the executors of a real standalone cluster: tasks move, and never have two owners."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from runtime.engine.protocol.remote import RemoteAccess
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.remote_server import RemoteServer
from runtime.engine.worker.supervisor import SparkEngine
from runtime.model.states import State, TaskId
from tests.support.engine.engine_recorder import Recorder, task_spec
from tests.support.engine.engine_rig import RUNNER, EngineRig
from tests.support.engine.spark_cluster import SparkCluster
from tests.support.processes import alive
from tests.support.servers.forwarder import Forwarder
from tests.support.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

TTL = 3.0


class ClusterRig(EngineRig):
    """An engine with two slots on two executors, behind a network that can be cut."""

    network: Forwarder

    def __init__(self, cluster: SparkCluster) -> None:
        self.heard = Recorder()
        self.lease = float("inf")
        self.cluster = cluster
        properties = {**cluster.properties, "spark.executor.cores": "1", "spark.cores.max": "2"}
        settings = EngineSettings(slots=2, spark_conf=properties, lease_ttl=TTL, runner=RUNNER, stuck_after=1.0)
        self.engine = SparkEngine(settings, self.heard, lambda: self.lease)

    async def pair(self, name: str) -> tuple[TaskId, TaskId]:
        """As EngineRig.pair(), once both slots have their leases."""
        await until(lambda: all(link.usable for link in self.engine._roster.links.values()))
        return await super().pair(name)

    async def lost_when_dead(self, task: TaskId, pid: int) -> None:
        """Waits until the task is lost, which must not happen while its process can still do anything. A task may also
        have ended in the slot: one whose executor is lost is drained if its process outlives the executor."""
        started = time.perf_counter()

        def lost() -> bool:
            has_lost = self.heard.has_lost(task, 1)
            handed_back = self.heard.has(task, 1, State.UNASSIGNED)
            assert not has_lost or handed_back or not alive(pid) or _is_stopped(pid)
            return has_lost

        await until(lost, 60)
        print(f"free after {time.perf_counter() - started:.2f} s, lease {TTL:g} s")


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClusterRig]:
    with SparkCluster(tmp_path_factory.mktemp("spark")).started() as cluster, pytest.MonkeyPatch.context() as patch:
        rig = ClusterRig(cluster)
        start = RemoteServer.start

        async def behind_proxy(*arguments: object) -> RemoteAccess:
            access = await start(*arguments)  # type: ignore[arg-type] # those of start()
            rig.network = Forwarder(f"http://{access.host}:{access.port}")
            await rig.network.revive()
            return replace(access, port=rig.network.port)

        patch.setattr(RemoteServer, "start", behind_proxy)
        await rig.engine.start()
        try:
            yield rig
        finally:
            await rig.engine.close(1.0)
            rig.network.die()


@pytest_asyncio.fixture(loop_scope="module")
async def rig(shared: ClusterRig) -> AsyncIterator[ClusterRig]:
    await shared.ready(240)
    shared.heard.__init__()  # type: ignore[misc]
    yield shared
    shared.network.thaw()
    for slot in shared.engine.slots:
        for task in slot.tasks:
            await shared.engine.stop_task(task, 2.0)


async def test_tasks_run_on_executors_with_the_code_of_the_worker(rig: ClusterRig) -> None:
    started = time.perf_counter()
    task = await rig.running("talker", behaviour="talk")
    print(f"start on a remote slot: {(time.perf_counter() - started) * 1000:.1f} ms")
    await until(lambda: ("INFO", "plugin", "hello from a plugin", "[talker|task-0]") in rig.heard.lines)
    assert rig.cluster.executor_of(rig.slot_of(task).pid)
    assert rig.slot_of(task).host
    await until(lambda: rig.slot_of(task).memory)
    stack = await rig.engine.stack(task, 5.0)
    assert stack is not None and "headrace-" in stack.stack and "/runtime/engine/slot/" in stack.stack
    assert stack.host == rig.slot_of(task).host
    assert await rig.engine.stop_task(task, 5.0)


@pytest.mark.soak
async def test_a_killed_slot_is_replaced_as_soon_as_spark_reports_its_end(rig: ClusterRig) -> None:
    task, spared = await rig.pair("hit")
    started = time.perf_counter()
    os.kill(rig.slot_of(task).pid, signal.SIGKILL)
    await until(lambda: rig.heard.has_lost(task, 1), 60)
    print(f"tasks of a killed slot are free after {time.perf_counter() - started:.2f} s")
    await rig.running("hit-a", 2)
    assert rig.heard.lost_tasks() == [(task, 1)]
    assert rig.slot_of(spared)


@pytest.mark.soak
async def test_a_stopped_slot_keeps_its_tasks_until_its_lease_has_ended(rig: ClusterRig) -> None:
    task, _ = await rig.pair("frozen")
    slot = rig.slot_of(task)
    os.kill(slot.pid, signal.SIGSTOP)
    started = time.perf_counter()
    assert not await rig.engine.stop_task(task, 0.1)  # another worker may start the task now
    print(f"stopped after {time.perf_counter() - started:.2f} s, lease {TTL:g} s")
    assert time.perf_counter() - started > TTL / 2
    os.kill(slot.pid, signal.SIGCONT)
    await until(lambda: not alive(slot.pid), 5)


@pytest.mark.soak
async def test_a_slot_behind_a_cut_network_ends_before_its_tasks_start_elsewhere(rig: ClusterRig) -> None:
    task, other = await rig.pair("cut")
    slot = rig.slot_of(task)
    rig.network.freeze()
    await rig.lost_when_dead(task, slot.pid)
    assert not alive(slot.pid)
    rig.network.thaw()
    await until(lambda: rig.heard.has_lost(other, 1), 60)


async def test_tasks_of_a_killed_executor_wait_for_the_lease(rig: ClusterRig) -> None:
    task, spared = await rig.pair("moving")
    slot = rig.slot_of(task)
    os.kill(rig.cluster.executor_of(slot.pid), signal.SIGKILL)
    await rig.lost_when_dead(task, slot.pid)
    assert not rig.heard.has_lost(spared, 1)
    await rig.running("moving-a", 2)


@pytest.mark.soak
async def test_slots_of_a_decommissioned_executor_are_drained(rig: ClusterRig) -> None:
    task, spared = await rig.pair("draining")
    os.kill(rig.cluster.executor_of(rig.slot_of(task).pid), signal.SIGPWR)
    await until(lambda: rig.heard.has_lost(task, 1), 60)
    assert rig.heard.has(task, 1, State.UNASSIGNED)
    assert "decommissioned" in rig.heard.lost[0][3]
    assert not rig.heard.has_lost(spared, 1)
    await rig.running("draining-a", 2)
    assert rig.slot_of(TaskId("draining-a", 0)).slot == rig.slot_of(spared).slot


@pytest.mark.soak
async def test_a_slot_without_a_core_is_named(rig: ClusterRig, caplog: pytest.LogCaptureFixture) -> None:
    # A slot that is being replaced would compete for its core.
    await until(lambda: sum(link.usable for link in rig.engine._roster.links.values()) == 2, 240)
    rig.engine.start_task(replace(task_spec("lonely"), dedicated=True))
    await until(lambda: rig.heard.has(TaskId("lonely", 0), 1, State.UNASSIGNED), 60)
    assert "slot(s) 2 have none on spark://" in rig.heard.trace(TaskId("lonely", 0), State.UNASSIGNED)
    assert rig.engine.slots_without_core == [2]
    assert "Slot(s) 2 wait for a core" in caplog.text
    assert await rig.engine.stop_task(TaskId("lonely", 0), 5.0)
