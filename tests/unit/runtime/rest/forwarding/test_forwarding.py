"""Forwarding between workers that serve real HTTP: the worker that answers, the forwarded parts, and failures."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.config.listeners import https_settings
from runtime.herder.errors import NOT_HERE, BadRequest, NotFound
from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import GroupSnapshot
from runtime.rest.forwarding.forwarding import NO_LEADER
from runtime.rest.http.parameters import path_name
from runtime.rest.http.receiving import read
from runtime.rest.http.responses import json_response
from runtime.rest.offsets import origin
from runtime.rest.resource import Resource
from runtime.rest.security.access import PRINCIPAL, ROLE
from runtime.rest.security.jaas import MODULE
from runtime.rest.security.security import BASIC_AUTH
from runtime.rest.security.tls import client_context
from tests.support.herder.worker_rig import ServingWorker, new_worker, worker_group
from tests.support.servers.certificates import make_stores


def routes(worker: ServingWorker, answer: Callable[[Request], Response] | None = None) -> list[Route]:
    """A path for the leader and one for the owner; each answers with what it has received."""

    async def here(r: Request) -> Response:
        body = await read(r)
        if answer is not None:
            return answer(r)
        location = {"Location": f"{r.url.scheme}://{r.url.netloc}/at/leader"}
        return json_response({
            "worker": worker.id, "target": r.scope["raw_path"].decode(), "query": r.scope["query_string"].decode(),
            "body": body.decode(), "accept": r.headers.get("accept"), "who": origin(r).who, "why": origin(r).why,
            "user": r.scope.get(PRINCIPAL), "role": r.scope[ROLE].name if ROLE in r.scope else None,
        }, 201, location)  # fmt: skip

    async def to_leader(r: Request) -> Response:
        return await worker.forwarding.at_leader(r, here)

    async def to_owner(r: Request) -> Response:
        return await worker.forwarding.at_owner(r, Unit(path_name(r), -1), known, here)

    return [
        Route("/leader/{name}", Resource(get=to_leader, post=to_leader, delete=to_leader)),
        Route("/owner/{name}", Resource(post=to_owner)),
    ]


def known(unit: Unit) -> None:
    if unit.connector not in ("a", "waiting"):
        raise NotFound(f"Unknown connector: {unit.connector}")


async def serve(workers: list[ServingWorker]) -> None:
    for worker in workers:
        await worker.serve(routes(worker))


async def test_the_leader_gets_the_request_as_it_was_sent() -> None:
    async with worker_group(2) as workers:
        await serve(workers)
        leader, follower = workers
        reason = (b"Headrace-Reason", "für Ann".encode())
        sent = [(b"Content-Type", b"application/json"), (b"Accept", b"application/json"), reason]
        answer = await follower.client.request(
            "POST", "/leader/a%2Fb%20c?x=1&forward=&y=%2F", content=b'{"a":1}', headers=sent
        )
        found = answer.json()
    assert answer.status_code == 201
    assert found["worker"] == leader.id
    assert (found["target"], found["query"]) == ("/leader/a%2Fb%20c", "x=1&y=%2F&forward=true")
    assert (found["body"], found["accept"], found["why"]) == ('{"a":1}', "application/json", "für Ann")
    assert answer.headers["location"] == f"{follower.url}at/leader"
    assert answer.headers["content-type"] == "application/json"
    assert (leader.reads, follower.reads) == (0, 1), "the follower reads the change before it answers"


async def test_the_leader_answers_its_own_requests_itself() -> None:
    async with worker_group(2) as workers:
        await serve(workers)
        for forward in ("", "?forward=true", "?forward=false"):
            assert (await workers[0].client.post(f"/leader/a{forward}")).json()["worker"] == workers[0].id


@pytest.mark.parametrize("first", [0, 1, 2])
async def test_requests_reach_the_owner_from_any_worker(first: int) -> None:
    async with worker_group(3) as workers:
        await serve(workers)
        found = (await workers[first].client.post("/owner/a")).json()
    hops = {0: "forward=true", 1: "forward=false", 2: ""}
    assert (found["worker"], found["query"]) == (workers[2].id, hops[first])


async def test_wrong_workers_refuse_after_the_last_hop() -> None:
    async with worker_group(3) as workers:
        await serve(workers)
        for path in ("leader", "owner"):
            refused = await workers[1].client.post(f"/{path}/a?forward=false")
            assert (refused.status_code, refused.json()["message"]) == (409, NOT_HERE)
        workers[0].group.snapshot = replace(workers[0].group.snapshot, leader=workers[2].id)  # workers disagree
        refused = await workers[1].client.post("/leader/a")
        assert refused.status_code == 409
        assert refused.json()["message"] == NOT_HERE


async def test_without_a_known_leader_or_owner_clients_try_again() -> None:
    async with worker_group(2) as workers:
        await serve(workers)
        unowned = await workers[1].client.post("/owner/waiting")
        assert (unowned.status_code, unowned.json()["message"]) == (409, NO_LEADER)
        unknown = await workers[1].client.post("/owner/nope")
        assert (unknown.status_code, unknown.json()["message"]) == (404, "Unknown connector: nope")
        workers[1].group.snapshot = GroupSnapshot("g", 2)
        refused = await workers[1].client.post("/leader/a")
        assert (refused.status_code, refused.json()["message"]) == (409, NO_LEADER)
        workers[1].group.cannot_lead = "grant WRITE on transactional id t"  # elected, but not the leader
        refused = await workers[1].client.post("/leader/a")
        assert (refused.status_code, refused.json()["message"]) == (503, "grant WRITE on transactional id t")


@pytest.mark.parametrize("path", ["leader", "owner"])
async def test_a_request_waits_once_for_a_leader(path: str) -> None:
    async with worker_group(2, rebalance_time=3.0) as workers:
        await serve(workers)
        workers[1].group.snapshot = GroupSnapshot()
        started = time.monotonic()
        refused = await workers[1].client.post(f"/{path}/a")
        waited = time.monotonic() - started
    assert (refused.status_code, refused.json()["message"]) == (409, NO_LEADER)
    assert waited < 5.9, "two waits of three seconds"


async def test_a_request_waits_for_the_end_of_a_rebalance() -> None:
    """Its worker may become the leader, or learn of another one."""
    async with worker_group(2, rebalance_time=30.0) as workers:
        await serve(workers)
        before = workers[1].group.snapshot
        for leader in workers:
            workers[1].group.snapshot = GroupSnapshot("g", 1, rebalancing=True)
            asked = asyncio.create_task(workers[1].client.post("/leader/a", json={"a": 1}))
            await asyncio.sleep(0.3)
            assert not asked.done()
            workers[1].group.snapshot = replace(before, leader=leader.id)
            found = (await asked).json()
            assert (found["worker"], found["body"]) == (leader.id, '{"a":1}')


async def test_a_worker_outside_its_group_asks_the_last_leader() -> None:
    async with worker_group(2) as workers:
        await serve(workers)
        leader, former = workers
        former.group.snapshot, former.group.last_leader_url = GroupSnapshot("g", 1), leader.url
        assert (await former.client.post("/leader/a")).json()["worker"] == leader.id
        leader.group.snapshot = GroupSnapshot("g", 1)
        refused = await former.client.post("/leader/a")
        assert (refused.status_code, refused.json()["message"]) == (409, NO_LEADER)


async def test_a_request_waits_for_the_owner_during_a_rebalance() -> None:
    async with worker_group(2, rebalance_time=30.0) as workers:
        await serve(workers)
        leader, owner = workers
        before = leader.group.snapshot
        leader.group.snapshot = replace(
            before, rebalancing=True, workers=[replace(w, units=frozenset()) for w in before.workers]
        )
        asked = asyncio.create_task(leader.client.post("/owner/a"))
        assert (await leader.client.post("/owner/nope")).status_code == 404
        assert not asked.done()
        leader.group.snapshot = before
        assert (await asked).json()["worker"] == owner.id


async def test_errors_of_the_leader_are_returned_unchanged() -> None:
    def refuse(_: Request) -> Response:
        raise BadRequest("refused by the leader")

    async with worker_group(2) as (leader, follower):
        await leader.serve(routes(leader, refuse))
        await follower.serve(routes(follower))
        refused = await follower.client.post("/leader/a")
        assert (refused.status_code, refused.json()) == (400, {"error_code": 400, "message": "refused by the leader"})
        assert follower.reads == 0


async def test_a_leader_that_cannot_be_reached_is_named_with_the_remedy() -> None:
    async with worker_group(2) as (leader, follower):
        await follower.serve(routes(follower))
        await leader.server.close()
        refused = await follower.client.post("/leader/a")
    assert refused.status_code == 409
    assert refused.json()["message"].startswith(f"The leader, worker {leader.id} cannot be reached at {leader.url}: ")
    assert "Nothing was changed" in refused.json()["message"]
    assert "rest.advertised.host.name" in refused.json()["message"]


async def test_a_request_waits_for_the_next_leader() -> None:
    async with worker_group(3) as (first, second, follower):
        await second.serve(routes(second))
        await follower.serve(routes(follower))
        await first.server.close()
        asked = asyncio.create_task(follower.client.post("/leader/a"))
        await asyncio.sleep(0.1)
        assert not asked.done()
        for worker in (second, follower):
            worker.group.snapshot = replace(worker.group.snapshot, leader=second.id)
        assert (await asked).json()["worker"] == second.id


@pytest.mark.parametrize("path", ["/leader/a", "/owner/a"])
async def test_a_worker_that_becomes_the_leader_carries_out_the_request_that_it_could_not_forward(path: str) -> None:
    """Its body has been read for the attempt to forward it."""
    async with worker_group(2, rebalance_time=30.0) as (former, worker):
        await worker.serve(routes(worker))
        await former.server.close()
        worker.group.snapshot = replace(
            worker.group.snapshot, workers=[replace(w, units=frozenset()) for w in worker.group.snapshot.workers]
        )
        asked = asyncio.create_task(worker.client.post(path, json={"a": 1}))
        await asyncio.sleep(0.5)
        assert not asked.done()
        units = frozenset([Unit("a", -1)])
        own = replace(worker.group.snapshot.workers[1], units=units)
        worker.group.snapshot = replace(worker.group.snapshot, leader=worker.id, workers=[own])
        answer = await asked
        assert (answer.status_code, answer.json()["worker"], answer.json()["body"]) == (201, worker.id, '{"a":1}')


async def test_a_leader_whose_api_is_not_served_is_waited_for() -> None:
    """Apache's workers answer 404 without a body while they start and end."""

    async def unserved(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with (
        worker_group(3) as (first, second, follower),
        await asyncio.start_server(unserved, "127.0.0.1", 0) as old,
    ):
        url = f"http://127.0.0.1:{old.sockets[0].getsockname()[1]}/"
        await second.serve(routes(second))
        await follower.serve(routes(follower))
        known = follower.group.snapshot
        infos = [replace(w, url=url) if w.worker_id == first.id else w for w in known.workers]
        follower.group.snapshot = replace(known, workers=infos)
        asked = asyncio.create_task(follower.client.post("/leader/a"))
        await asyncio.sleep(0.3)
        assert not asked.done()
        for worker in (second, follower):
            worker.group.snapshot = replace(worker.group.snapshot, leader=second.id)
        assert (await asked).json()["worker"] == second.id


async def test_a_leader_that_ends_while_it_answers_may_have_made_the_change() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with worker_group(2) as (_, follower), await asyncio.start_server(hang_up, "127.0.0.1", 0) as dying:
        url = f"http://127.0.0.1:{dying.sockets[0].getsockname()[1]}/"
        await follower.serve(routes(follower))
        infos = [replace(follower.group.snapshot.workers[0], url=url), follower.group.snapshot.workers[1]]
        follower.group.snapshot = replace(follower.group.snapshot, workers=infos)
        refused = await follower.client.post("/leader/a")
    assert refused.status_code == 503
    assert "check before trying again" in refused.json()["message"]


async def test_bodies_without_a_content_type_are_forwarded_and_checked_by_the_leader() -> None:
    async with worker_group(2) as workers:
        await serve(workers)
        refused = await workers[1].client.post("/leader/a", content=b"{}")
        assert refused.status_code == 415
        large = b'"' + b"x" * 3_000_000 + b'"'
        refused = await workers[1].client.post("/leader/a", content=large, headers={"Content-Type": "application/json"})
        assert refused.status_code == 413


async def test_the_user_and_the_address_of_the_client_are_forwarded(tmp_path: Any) -> None:
    (tmp_path / "users").write_text("ann=secret\n")
    (tmp_path / "jaas").write_text(f'KafkaConnect {{ {MODULE} required file="{tmp_path}/users"; }};')
    props = {"rest.extension.classes": BASIC_AUTH, "headrace.jaas.file": str(tmp_path / "jaas")}
    async with worker_group(2, props) as workers:
        await serve(workers)
        answer = await workers[1].client.post("/leader/a", auth=("ann", "secret"))
        found = answer.json()
        assert (found["worker"], found["user"], found["who"]) == (workers[0].id, "ann", "ann@127.0.0.1")
        assert (await workers[1].client.post("/leader/a", auth=("ann", "wrong"))).status_code == 401


async def test_before_there_is_a_session_key_requests_are_forwarded_without_the_address() -> None:
    async with worker_group(2, key=False) as workers:
        await serve(workers)
        assert (await workers[1].client.post("/leader/a")).json()["worker"] == workers[0].id


async def test_https_with_the_stores_of_the_listeners(tmp_path: Any) -> None:
    stores = make_stores(tmp_path)
    props = {
        "listeners.https.ssl.keystore.location": str(stores.p12),
        "listeners.https.ssl.keystore.password": stores.password,
        "listeners.https.ssl.truststore.location": str(stores.trust),
        "listeners.https.ssl.client.auth": "required",
    }
    async with worker_group(2, props, str(stores.trust)) as workers:
        await serve(workers)
        context = client_context(https_settings(props))  # the listener also requires a certificate of this test
        async with httpx.AsyncClient(base_url=workers[1].url, verify=context) as client:
            assert (await client.post("/leader/a")).json()["worker"] == workers[0].id


async def test_an_untrusted_certificate_is_reported_with_the_remedy(tmp_path: Any) -> None:
    stores = make_stores(tmp_path)
    props = {"listeners.https.ssl.keystore.location": str(stores.pem)}
    async with worker_group(2, props, str(stores.trust)) as workers:
        await serve(workers)
        refused = await workers[1].client.post("/leader/a")
    assert refused.status_code == 409
    assert "listeners.https.ssl.truststore.location" in refused.json()["message"]


async def test_a_worker_alone_never_forwards() -> None:
    worker = await new_worker({})
    worker.group.snapshot = GroupSnapshot("g", 1, worker.id)
    await worker.serve(routes(worker))
    async with worker.client:
        assert json.loads((await worker.client.post("/leader/a")).content)["worker"] == worker.id
    await worker.server.close()
