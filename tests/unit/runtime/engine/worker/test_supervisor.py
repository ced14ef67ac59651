"""Assignment of tasks to slots, without Spark."""

from __future__ import annotations

import asyncio

import pytest

from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from tests.support.engine.engine_recorder import Recorder, slot_link, task_spec
from tests.support.waiting import until


async def test_a_task_paused_while_a_full_slot_refuses_it_starts_paused_on_the_next_slot() -> None:
    engine = SparkEngine(EngineSettings(slots=2), Recorder())
    full = slot_link()
    engine._roster.link_up(full)
    spec = task_spec("a")
    engine.start_task(spec)
    await until(lambda: full.tasks)
    engine.pause_task(spec.id, True)
    task = full.tasks[spec.id, spec.epoch]
    engine._find_room(task, full, "it has no descriptors left")
    assert task.waiting and task.spec.paused


async def test_a_task_elsewhere_is_neither_started_nor_stopped_before_its_former_run_is_harmless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = EngineSettings(slots=1, lease_ttl=5.0, spark_conf={"spark.master": "spark://elsewhere:7077"})
    engine, link = SparkEngine(settings, Recorder()), slot_link()

    async def no_archives(spec: object) -> dict[str, str]:
        return {}

    monkeypatch.setattr(engine._slots, "archives_of", no_archives)
    engine._roster.link_up(link)
    engine.start_task(task_spec("a"))
    await until(lambda: link.tasks)
    (first,) = link.tasks.values()
    for epoch in (2, 3):
        engine.start_task(task_spec("a", epoch))
        await asyncio.sleep(0.02)
        assert list(link.tasks.values()) == [first]
    stopping = asyncio.create_task(engine.stop_task(first.spec.id, 0.01))
    await asyncio.sleep(0.02)
    assert not stopping.done()
    first.harmless.set()
    assert await stopping
    assert list(link.tasks.values()) == [first]
