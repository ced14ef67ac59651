"""Attacks by a member of the workers' group: any principal with READ on `group.id` can join, advertise any address, and
is sent what workers send each other. It does not know the session key, which is in the config topic."""

from __future__ import annotations

import asyncio
import gzip
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.errors import Conflict, Unavailable
from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import GroupWorkerInfo
from runtime.herder.group.leader import GroupView, describe_members, lead
from runtime.herder.group.peer_watch import PeerWatch
from runtime.herder.group.workers import Cordons, Workers
from runtime.herder.monitoring.progress_history import ProgressHistory
from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.plugin_reload import PluginReload
from runtime.herder.status.error_board import ErrorBoard
from runtime.herder.status.events import EventLog
from runtime.kafka.group.protocol import Assignment, Details, WorkerMetadata, decode_metadata, encode_metadata
from runtime.rest.forwarding.peer_events import MAX_NOTICES, PeerEvents
from runtime.rest.forwarding.worker_clients import WorkerRequest
from runtime.rest.http.parameters import path_name
from runtime.rest.http.receiving import read
from runtime.rest.http.responses import json_response
from runtime.rest.internal import ALGORITHM_HEADER, SIGNATURE_HEADER
from runtime.rest.monitoring import ProgressHandlers, all_lines
from runtime.rest.plugins import PluginHandlers
from runtime.rest.preview import RecordHandlers
from runtime.rest.resource import Handler, Resource
from runtime.rest.security.callers import HEADER
from runtime.rest.security.jaas import MODULE
from runtime.rest.security.security import BASIC_AUTH
from runtime.rest.workers import GroupHandlers
from runtime.storage.documents import Documents
from tests.support.herder.herder_rig import HerderRig
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.herder.worker_rig import ServingWorker, serve_internal, worker_group
from tests.support.never_called import NEVER_CALLED
from tests.support.servers.hostile_peer import EMPTY, HostilePeer, hostile_peer, json_reply

PASSWORD = b64encode(b"ann:secret").decode()


def api(worker: ServingWorker) -> list[Route]:
    """Every way on which a worker sends requests to others."""

    async def here(r: Request) -> Response:
        await read(r)
        return json_response({"worker": worker.id})

    async def to_leader(r: Request) -> Response:
        return await worker.forwarding.at_leader(r, here)

    async def to_owner(r: Request) -> Response:
        return await worker.forwarding.at_owner(r, Unit(path_name(r), -1), lambda unit: None, here)

    async def to_worker(r: Request) -> Response:
        return await worker.forwarding.at_worker(r, worker.group.peers()[0].worker_id, here)

    async def logs(r: Request) -> Response:
        return json_response(all_lines([], await worker.peers.collect(r, "Lines"), 10))

    def leader(handler: Handler) -> Handler:
        async def at_leader(r: Request) -> Response:
            return await worker.forwarding.at_leader(r, handler)

        return at_leader

    class Reload(PluginReload):
        def __init__(self) -> None: ...

        async def reload(self, name: str | None) -> Any:
            return {"plugins": [], "restarted": [], "missing": []}

    documents = Documents(TestLogs(), topic("j"))
    workers = Workers(worker.group, Cordons(documents), worker.configs, 1)
    herder: Any = SimpleNamespace(stored=lambda name: None)
    group = GroupHandlers(workers, leader)
    records = RecordHandlers(herder, NEVER_CALLED, ErrorBoard(lambda name, text: text), worker.peers)
    progress = ProgressHandlers(herder, ProgressHistory(5.0), NEVER_CALLED, worker.peers)
    return [
        Route("/leader/{name}", Resource(get=to_leader, post=to_leader)),
        Route("/owner/{name}", Resource(post=to_owner)),
        Route("/worker/{name}", Resource(get=to_worker)),
        Route("/connectors/{name}/logs", Resource(get=logs)),
        Route("/connectors/{name}/errors", Resource(get=records.failed)),
        Route("/connectors/{name}/progress", Resource(get=progress.progress)),
        Route("/workers", Resource(get=group.view)),
        Route("/workers/{worker_id}/drain", Resource(put=leader(group.drain))),
        Route("/connector-plugins/reload", Resource(post=PluginHandlers(NEVER_CALLED, Reload(), worker.peers).reload)),
    ]


