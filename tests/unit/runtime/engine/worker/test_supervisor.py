"""Assignment of tasks to slots, without Spark."""

from __future__ import annotations

import asyncio

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from tests.support.engine_recorder import Recorder, slot_link, task_spec


async def test_a_task_paused_while_a_full_slot_refuses_it_starts_paused_on_the_next_slot() -> None:
    engine = SparkEngine(EngineSettings(slots=2), Recorder())
    full = slot_link()
    engine._roster.link_up(full)
    spec = task_spec("a")
    engine.start_task(spec)
    async with asyncio.timeout(5):
        while not full.tasks:  # noqa: ASYNC110 - no event for a placed task
            await asyncio.sleep(0.001)
    engine.pause_task(spec.id, True)
    task = full.tasks[spec.id, spec.epoch]
    engine._find_room(task, full, "it has no descriptors left")
    assert task.waiting and task.spec.paused
