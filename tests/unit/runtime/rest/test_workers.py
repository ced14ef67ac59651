"""GET /workers, and cordon, uncordon and drain, at a leader, at a follower and at a standalone worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import runtime
from runtime.engine.port import SlotInfo
from runtime.herder.errors import Conflict, Unavailable
from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import Group, GroupSnapshot, SoleWorker, WorkerState
from runtime.herder.group.workers import Cordons, Workers
from runtime.rest.app import application
from runtime.rest.http.responses import error, json_response
from runtime.rest.openapi.schemas import SCHEMAS
from runtime.rest.resource import Handler, Resource
from runtime.rest.routes import routes
from runtime.rest.security.access import Role
from runtime.rest.workers import GroupHandlers
from runtime.storage.configs import ConfigStore
from runtime.storage.documents import Documents
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.herder.scripted_group import ScriptedGroup, info
from tests.support.never_called import NEVER_CALLED

A, B, C = "a:8083", "b:8083", "c:8083"
SLOTS = (SlotInfo(0, 1, 10, (), 100), SlotInfo(1, 1, 11, (), 200, 40, 30))
GROUP = GroupSnapshot(
    "connect-cluster",
    7,
    A,
    [
        info(B, ("lines", 0), version="0.1.0", slots=2, load=0.256),
        info(A, ("lines", -1), ("lines", 1), load=0.5, load_at=12.0),
    ],
    {Unit("waits", -1): 12.5},
)


def unguarded(handler: Handler) -> Handler:
    return handler


class Rig:
    """The routes of one worker, and the records that they write."""

    def __init__(self, group: Group, leader: Callable[[Handler], Handler]) -> None:
        logs = TestLogs()
        self.documents, self.configs = Documents(logs, topic("j")), ConfigStore(logs, topic("c"))
        self.cordons = Cordons(self.documents)
        workers = Workers(group, self.cordons, self.configs, 3, lambda: 1.5, lambda: 20.0, lambda: SLOTS, lambda: [2])
        handlers = GroupHandlers(workers, leader)
        app = application(
            [
                Route("/workers", Resource(get=handlers.view)),
                Route("/workers/{worker_id}/cordon", Resource(put=leader(handlers.cordon))),
                Route("/workers/{worker_id}/uncordon", Resource(put=leader(handlers.uncordon))),
                Route("/workers/{worker_id}/drain", Resource(put=leader(handlers.drain))),
            ]
        )
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker")

    async def put(self, path: str) -> tuple[int, str]:
        answer = await self.client.put(f"/workers/{path}", headers={"Headrace-User": "ann"})
        return answer.status_code, answer.json()["message"] if answer.content else ""


def _stores() -> tuple[Cordons, ConfigStore]:
    logs = TestLogs()
    return Cordons(Documents(logs, topic("j"))), ConfigStore(logs, topic("c"))


@asynccontextmanager
async def worker(group: Group, leader: Callable[[Handler], Handler] = unguarded) -> AsyncIterator[Rig]:
    rig = Rig(group, leader)
    async with rig.client:
        yield rig


def as_seen_by(worker_id: str, snapshot: GroupSnapshot = GROUP) -> ScriptedGroup:
    return ScriptedGroup(worker_id, snapshot)


async def test_the_group_is_listed_with_leader_units_and_waiting_units() -> None:
    async with worker(as_seen_by(B)) as rig:
        found = (await rig.client.get("/workers")).json()
    a, b = found.pop("workers")
    assert found == {
        "group_id": "connect-cluster",
        "generation": 7,
        "leader": A,
        "rebalancing": False,
        "waiting": [{"connector": "waits", "task": -1, "until": 12500}],
    }
    assert (a["worker_id"], a["leader"], a["here"], a["connectors"], a["tasks"]) == (
        A, True, False, ["lines"], [{"connector": "lines", "task": 1}],
    )  # fmt: skip
    assert b == {
        "worker_id": B,
        "url": "http://b:8083/",
        "leader": False,
        "here": True,
        "implementation": "headrace",
        "version": "0.1.0",
        "slots": 2,
        "slots_without_core": [2],
        "load": 1.5,
        "load_at": 20_000,
        "memory": 300,
        "java_memory": 40,
        "state": "ACTIVE",
        "connectors": [],
        "tasks": [{"connector": "lines", "task": 0}],
    }
    assert (a["load"], a["load_at"]) == (0.5, 12_000), "as of the last rebalance"
    assert (a["memory"], a["java_memory"], a["slots_without_core"]) == (None, None, None)
    assert list(SCHEMAS["Workers"]["properties"]["workers"]["items"]["properties"]) == list(b)


def at_leader(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Handler], Handler]:
    """Requests for the leader get this answer."""
    return lambda handler: answer


async def test_a_follower_returns_the_view_of_the_leader_as_seen_from_itself() -> None:
    snapshot = replace(GROUP, rebalancing=True)
    leader = Workers(as_seen_by(A, snapshot), *_stores(), 3, lambda: 0.75, lambda: 19.0)

    async def answer(_: Request) -> Response:
        return json_response(leader.view())

    async with worker(as_seen_by(B), at_leader(answer)) as rig:
        found = (await rig.client.get("/workers")).json()
        own = (await rig.client.get("/workers?forward=false")).json()
    assert found["rebalancing"] and not own["rebalancing"]
    assert [(w["worker_id"], w["here"]) for w in found["workers"]] == [(A, False), (B, True)]
    assert [(w["load"], w["load_at"]) for w in found["workers"]] == [(0.75, 19_000), (1.5, 20_000)], "present loads"


async def refuse(_: Request) -> Response:
    raise Conflict("no known leader")


async def be_away(_: Request) -> Response:
    raise Unavailable("no answer")


async def fail(_: Request) -> Response:
    return error(500, "failed")


async def hang(_: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("answer", [refuse, be_away, fail, hang])
async def test_a_follower_without_an_answer_of_the_leader_returns_its_own_view(
    answer: Callable[[Request], Awaitable[Response]],
) -> None:
    async with worker(as_seen_by(B), at_leader(answer)) as rig:
        found = await rig.client.get("/workers")
    assert found.status_code == 200 and found.json()["generation"] == 7


async def test_the_leader_stores_a_state_and_requests_a_rebalance() -> None:
    group = as_seen_by(A)
    async with worker(group) as rig:
        assert await rig.put(f"{B}/cordon") == (202, "")
        stored = rig.documents.get(f"worker:{B}") or {}
        assert (stored["state"], stored["who"]) == ("CORDONED", "ann@127.0.0.1")
        assert [w["state"] for w in (await rig.client.get("/workers")).json()["workers"]] == ["ACTIVE", "CORDONED"]
        assert await rig.put(f"{B}/drain") == (202, "")
        assert rig.cordons.states() == {B: WorkerState.DRAINING}
        assert await rig.put(f"{B}/uncordon") == (202, "")
        assert rig.cordons.states() == {} and group.rejoins == 3


@pytest.mark.parametrize("change", ["cordon", "uncordon", "drain"])
async def test_refused_changes_write_nothing(change: str) -> None:
    async with worker(group := as_seen_by(A)) as rig:
        status, message = await rig.put(f"{C}/{change}")
        assert (status, message) == (404, f"Worker {C} is not in the group; its workers are {A}, {B}")
        assert rig.cordons.states() == {} and not group.rejoins
    async with worker(follower := as_seen_by(B)) as rig:
        status, message = await rig.put(f"{A}/{change}")
        assert status == 409 and message.startswith("Cannot complete request because of a conflicting operation")
        assert rig.cordons.states() == {} and not follower.rejoins
    async with worker(SoleWorker(A)) as rig:
        status, message = await rig.put(f"{A}/{change}")
        assert status == 409 and message.startswith("This worker is standalone")


@pytest.mark.parametrize("other", [None, "cordon", "drain"])
async def test_a_worker_without_another_to_take_its_work_is_not_drained(other: str | None) -> None:
    alone = GroupSnapshot("g", 1, A, [info(A)])
    async with worker(as_seen_by(A, GROUP if other else alone)) as rig:
        if other:
            assert (await rig.put(f"{B}/{other}"))[0] == 202
        status, message = await rig.put(f"{A}/drain")
        reason = {None: "there is no other worker", "cordon": f"{B} is CORDONED", "drain": f"{B} is DRAINING"}[other]
        assert status == 409
        assert message == (f"Worker {A} cannot be drained: no other worker accepts its connectors and tasks ({reason})")
        assert A not in rig.cordons.states()
        assert await rig.put(f"{A}/cordon") == (202, "")


async def test_a_cordoned_worker_that_has_left_can_be_uncordoned() -> None:
    async with worker(as_seen_by(A)) as rig:
        await rig.cordons.put(C, WorkerState.CORDONED, "")
        assert await rig.put(f"{C}/uncordon") == (202, "")
        assert rig.cordons.states() == {}


async def test_a_foreign_worker_is_listed_as_foreign_and_prevents_a_drain() -> None:
    foreign = info(B, implementation="connect", state=WorkerState.FOREIGN)
    async with worker(as_seen_by(A, GroupSnapshot("g", 1, A, [info(A), foreign]))) as rig:
        states = [w["state"] for w in (await rig.client.get("/workers")).json()["workers"]]
        assert states == ["ACTIVE", "FOREIGN"]
        assert (await rig.put(f"{A}/drain"))[0] == 409


async def test_a_standalone_worker_lists_itself_with_all_its_work() -> None:
    async with worker(SoleWorker(A)) as rig:
        await rig.configs.put_connector("lines", {"name": "lines"})
        await rig.configs.put_tasks("lines", [{}, {}])
        found = (await rig.client.get("/workers")).json()
    (one,) = found["workers"]
    assert found["group_id"] == "" and one["leader"] and one["here"]
    assert (one["version"], one["slots"], one["connectors"]) == (runtime.__version__, 3, ["lines"])
    assert [task["task"] for task in one["tasks"]] == [0, 1]


def test_changes_need_the_role_operate() -> None:
    of_workers = [route for route in routes(NEVER_CALLED) if route.path.startswith("/workers")]
    assert len(of_workers) == 4
    for route in of_workers:
        resource = route.endpoint
        assert isinstance(resource, Resource)
        assert resource.needs("PUT" if "{" in route.path else "GET") is (
            Role.OPERATE if "{" in route.path else Role.READ
        )
