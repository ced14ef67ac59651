"""Variables are resolved in all config keys that the herder itself reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Any, cast

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from runtime.herder.errors import BadRequest, Conflict
from runtime.herder.monitoring.offset_views import OffsetViews
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.orphans import Orphans
from runtime.herder.offsets.seek import Edge, SeekTarget
from runtime.kafka.clients.kafka_python import TopicPartition
from runtime.kafka.positions import Positions
from runtime.model.states import State, TargetState, TaskId
from runtime.rest.app import application
from runtime.storage.journal import ChangeOrigin
from tests.support.herder.herder_rig import HerderRig

GROUP = "connect-elsewhere"
VARIABLE = "${env:HEADRACE_TEST_VALUE}"


class Rig(HerderRig):
    """A herder with the parts that answer requests about offsets."""

    def __init__(self) -> None:
        super().__init__()
        self.offset_requests = OffsetRequests(
            self.herder, self.configs, self.settling, self.host, self.stored_offsets, self.changes
        )
        self.orphans = Orphans(
            self.herder, self.changes, self.configs, self.store, self.stored_offsets, self.groups, self.host  # type: ignore[arg-type]
        )  # fmt: skip


@pytest.fixture
async def rig(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    monkeypatch.setenv("HEADRACE_TEST_VALUE", GROUP)
    rig = Rig()
    yield rig
    await rig.close()


async def _stopped_sink(rig: Rig, **more: str) -> None:
    rig.groups.offsets = {GROUP: {("t", 0): 7}, "connect-a": {("t", 0): 1}}
    config = {"connector.class": "Sink", "name": "a", "topics": "t", "consumer.override.group.id": VARIABLE, **more}
    await rig.configs.put_connector("a", config, TargetState.STOPPED)
    await rig.until(lambda: rig.state("a") is State.STOPPED)


async def test_offsets_are_read_and_altered_in_the_resolved_group(rig: Rig) -> None:
    await _stopped_sink(rig)
    partition = {"kafka_partition": 0, "kafka_topic": "t"}
    assert await rig.offset_requests.read("a") == {"offsets": [{"partition": partition, "offset": {"kafka_offset": 7}}]}
    await rig.offset_requests.alter("a", [(partition, {"kafka_offset": 9})])
    assert rig.groups.offsets == {GROUP: {("t", 0): 9}, "connect-a": {("t", 0): 1}}


async def test_a_group_in_use_is_not_an_orphan(rig: Rig) -> None:
    await _stopped_sink(rig)
    assert [sink["group"] for sink in (await rig.orphans.find())["sinks"]] == ["connect-a"]
    with pytest.raises(Conflict):
        await rig.orphans.remove("elsewhere", GROUP, ChangeOrigin())
    assert GROUP in rig.groups.offsets


async def test_no_group_is_orphaned_while_a_group_in_use_is_unknown(rig: Rig) -> None:
    await _stopped_sink(rig, **{"consumer.override.group.id": "${env:a:b}"})  # refused: these providers accept no path
    with pytest.raises(Conflict, match="group of connector a cannot be determined"):
        await rig.orphans.find()
    with pytest.raises(BadRequest, match="cannot be resolved"):
        await rig.offset_requests.read("a")


async def test_dead_members_are_evicted_from_the_resolved_group(rig: Rig) -> None:
    await rig.run("a", connector_class="Sink", topics="t", consumer_override_group_id=VARIABLE)
    assert rig.groups.described == [GROUP]
    assert rig.engine.running[TaskId("a", 0)].consumer["group.id"] == GROUP


class _Topics:
    """The topics GROUP and VARIABLE, each with five records."""

    async def partitions(self) -> dict[str, list[int]]:
        return {GROUP: [0], VARIABLE: [0]}

    async def beginnings(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    async def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 5)


async def test_a_seek_uses_the_resolved_topics(rig: Rig) -> None:
    rig.positions = cast(Positions, _Topics())
    await _stopped_sink(rig, topics=VARIABLE)
    unused: Any = None
    views = OffsetViews(
        rig.herder, rig.offset_requests, rig.stored_offsets, rig.journal, unused, rig.clusters, unused, unused
    )
    del rig.groups.offsets[GROUP]
    offsets = (await views.resolve("a", [SeekTarget(Edge(end=True))]))["offsets"]
    at = {"kafka_partition": 0, "kafka_topic": GROUP}
    assert offsets == [{"partition": at, "offset": {"kafka_offset": 5}}]


async def test_the_offset_topic_of_a_source_is_resolved(rig: Rig) -> None:
    assert rig.topic_of({"offsets.storage.topic": VARIABLE}) == GROUP
    assert rig.topic_of({"offsets.storage.topic": "${env:HEADRACE_TEST_WORKERS_TOPIC}"}) != ""


async def test_offsets_in_a_topic_that_cannot_be_resolved_are_refused_with_400(rig: Rig) -> None:
    rig.offsets._stored = rig.herder.config
    await rig.create("a", offsets_storage_topic="${env:a:b}")

    async def offsets(_: Request) -> Response:
        return JSONResponse(await rig.offset_requests.read("a"))

    app = application([Route("/", offsets)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker") as client:
        answer = await client.get("/")
    assert answer.status_code == 400
    assert "Path is not supported for environment variables" in answer.json()["message"]


async def test_a_variable_that_is_refused_fails_the_tasks_once(rig: Rig) -> None:
    await rig.create("a", offsets_storage_topic="${env:a:b}")
    await rig.configs.put_tasks("a", [{"task.class": "T"}, {"task.class": "T"}])
    await rig.until(lambda: rig.tasks("a") == dict.fromkeys(range(2), State.FAILED))
    assert rig.state("a") is State.FAILED
    assert await rig.connectors.settled("a")
