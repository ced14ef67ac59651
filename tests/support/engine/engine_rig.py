"""An engine on real Spark, with the reports that it makes."""

from __future__ import annotations

from pathlib import Path

from runtime.engine.port import SlotInfo
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from runtime.model.states import State, TaskId
from tests.support.engine.engine_recorder import Recorder, task_spec
from tests.support.waiting import until

ROOT = Path(__file__).parents[3]
RUNNER = "tests.support.engine.scripted_task_runner:ScriptedRunner"
TTL = 3.0
LARGE = 350 << 20


class EngineRig:
    """An engine of two slots, its reports, and a lease that tests can withhold."""

    def __init__(self) -> None:
        self.heard = Recorder()
        self.lease = float("inf")
        settings = EngineSettings(
            slots=2, lease_ttl=TTL, runner=RUNNER, archive=False, stuck_after=1.0, slot_memory=LARGE
        )
        self.engine = SparkEngine(settings, self.heard, lambda: self.lease)

    async def ready(self, within: float = 60.0) -> None:
        await until(lambda: len([slot for slot in self.engine.slots if slot.slot < 2]) == 2, within)

    async def running(self, name: str, epoch: int = 1, **config: str) -> TaskId:
        spec = task_spec(name, epoch, **config)
        self.engine.start_task(spec)
        await until(lambda: self.heard.has(spec.id, epoch, State.RUNNING))
        return spec.id

    def slot_of(self, task: TaskId) -> SlotInfo:
        return next(slot for slot in self.engine.slots if task in slot.tasks)

    async def pair(self, name: str) -> tuple[TaskId, TaskId]:
        """Two running tasks on different slots."""
        first, second = await self.running(f"{name}-a"), await self.running(f"{name}-b")
        assert self.slot_of(first).slot != self.slot_of(second).slot
        return first, second
