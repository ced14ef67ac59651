"""Requests between the workers of a group: task configs for the leader, settling, and answers of all workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import Conflict, HerderError, Unavailable
from runtime.herder.herder import Herder
from runtime.herder.internal_requests import InternalRequests
from runtime.herder.offsets.settling import GroupSettling
from runtime.kafka.errors import BrokerUnavailable, NotAuthorizedError
from runtime.model.states import State, TargetState, TaskId
from runtime.rest.forwarding.leader_client import LeaderClient
from runtime.rest.http.responses import json_response
from runtime.rest.internal import InternalHandlers
from runtime.rest.monitoring import all_lines
from runtime.rest.offsets import with_stalled
from runtime.rest.resource import Handler, Resource
from runtime.storage.configs import ConfigStore, StoredConnector
from runtime.storage.statuses import StatusRecord, StatusStore
from tests.support.herder.herder_rig import HerderRig
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.herder.scripted_group import info
from tests.support.herder.worker_rig import ServingWorker, serve_internal, worker_group
from tests.support.never_called import NEVER_CALLED

TASKS = [{"task.class": "T", "n": "0"}]


class Scripted:
    """Connectors that settle as the test says."""

    def __init__(self, settled: bool = True) -> None:
        self.answer = settled
        self.asked: list[tuple[str, float]] = []

    async def settled(self, name: str, within: float = 30.0) -> bool:
        self.asked.append((name, within))
        return self.answer


def settling(worker: ServingWorker, here: Scripted, statuses: StatusStore | None = None) -> GroupSettling:
    statuses = statuses or StatusStore(TestLogs(), topic("s"))
    return GroupSettling(cast(Connectors, here), statuses, worker.group, worker.peers, 0.5)


async def serve_settled(worker: ServingWorker, connectors: Scripted) -> None:
    requests = InternalRequests(cast(Herder, None), worker.configs, cast(Connectors, connectors), NEVER_CALLED)
    handlers = InternalHandlers(requests, worker.keys)
    await worker.serve([Route("/connectors/{name}/settled", Resource(post=handlers.settled))])


async def test_all_workers_are_asked_whether_a_connector_has_settled() -> None:
    async with worker_group(3) as workers:
        others = [Scripted(), Scripted()]
        for worker, connectors in zip(workers[1:], others, strict=True):
            await serve_settled(worker, connectors)
        assert await settling(workers[0], Scripted()).unsettled("a/b c") is None
        assert [one.asked for one in others] == [[("a/b c", 0.0)], [("a/b c", 0.0)]]
        others[1].answer = False
        reason = await settling(workers[0], Scripted()).unsettled("a")
        assert reason == f"tasks of connector a have not stopped yet on worker {workers[2].id}"
        reason = await settling(workers[0], Scripted(False)).unsettled("a")
        assert reason is not None
        assert reason.startswith("tasks of connector a have not stopped yet on this worker; tasks of")


async def test_a_worker_that_cannot_be_asked_is_named() -> None:
    async with worker_group(2) as workers:
        await workers[1].server.close()
        reason = await settling(workers[0], Scripted()).unsettled("a")
    assert reason is not None
    assert reason.startswith(f"it is unknown whether tasks of connector a have stopped on worker {workers[1].id}")


async def test_clients_cannot_ask_whether_a_connector_has_settled() -> None:
    async with worker_group(1) as workers:
        await serve_settled(workers[0], Scripted())
        assert (await workers[0].client.post("/connectors/a/settled?within=1")).status_code == 403


async def test_tasks_on_workers_of_another_implementation_have_ended_when_their_statuses_are_gone() -> None:
    statuses = StatusStore(TestLogs(), topic("s"))
    statuses.put_task(TaskId("a", 0), StatusRecord(State.RUNNING, None, "java:8083", 1))
    async with worker_group(1) as workers:
        known = workers[0].group.snapshot
        java = info("java:8083", implementation="connect")
        workers[0].group.snapshot = replace(known, workers=[*known.workers, java])
        waits = settling(workers[0], Scripted(), statuses)
        reason = await waits.unsettled("a")
        assert reason is not None
        assert "not stopped yet on java:8083" in reason
        asked = asyncio.create_task(waits.unsettled("a"))
        statuses.remove_task(TaskId("a", 0))
        assert await asked is None


@asynccontextmanager
async def leader_and_owner() -> AsyncIterator[tuple[HerderRig, ServingWorker, LeaderClient]]:
    """A leader with its herder, an owner, and the owner's client for the leader."""
    rig = HerderRig()
    async with worker_group(2) as (leader, owner):
        await serve_internal(leader, rig)
        yield rig, owner, LeaderClient(owner.group, owner.clients, owner.copies, owner.keys, owner.configs)
    await rig.close()


async def test_the_owner_sends_task_configs_to_the_leader() -> None:
    async with leader_and_owner() as (rig, _, client):
        await rig.create("a/b")
        await client.put_tasks(_stored(rig.configs, "a/b"), TASKS)
        stored = rig.configs.connector("a/b")
        assert stored is not None
        assert list(stored.tasks) == TASKS


async def test_task_configs_of_an_older_configuration_are_refused_by_the_leader() -> None:
    """The request was slow: meanwhile the connector has been deleted and created again."""
    async with leader_and_owner() as (rig, _, client):
        await rig.create("a")
        old = _stored(rig.configs, "a")
        await rig.configs.remove_connector("a")
        await rig.create("a", TargetState.PAUSED)
        with pytest.raises(HerderError, match="has changed since its task configs were generated"):
            await client.put_tasks(old, [{"of": "the deleted connector"}])
        assert {"of": "the deleted connector"} not in _stored(rig.configs, "a").tasks
        await client.put_tasks(_stored(rig.configs, "a"), TASKS)
        assert list(_stored(rig.configs, "a").tasks) == TASKS