@asynccontextmanager
async def attacked(
    count: int = 1, props: dict[str, str] | None = None, mixed: bool = False, implementation: str = "headrace"
) -> AsyncIterator[tuple[HostilePeer, list[ServingWorker]]]:
    """Workers in a group whose leader, and owner of connector `a`, is hostile."""
    async with hostile_peer() as peer, worker_group(count, props, mixed=mixed) as workers:
        units = frozenset([Unit("a", -1)])
        hostile = GroupWorkerInfo(peer.id, peer.url, "m", units, implementation=implementation)
        for worker in workers:
            known = worker.group.snapshot
            honest = [replace(one, units=frozenset()) for one in known.workers]
            worker.group.snapshot = replace(known, leader=peer.id, workers=[*honest, hostile])
            await worker.serve(api(worker))
        yield peer, workers


def users(folder: Path) -> dict[str, str]:
    (folder / "users").write_text("ann=secret\n")
    (folder / "jaas").write_text(f'KafkaConnect {{ {MODULE} required file="{folder}/users"; }};')
    return {"rest.extension.classes": BASIC_AUTH, "headrace.jaas.file": str(folder / "jaas")}


REQUESTS = [
    ("GET", "/connectors/a/logs"),
    ("GET", "/connectors/a/errors"),
    ("GET", "/connectors/a/progress"),
    ("GET", "/worker/a"),
    ("GET", "/workers"),
    ("POST", "/connector-plugins/reload"),
    ("POST", "/leader/a"),
    ("POST", "/owner/a"),
]


async def test_a_group_member_gets_no_password_of_a_caller(tmp_path: Path) -> None:
    async with attacked(props=users(tmp_path)) as (peer, (worker,)):
        for method, path in REQUESTS:
            await worker.client.request(method, path, auth=("ann", "secret"))
        for leads in (worker.id, peer.id):
            worker.group.snapshot = replace(worker.group.snapshot, leader=leads)
            await worker.client.post("/owner/a", auth=("ann", "secret"))
    assert {request.target.partition("?")[0] for request in peer.requests} == {path for _, path in REQUESTS}
    for request in peer.requests:
        assert PASSWORD not in str(request), request.target
        assert HEADER.lower() in request.headers, request.target


async def test_a_group_member_cannot_use_a_signed_caller_at_another_worker(tmp_path: Path) -> None:
    async with attacked(2, props=users(tmp_path)) as (peer, (worker, victim)):
        await worker.client.post("/leader/a", auth=("ann", "secret"))
        (stolen,) = peer.requests
        victim.group.snapshot = replace(victim.group.snapshot, leader=victim.id)
        for _ in range(2):
            refused = await victim.client.request(
                stolen.method, stolen.target, headers={HEADER: stolen.headers[HEADER.lower()]}
            )
            assert (refused.status_code, f"signed for worker {peer.id}" in refused.text) == (403, True)


async def test_a_listener_on_the_network_cannot_repeat_a_signed_request(tmp_path: Path) -> None:
    """It has seen a request between two honest workers."""
    async with worker_group(2, users(tmp_path)) as workers:
        for worker in workers:
            await worker.serve(api(worker))
        leader, follower = workers
        request = follower.copies.own("POST", "/leader/a?forward=false", leader.url)
        answers = [await leader.client.post(request.target, headers=dict(request.headers)) for _ in range(3)]
        other = await leader.client.post("/leader/b?forward=false", headers=dict(request.headers))
    assert [answer.status_code for answer in answers] == [200, 403, 403]
    assert "has been used before" in answers[1].text
    assert other.status_code == 403


@pytest.mark.parametrize(
    ("mixed", "implementation", "path", "given"),
    [
        (False, "connect", "/leader/a", False),
        (True, "connect", "/leader/a", True),
        (True, "headrace", "/leader/a", False),
        (True, "headrace", "/owner/a", True),
        (True, "headrace", "/connectors/a/logs", False),
    ],
)
async def test_passwords_go_only_where_a_worker_of_apache_may_need_them(
    tmp_path: Path, mixed: bool, implementation: str, path: str, given: bool
) -> None:
    """Apache's workers know a user only by its password, and the leader may pass a request on to one of them."""
    async with attacked(props=users(tmp_path), mixed=mixed, implementation=implementation) as (peer, (worker,)):
        await worker.client.request("GET" if "logs" in path else "POST", path, auth=("ann", "secret"))
    (request,) = peer.requests
    assert (request.headers.get("authorization") == f"Basic {PASSWORD}") is given


