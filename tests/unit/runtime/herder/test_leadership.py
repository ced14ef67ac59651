"""Changes by a worker that has just been replaced as the leader."""

from __future__ import annotations

import asyncio

import pytest

from runtime.herder.errors import Conflict
from runtime.model.states import TargetState
from tests.support.herder.herder_rig import HerderRig


async def test_a_request_writes_nothing_after_the_leadership_is_lost() -> None:
    rig = HerderRig()
    await rig.create("a")
    await rig.until(lambda: bool(rig.tasks("a")))
    log = rig.logs.by_topic["c"]
    log.held = b"commit-a"
    stopping = asyncio.create_task(rig.herder.stop("a"))
    async with asyncio.timeout(30):
        await log.holding.wait()
    rig.group.leads = False
    log.may_go.set()
    with pytest.raises(Conflict):
        await stopping
    assert rig.herder.stored("a").target is TargetState.STARTED
    with pytest.raises(Conflict):
        await rig.configs.put_connector("a", {})
    await rig.configs.put_logger_level("root", "INFO")  # written by any worker
    rig.group.leads = True
    await rig.close()
