"""Variables are resolved in all config keys that the herder itself reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from runtime.herder.errors import BadRequest, Conflict
from runtime.herder.monitoring.offset_views import OffsetViews
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.orphans import Orphans
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.model.states import State, TargetState, TaskId
from runtime.rest.app import application
from runtime.storage.journal import ChangeOrigin, OffsetJournal
from tests.support.herder_rig import HerderRig
from tests.support.memory_logs import topic

GROUP = "connect-elsewhere"
VARIABLE = "${env:HEADRACE_TEST_VALUE}"


class Rig(HerderRig):
    """With what answers requests about offsets."""

    def __init__(self) -> None:
        super().__init__()
        places = StoredOffsets(self.offsets, self.groups)  # type: ignore[arg-type]
        self.journal = OffsetJournal(self.logs, topic("j"))
        self.desk = OffsetRequests(self.herder, self.configs, self.fleet, self.host, places, self.journal)
        self.orphans = Orphans(
            self.herder, self.desk.changes, self.configs, self.store, places, self.groups, self.host  # type: ignore[arg-type]
        )  # fmt: skip
        self.places = places


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


async def test_a_sinks_group(rig: Rig) -> None:
    await _stopped_sink(rig)
    partition = {"kafka_partition": 0, "kafka_topic": "t"}
    assert await rig.desk.read("a") == {"offsets": [{"partition": partition, "offset": {"kafka_offset": 7}}]}
    await rig.desk.alter("a", [(partition, {"kafka_offset": 9})])
    assert rig.groups.offsets == {GROUP: {("t", 0): 9}, "connect-a": {("t", 0): 1}}


async def test_a_group_in_use_is_not_an_orphan(rig: Rig) -> None:
    await _stopped_sink(rig)
    assert [sink["group"] for sink in (await rig.orphans.find())["sinks"]] == ["connect-a"]
    with pytest.raises(Conflict):
        await rig.orphans.remove("elsewhere", GROUP, ChangeOrigin())
    assert GROUP in rig.groups.offsets


async def test_no_group_is_an_orphan_while_one_in_use_is_unknown(rig: Rig) -> None:
    await _stopped_sink(rig, **{"consumer.override.group.id": "${env:a:b}"})  # refused: such providers take no path
    with pytest.raises(Conflict, match="group of connector a is not known"):
        await rig.orphans.find()
    with pytest.raises(BadRequest, match="cannot be resolved"):
        await rig.desk.read("a")


async def test_the_group_whose_dead_members_are_evicted(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    members = rig.groups.members

    async def note(group: str) -> list[object]:
        asked.append(group)
        return await members(group)

    monkeypatch.setattr(rig.groups, "members", note)
    await rig.create("a", connector_class="Sink", topics="t", consumer_override_group_id=VARIABLE)
    await rig.until(lambda: rig.tasks("a") == {0: State.RUNNING})
    assert asked == [GROUP]
    assert rig.engine.running[TaskId("a", 0)].consumer["group.id"] == GROUP


async def test_the_topics_of_a_sink_in_time_travel(rig: Rig) -> None:
    read: list[bool] = []

    class Travel:
        async def resolve(self, committed: object, reads: object, wanted: object) -> dict[str, object]:
            assert callable(reads)
            read.extend(reads(name) for name in (GROUP, VARIABLE))
            return {}

    await _stopped_sink(rig, topics=VARIABLE)
    views: Any = object.__new__(OffsetViews)
    views._herder, views._desk, views._places, views._travel = rig.herder, rig.desk, rig.places, Travel()
    await views.resolve("a", {"to": "earliest"})
    assert read == [True, False]


async def test_a_sources_own_offset_topic(rig: Rig) -> None:
    assert rig.topic_of({"offsets.storage.topic": VARIABLE}) == GROUP
    assert rig.topic_of({"offsets.storage.topic": "${env:HEADRACE_TEST_WORKERS_TOPIC}"}) != ""


async def test_offsets_in_a_topic_that_cannot_be_resolved_are_a_400(rig: Rig) -> None:
    rig.offsets._stored_topic = lambda name: rig.topic_of(rig.herder.config(name))
    await rig.create("a", offsets_storage_topic="${env:a:b}")

    async def offsets(_: Request) -> Response:
        return JSONResponse(await rig.desk.read("a"))

    app = application([Route("/", offsets)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker") as client:
        answer = await client.get("/")
    assert answer.status_code == 400
    assert "Path is not supported for environment variables" in answer.json()["message"]


async def test_a_variable_that_is_refused_fails_the_tasks_once(rig: Rig) -> None:
    await rig.configs.put_tasks("a", [{"task.class": "T"}, {"task.class": "T"}])
    await rig.create("a", offsets_storage_topic="${env:a:b}")
    await rig.until(lambda: rig.tasks("a") == dict.fromkeys(range(2), State.FAILED))
    assert rig.state("a") is State.FAILED
    assert await rig.fleet.settled("a")
