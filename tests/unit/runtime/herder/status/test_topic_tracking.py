"""`topic.tracking.enable` and `topic.tracking.allow.reset` (KIP-558)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from runtime.herder.errors import Forbidden
from runtime.model.states import TaskId
from tests.support.herder.herder_rig import HerderRig


@asynccontextmanager
async def running(properties: dict[str, str]) -> AsyncIterator[HerderRig]:
    """The connector a with a task that has used the topic t."""
    rig = HerderRig(None, **{key.replace(".", "_"): value for key, value in properties.items()})
    await rig.run("a")
    rig.board.topic(TaskId("a", 0), "t")
    yield rig
    await rig.close()


async def test_used_topics_are_recorded_and_reset() -> None:
    async with running({}) as rig:
        assert rig.engine.running[TaskId("a", 0)].track_topics
        assert await rig.herder.topics("a") == {"a": {"topics": ["t"]}}
        await rig.herder.reset_topics("a")
        assert await rig.herder.topics("a") == {"a": {"topics": []}}
        assert rig.engine.topics_reset == ["a"], "its tasks report their topics again"


async def test_without_tracking_tasks_report_no_topic_and_requests_are_refused() -> None:
    async with running({"topic.tracking.enable": "false"}) as rig:
        assert not rig.engine.running[TaskId("a", 0)].track_topics
        for request in (rig.herder.topics, rig.herder.reset_topics):
            with pytest.raises(Forbidden, match="Topic tracking is disabled"):
                await request("a")


async def test_a_reset_may_be_forbidden() -> None:
    async with running({"topic.tracking.allow.reset": "false"}) as rig:
        with pytest.raises(Forbidden, match="Topic tracking reset is disabled"):
            await rig.herder.reset_topics("a")
        assert await rig.herder.topics("a") == {"a": {"topics": ["t"]}}
