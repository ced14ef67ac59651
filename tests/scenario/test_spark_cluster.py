"""Slots on the executors of a real standalone cluster."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from tests.support.engine_recorder import Recorder, until
from tests.support.engine_rig import RUNNER, EngineRig
from tests.support.processes import alive
from tests.support.spark_cluster import SparkCluster, spark_cluster

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

TTL = 4.0


class ClusterRig(EngineRig):
    """An engine with two slots on a cluster."""

    def __init__(self, cluster: SparkCluster) -> None:
        self.heard = Recorder()
        self.lease = float("inf")
        self.cluster = cluster
        properties = {**cluster.properties, "spark.executor.cores": "1", "spark.cores.max": "2"}
        settings = EngineSettings(slots=2, spark_conf=properties, lease_ttl=TTL, runner=RUNNER, stuck_after=1.0)
        self.engine = SparkEngine(settings, self.heard, lambda: self.lease)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClusterRig]:
    with spark_cluster(tmp_path_factory.mktemp("spark")) as cluster:
        rig = ClusterRig(cluster)
        await rig.engine.start()
        try:
            await rig.ready(180)
            yield rig
        finally:
            await rig.engine.close(1.0)


async def test_tasks_run_on_executors_and_report_to_the_worker(rig: ClusterRig) -> None:
    started = time.perf_counter()
    task = await rig.running("talker", behaviour="talk")
    await until(lambda: ("INFO", "plugin", "hello from a plugin", "[talker|task-0]") in rig.heard.lines)
    print(f"start on a remote slot: {time.perf_counter() - started:.3f} s")
    assert rig.cluster.executor_of(rig.slot_of(task).pid)
    stack = await rig.engine.stack(task, 5.0)
    assert stack is not None and "headrace-" in stack.stack and "/runtime/engine/slot/" in stack.stack
    assert await rig.engine.stop_task(task, 5.0)


async def test_tasks_of_a_killed_executor_wait_for_the_end_of_the_lease(rig: ClusterRig) -> None:
    first, second = await rig.pair("moving")
    slot = rig.slot_of(first)
    started = time.perf_counter()
    os.kill(rig.cluster.executor_of(slot.pid), signal.SIGKILL)
    await until(lambda: rig.heard.has_lost(first, 1), 60)
    waited = time.perf_counter() - started
    print(f"tasks of a killed executor are free after {waited:.2f} s (lease {TTL} s)")
    assert not alive(slot.pid)
    assert not rig.heard.has_lost(second, 1)
    await rig.running("moving-a", 2)
    await rig.ready(120)