async def test_without_a_session_key_no_request_with_a_password_is_forwarded(tmp_path: Path) -> None:
    async with hostile_peer() as peer, worker_group(1, users(tmp_path), key=False) as (worker,):
        hostile = GroupWorkerInfo(peer.id, peer.url, "m")
        worker.group.snapshot = replace(worker.group.snapshot, leader=peer.id, workers=[hostile])
        await worker.serve(api(worker))
        refused = await worker.client.post("/leader/a", auth=("ann", "secret"))
        assert (refused.status_code, "session key" in refused.text) == (503, True)
        lines = (await worker.client.get("/connectors/a/logs", auth=("ann", "secret"))).json()
    assert f"Lines of {peer.id} are missing" in lines[-1]["message"]
    assert peer.requests == []


HUGE = b"9" * 400
NONSENSE = {
    "an array": json_reply(b"[]"),
    "an object": json_reply(b"{}"),
    "null": json_reply(b"null"),
    "a number": json_reply(HUGE),
    "html": json_reply(b"<script>alert(1)</script>", kind="text/html"),
    "html as json": json_reply(b"<html>"),
    "nesting": json_reply(b"[" * 100_000),
    "not utf-8": json_reply(b'{"name":"\xff"}'),
    "a bomb": json_reply(gzip.compress(b"[" + b" " * 50_000_000 + b"]")).replace(
        b"\r\n", b"\r\nContent-Encoding: gzip\r\n", 1
    ),
    "wrong types": json_reply(
        b'{"name":1,"since":"x","total":[],"stages":7,"tasks":{},"last":null,"points":[1],"workers":[{"worker_id":[]}],'
        b'"generation":"x","group_id":null,"leader":{},"rebalancing":1,"waiting":0}'
    ),
    "wrong types inside": json_reply(
        b'{"name":"a","since":1,"total":{"failed":"x"},"stages":{"s":[]},"tasks":[{"id":{}}],"last":[{"time":"x"}],'
        b'"points":[{"time":null}]}'
    ),
    "lines": json_reply(b'[{"time":"now","level":1},7,null]'),
    "a redirect": b"HTTP/1.1 307 Away\r\nLocation: http://[/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "a strange status": b"HTTP/1.1 999 Hm\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "a strange location": b"HTTP/1.1 201 C\r\nLocation: http://[/\xff\r\nContent-Length: 0\r\n\r\n",
    "a strange type": b"HTTP/1.1 200 OK\r\nContent-Type: \xff\xfe\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    "an error": json_reply(b'{"error_code":500,"message":"x"}', "500 Oops"),
    "no http": b"220 smtp ready\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("response", NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_of_a_group_member_is_left_out_and_the_member_named(response: bytes) -> None:
    async with attacked() as (peer, (worker,)):
        peer.response = response
        await assert_named(worker, peer)
        reload = await worker.client.post("/connector-plugins/reload")
    assert (reload.status_code, reload.json()["workers"][peer.id]) == (200, None)


@pytest.mark.parametrize("kind", ["endless", "slow", "late"])
async def test_an_endless_or_late_response_of_a_group_member_is_left_out(kind: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n["
    async with attacked() as (peer, (worker,)):
        peer.response = EMPTY if kind == "late" else head
        peer.endless = {"endless": b" " * 2**20, "slow": b" ", "late": b""}[kind]
        peer.delay = 3.0 if kind == "late" else 0.0
        peer.pause = 0.05 if kind == "slow" else 0.0
        began = time.monotonic()
        await assert_named(worker, peer)
        assert time.monotonic() - began < 20
        if kind == "endless":
            with pytest.raises(Unavailable, match="larger than 16 MiB"):
                await worker.clients.send(peer.url, WorkerRequest("GET", "/x", {}))


async def assert_named(worker: ServingWorker, peer: HostilePeer) -> None:
    lines, errors, progress, workers = await asyncio.gather(
        *(worker.client.request(method, path) for method, path in [*REQUESTS[:3], REQUESTS[4]])
    )
    assert [r.status_code for r in (lines, errors, progress, workers)] == [200] * 4
    if peer.response != NONSENSE["an array"]:  # which is an honest response without lines
        assert f"Lines of {peer.id} are missing" in lines.json()[-1]["message"]
    assert errors.json()["missing"] == progress.json()["missing"] == workers.json()["missing"] == [peer.id]
    assert {one["worker_id"] for one in workers.json()["workers"]} == {worker.id, peer.id}


_SENSIBLE_TO_CHANGES = ("an array", "an object", "nesting", "not utf-8", "an error")


@pytest.mark.parametrize("name", [name for name in NONSENSE if name not in _SENSIBLE_TO_CHANGES])
async def test_a_hostile_leader_can_leave_the_outcome_of_a_change_unknown_and_nothing_else(name: str) -> None:
    """The worker says so, and passes nothing of the response to the client, such as a page for a browser."""
    async with attacked() as (peer, (worker,)):
        peer.response = NONSENSE[name]
        answer = await worker.client.post("/leader/a")
    if answer.status_code in (200, 201):  # JSON of the right kind cannot be told from an honest response
        assert answer.headers.get("content-type", "application/json") == "application/json"
        assert answer.headers.get("location", worker.url).startswith(worker.url)
        return
    assert answer.status_code == 503
    assert peer.id in answer.json()["message"]
    assert "check before trying again" in answer.json()["message"]
    assert "alert" not in answer.text


@pytest.mark.parametrize(
    "url", ["", "nowhere", "http://[", "file:///etc/passwd", "http://a:99999/", "http://\u2603.x..y/", "http://h\x00/"]
)
async def test_a_hostile_address_of_a_group_member_makes_no_request_fail(url: str) -> None:
    async with attacked() as (_, (worker,)):
        known = worker.group.snapshot
        (own, hostile) = known.workers
        peer_id = describe_members({"m": WorkerMetadata(url, 0, details=Details("x", 1))}, "").workers[0].worker_id
        worker.group.snapshot = replace(
            known, leader=peer_id, workers=[own, replace(hostile, url=url, worker_id=peer_id)]
        )
        for method, path in REQUESTS[:3]:
            assert (await worker.client.request(method, path)).status_code == 200, path
        with pytest.raises(Conflict, match="Nothing was changed"):
            await worker.clients.send(url, WorkerRequest("POST", "/leader/a", {}))
        watch = PeerWatch(cast("Any", worker.group))
        assert await watch._has_ended(worker.group.snapshot.workers[1]) is False


NOTICE = {"time": 1, "level": "WARN", "connector": None, "task": None, "message": "m"}


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        '{"last":"x","notices":[{"time":1}],"progress":{}}',
        '{"last":[],"notices":[],"progress":{}}',
        '{"last":"x","notices":[],"progress":{"a":{"read":"x"}}}',
        '{"last":"x","notices":[],"progress":[]}',
    ],
)
async def test_events_of_a_hostile_group_member_are_not_passed_on(body: str) -> None:
    async with attacked() as (peer, (worker,)):
        peer.response = json_reply(body.encode())
        log, reported = EventLog(), list[Any]()
        progress = cast("ProgressWatch", type("P", (), {"reported": lambda self, found: reported.append(found)})())
        await PeerEvents(worker.peers, log, progress)._collect()
    assert (log.last, reported) == (0, [{}])


async def test_a_group_member_cannot_push_all_events_out_of_the_log() -> None:
    async with attacked() as (peer, (worker,)):
        own: dict[str, Any] = {"last": "x.1", "notices": [NOTICE] * 10_000, "progress": {}}
        peer.response = json_reply(bytes(json_response(own).body))
        log = EventLog()
        log.notice("WARN", "of this worker")
        progress = cast("ProgressWatch", type("P", (), {"reported": lambda self, found: None})())
        await PeerEvents(worker.peers, log, progress)._collect()
    assert log.last == 1 + MAX_NOTICES


@asynccontextmanager
async def internal() -> AsyncIterator[tuple[HerderRig, ServingWorker, ServingWorker]]:
    """A leader that serves Connect's internal requests, and a follower."""
    rig = HerderRig()
    async with worker_group(2) as (leader, follower):
        await serve_internal(leader, rig)
        yield rig, leader, follower
    await rig.close()


async def test_a_former_leader_cannot_repeat_internal_requests_for_other_connectors() -> None:
    """Connect's signature covers the body only, and is the same for every request to fence."""
    async with internal() as (rig, leader, follower):
        await rig.create("a")
        await rig.create("b")
        for method, what, body in (("POST", "tasks", b'[{"task.class":"T"}]'), ("PUT", "fence", b"")):
            signature = follower.keys.sign(body)
            headers = {
                SIGNATURE_HEADER: signature.text,
                ALGORITHM_HEADER: signature.algorithm,
                "Content-Type": "application/json",
            }
            request = follower.copies.own(method, f"/connectors/a/{what}", leader.url, body=body, headers=headers)
            seen = dict(request.headers)
            assert (await leader.client.request(method, request.target, content=body, headers=seen)).status_code == 204
            for stolen in (headers, seen):
                for name in ("a", "b"):
                    repeated = await leader.client.request(
                        method, f"/connectors/{name}/{what}", content=body, headers=stolen
                    )
                    assert repeated.status_code == 403


@pytest.mark.parametrize(
    "forged", [{}, {SIGNATURE_HEADER: "eA==", ALGORITHM_HEADER: "HmacSHA256"}], ids=["none", "forged"]
)
async def test_internal_requests_without_a_valid_signature_are_refused_before_their_bodies_arrive(
    forged: dict[str, str],
) -> None:
    async with internal() as (_, leader, _follower):
        for first in ("POST /connectors/a/tasks", "PUT /connectors/a/fence"):
            host, _, port = leader.id.partition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            head = [f"{first} HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 2000000"]
            given = [f"{name}: {value}" for name, value in forged.items()]
            writer.write(("\r\n".join([*head, *given]) + "\r\n\r\n[").encode())
            status = await asyncio.wait_for(reader.readline(), 10)
            assert status.split()[1] == (b"403" if forged else b"400")
            writer.close()


HONEST = {
    "a": WorkerMetadata("http://w:1/", 5, None, Details("1", 2)),
    "b": WorkerMetadata("http://w:2/", 5, None, Details("1", 2)),
}
WEIGHTS = {Unit(f"c{number}", task): 1.0 for number in range(3) for task in (-1, 0)}


def described(trailer: bytes, url: str = "http://w:3/", held: Assignment | None = None) -> WorkerMetadata:
    return decode_metadata(encode_metadata(WorkerMetadata(url, 5, held)) + b"HDRC" + trailer)


def details(**changes: str) -> bytes:
    fields = {"version": '"1"', "slots": "1", "loads": "{}", "draining": "false", "process": "{}", **changes}
    return ("{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}").encode()


HOSTILE: dict[str, Callable[[], WorkerMetadata]] = {
    "no url": lambda: described(details(), ""),
    "a broken url": lambda: described(details(), "http://["),
    "the url of another worker": lambda: described(details(), "http://w:1/"),
    "infinite slots": lambda: described(details(slots="1e400")),
    "slots as float": lambda: described(details(slots="1e300")),
    "negative slots": lambda: described(details(slots="-5")),
    "many slots": lambda: described(details(slots="9223372036854775807")),
    "infinite load": lambda: described(details(loads='{"c0":{"0":1e308,"1":1e308}}')),
    "a large load": lambda: described(details(loads='{"c0":{"0":1e308},"c1":{"0":1e308}}')),
    "a load as text": lambda: described(details(loads='{"c0":{"0":"inf"}}')),
    "a load of no number": lambda: described(details(loads='{"c0":{"0":"nan"}}')),
    "a long task number": lambda: described(details(loads='{"c0":{"' + "9" * 5000 + '":1}}')),
    "a strange process": lambda: described(details(process='{"pid":[],"host":{},"machine":[1]}')),
    "a claim to all": lambda: described(details(), held=Assignment("m", "u", 5, {f"c{n}": (-1, 0) for n in range(3)})),
    "a claim to the unknown": lambda: described(details(), held=Assignment("m", "u", 5, {"zz": (-7, 2**31 - 1)})),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_metadata_of_a_group_member_leaves_the_others_their_work(hostile: Callable[[], WorkerMetadata]) -> None:
    found = lead("a", {**HONEST, "m": hostile()}, GroupView(5, WEIGHTS))
    assert found.snapshot is not None
    assigned = {
        Unit(name, task) for one in found.assignments.values() for name, tasks in one.assigned.items() for task in tasks
    }
    claimed = {Unit(f"c{n}", task) for n in range(3) for task in (-1, 0)} if hostile().allocation else set()
    assert assigned | claimed == set(WEIGHTS)
    assert describe_members({**HONEST, "m": hostile()}, "w:1").workers
