"""A state is answered when it is in the status topic, so that every worker answers the next request with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from runtime.model.states import State, TaskId
from tests.support.herder.herder_rig import HerderRig


@pytest.fixture
async def rig() -> AsyncIterator[HerderRig]:
    rig = HerderRig()
    await rig.run("a")
    yield rig
    await rig.close()


@pytest.mark.parametrize(
    "request_of",
    [
        lambda rig: rig.herder.status("a"),
        lambda rig: rig.herder.task_status("a", 0),
        lambda rig: rig.herder.topics("a"),
    ],
)
async def test_a_status_request_waits_for_reports_under_way(
    rig: HerderRig, request_of: Callable[[HerderRig], Awaitable[object]]
) -> None:
    log = rig.logs.by_topic["s"]
    log.held = b"a"
    rig.board.task(TaskId("a", 0), State.PAUSED, None)
    rig.board.topic(TaskId("a", 0), "t")
    waiting = asyncio.ensure_future(request_of(rig))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    log.may_go.set()
    await waiting


async def test_without_kafka_the_worker_answers_what_it_knows(rig: HerderRig) -> None:
    rig.logs.by_topic["s"].held = b"a"
    rig.board.task(TaskId("a", 0), State.UNASSIGNED, None)
    assert (await rig.herder.task_status("a", 0))["state"] == "UNASSIGNED"
