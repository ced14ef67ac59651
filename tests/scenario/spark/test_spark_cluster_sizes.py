"""Dynamic allocation on a real standalone cluster: dedicated slots get executors of their size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from runtime.model.executor_size import ExecutorSize
from runtime.model.states import State
from tests.support.engine.engine_recorder import Recorder, task_spec
from tests.support.engine.engine_rig import RUNNER, EngineRig
from tests.support.engine.spark_cluster import SparkCluster
from tests.support.processes import command_line
from tests.support.waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.soak, pytest.mark.timeout(600)]

DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.executor.cores": "1",
}


class DynamicRig(EngineRig):
    """An engine with one slot, whose executors Spark starts as slots need them."""

    def __init__(self, cluster: SparkCluster) -> None:
        self.heard, self.lease, self.cluster = Recorder(), float("inf"), cluster
        settings = EngineSettings(slots=1, spark_conf={**cluster.properties, **DYNAMIC}, runner=RUNNER)
        self.engine = SparkEngine(settings, self.heard, lambda: self.lease)


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[DynamicRig]:
    with SparkCluster(tmp_path / "spark").started() as cluster:
        rig = DynamicRig(cluster)
        await rig.engine.start()
        try:
            yield rig
        finally:
            await rig.engine.close(1.0)


async def test_a_dedicated_slot_gets_an_executor_of_its_size_and_returns_it(rig: DynamicRig) -> None:
    await until(lambda: rig.engine.has_slots, 240)
    shared = await rig.running("shared")
    spec = replace(task_spec("large"), dedicated=True, executor=ExecutorSize(220, 2))
    rig.engine.start_task(spec)
    await until(lambda: rig.heard.has(spec.id, spec.epoch, State.RUNNING), 240)
    usual, large = (command_line(rig.cluster.executor_of(rig.slot_of(task).pid)) for task in (shared, spec.id))
    assert "-Xmx480M" in usual and "--cores 1" in usual
    assert "-Xmx700M" in large and "--cores 2" in large
    assert await rig.engine.stop_task(spec.id, 5.0)
    await until(lambda: len(rig.engine.slots) == 1, 120)
    await until(lambda: len(rig.cluster.executors()) == 1, 240)
