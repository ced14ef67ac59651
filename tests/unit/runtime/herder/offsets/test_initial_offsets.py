"""Connectors that are created with offsets (KIP-995)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.model.states import TaskId
from tests.support.herder.herder_rig import HerderRig

CONFIG = {"name": "a", "connector.class": "Source", "tasks.max": "1"}


async def test_tasks_of_a_deleted_connector_stop_before_initial_offsets_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = HerderRig()
    requests = OffsetRequests(
        rig.herder, rig.configs, rig.settling, rig.host, rig.stored_offsets, rig.changes
    )  # fmt: skip
    stopping, may_stop = asyncio.Event(), asyncio.Event()

    async def stop_slowly(task: TaskId) -> None:
        stopping.set()
        await may_stop.wait()
        await rig.store.alter("a", [({"p": 1}, {"n": 99})])  # the last commit of the deleted connector's task

    async def validated(name: str, config: Mapping[str, str | None]) -> dict[str, str]:
        return dict(CONFIG)

    rig.engine.on_stop = stop_slowly
    monkeypatch.setattr(rig.herder, "validated", validated)
    await rig.run("a")
    await rig.herder.delete("a")
    await stopping.wait()
    creating = asyncio.create_task(requests.create("a", dict(CONFIG), None, [({"p": 1}, {"n": 5})]))
    await asyncio.sleep(0.05)
    may_stop.set()
    await creating
    await rig.until(lambda: len(rig.engine.started) == 2)
    assert [known.offset for known in rig.engine.running[TaskId("a", 0)].offsets] == [{"n": 5}]
    await rig.close()