def _stored(configs: ConfigStore, name: str) -> StoredConnector:
    stored = configs.connector(name)
    assert stored is not None
    return stored


_UNKNOWN = StoredConnector("nope", {}, TargetState.STARTED, (), revision=7)


async def test_task_configs_that_the_leader_refuses() -> None:
    async with leader_and_owner() as (rig, owner, client):
        with pytest.raises(HerderError, match="Connector nope not found"):
            await client.put_tasks(_UNKNOWN, TASKS)
        await rig.create("s", TargetState.STOPPED)
        with pytest.raises(HerderError, match="stopped connector s"):
            await client.put_tasks(_stored(rig.configs, "s"), TASKS)
        await owner.keys.rotate()  # a key that the leader does not know
        with pytest.raises(HerderError, match="invalid signature"):
            await client.put_tasks(_stored(rig.configs, "s"), TASKS)
        owner.group.snapshot = replace(owner.group.snapshot, leader="")
        with pytest.raises(Conflict, match="no known leader"):
            await client.put_tasks(_stored(rig.configs, "s"), TASKS)


async def test_the_owner_asks_the_leader_to_fence_earlier_tasks() -> None:
    async with leader_and_owner() as (rig, owner, client):
        await rig.create("a/b", tasks_max="2")
        await rig.until(lambda: len(rig.engine.started) == 2)
        await client.fence("a/b")
        assert rig.configs.fencing_counts == {"a/b": 2}
        await rig.configs.put_tasks("a/b", TASKS)
        rig.refuse_fencing = NotAuthorizedError("grant WRITE")
        with pytest.raises(HerderError, match="zombie fencing of connector a/b: grant WRITE") as final:
            await client.fence("a/b")
        assert final.value.status == 500
        rig.refuse_fencing = BrokerUnavailable("no answer")
        with pytest.raises(Unavailable, match="no answer"):
            await client.fence("a/b")
        with pytest.raises(Unavailable, match="Connector nope not found"):  # the leader has not read it yet
            await client.fence("nope")
        rig.group.leads = False
        with pytest.raises(Unavailable, match="409"):
            await client.fence("a/b")
        owner.group.snapshot = replace(owner.group.snapshot, leader="")
        with pytest.raises(Conflict, match="no known leader"):
            await client.fence("a/b")


async def test_the_leader_writes_its_own_task_configs_itself() -> None:
    async with worker_group(1) as (leader,):
        client = LeaderClient(leader.group, leader.clients, leader.copies, leader.keys, leader.configs)
        await leader.configs.put_connector("a", {"connector.class": "S"})
        await client.put_tasks(_stored(leader.configs, "a"), TASKS)
        stored = leader.configs.connector("a")
    assert stored is not None
    assert list(stored.tasks) == TASKS


async def test_without_a_session_key_nothing_is_sent() -> None:
    async with worker_group(2, key=False) as (_, owner):
        client = LeaderClient(owner.group, owner.clients, owner.copies, owner.keys, owner.configs)
        with pytest.raises(Unavailable, match="has not written a session key"):
            await client.put_tasks(_UNKNOWN, TASKS)


def collecting(worker: ServingWorker, here: Callable[[], Any]) -> list[Route]:
    """An endpoint that returns the answers of all workers."""

    async def found(r: Request) -> Response:
        others = await worker.peers.collect(r, "Lines")
        return json_response({"here": here(), "others": others} if others else here())

    handler: Handler = found
    return [Route("/found", Resource(get=handler))]


def line(time: int) -> dict[str, object]:
    return {"time": time, "level": "INFO", "task": None, "logger": "l", "message": "m"}


async def test_answers_of_all_workers_are_collected() -> None:
    async with worker_group(3) as workers:
        for number, worker in enumerate(workers[:2]):
            await worker.serve(collecting(worker, lambda number=number: [line(number)]))  # type: ignore[misc]  # bound now
        await workers[2].server.close()
        found = (await workers[0].client.get("/found")).json()
        assert found == {"here": [line(0)], "others": {workers[1].id: [line(1)], workers[2].id: None}}
        assert (await workers[1].client.get("/found?forward=false")).json() == [line(1)]


async def test_a_worker_that_does_not_answer_is_omitted() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with worker_group(2) as workers, await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        known = workers[0].group.snapshot
        workers[0].group.snapshot = replace(known, workers=[known.workers[0], replace(known.workers[1], url=url)])
        await workers[0].serve(collecting(workers[0], dict))
        async with asyncio.timeout(30):
            found = (await workers[0].client.get("/found")).json()
    assert found == {"here": {}, "others": {workers[1].id: None}}


def test_lines_of_all_workers_are_in_the_order_of_their_times() -> None:
    here = [{"time": 1, "message": "a"}, {"time": 4, "message": "d"}]
    elsewhere = {"w:1": [{"time": 2, "message": "b"}], "w:2": [{"time": 3, "message": "c"}]}
    assert [line["message"] for line in all_lines(here, elsewhere, 3)] == ["b", "c", "d"]
    assert all_lines(here, {}, 1) == [here[1]]
    *lines, note = all_lines(here, {"w:2": None, "w:1": []}, 10)
    assert lines == here
    assert (note["level"], note["message"]) == (
        "WARN",
        "Lines of w:2 are missing: no usable answer within the time limit",
    )


def test_stalled_tasks_of_all_workers() -> None:
    here = {"offsets": [], "stalled": [2], "expires_at": None}
    found = with_stalled(cast(Any, here), {"w:1": {"stalled": [0, 2]}, "w:2": None})
    assert found["stalled"] == [0, 2]
