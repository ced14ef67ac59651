"""Callers of forwarded requests: the parts that a signature covers, and refused requests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.config.session_keys import SessionKeySettings
from runtime.herder.group.session_keys import SessionKeys
from runtime.rest.app import application
from runtime.rest.http.receiving import read
from runtime.rest.http.responses import json_response
from runtime.rest.resource import Resource
from runtime.rest.security.access import PRINCIPAL, ROLE, Access, Role
from runtime.rest.security.callers import HEADER, MAX_AGE, Caller, SignedCallers, check_from_worker
from runtime.rest.security.security import Protection, protection
from runtime.storage.configs import ConfigStore
from tests.support.herder.memory_logs import TestLogs, topic

ANN = Caller("w:1", "ann", Role.OPERATE, "10.1.1.1")


@dataclass
class Rig:
    """A worker with an endpoint for clients and one for workers."""

    callers: SignedCallers
    keys: SessionKeys
    client: httpx.AsyncClient
    now: float = 1_000.0

    def header(
        self, target: str, body: bytes = b"", method: str = "POST", caller: Caller = ANN, recipient: str = "w:2"
    ) -> dict[str, str]:
        return {HEADER: self.callers.sign(caller, recipient, method, target, body), "Content-Type": "application/json"}

    async def post(self, target: str, headers: dict[str, str], body: bytes = b"") -> httpx.Response:
        return await self.client.post(target, headers=headers, content=body)


async def _who(r: Request) -> Response:
    body = await read(r)
    role = r.scope[ROLE].name if ROLE in r.scope else None
    assert r.client is not None
    return json_response({"user": r.scope.get(PRINCIPAL), "role": role, "from": r.client.host, "body": body.decode()})


async def _internal(r: Request) -> Response:
    check_from_worker(r.scope)
    return json_response("done")


async def rig_of(protected: Protection) -> Rig:
    configs = ConfigStore(TestLogs(), topic("c"))
    keys = SessionKeys(configs, SessionKeySettings(), lambda: made.now)
    callers = SignedCallers(keys, "w:2", lambda: made.now)
    app = application([
        Route("/who", Resource(role=Role.OPERATE, post=_who)),
        Route("/admins", Resource(post=_who)),
        Route("/internal", Resource(role=Role.NONE, post=_internal)),
        Route("/connectors/{name}/tasks", Resource(role=Role.NONE, get=_who, post=_who)),
        Route("/connectors/{name}/fence", Resource(role=Role.NONE, put=_who)),
    ])  # fmt: skip
    transport = httpx.ASGITransport(protected.wrap(app, False, callers), raise_app_exceptions=False)
    made = Rig(callers, keys, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"))
    await keys.rotate()
    return made


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    found = await rig_of(protection({}))
    async with found.client:
        yield found


@pytest.fixture
async def secured() -> AsyncIterator[Rig]:
    """As `rig`, with users and roles."""
    open_to_all = protection({})
    access = Access({"ann": "secret", "bob": "secret"}, {Role.OPERATE: frozenset(["ann"]), Role.READ: frozenset("*")})
    found = await rig_of(Protection(access, "", (), (), open_to_all.hosts))
    async with found.client:
        yield found


async def test_user_role_and_address_are_those_of_the_first_worker(rig: Rig) -> None:
    answer = await rig.post("/who?a=1", rig.header("/who?a=1", b"{}"), b"{}")
    assert answer.json() == {"user": "ann", "role": "OPERATE", "from": "10.1.1.1", "body": "{}"}
    assert (await rig.post("/admins", rig.header("/admins"))).status_code == 403, (
        "the second worker checks the role, too"
    )


async def test_a_signature_is_valid_for_one_request_only(rig: Rig) -> None:
    signed = rig.header("/who?a=1", b"{}")
    for target, body in (("/who?a=2", b"{}"), ("/who", b"{}"), ("/admins?a=1", b"{}"), ("/who?a=1", b"[]")):
        refused = await rig.post(target, signed, body)
        assert (refused.status_code, "invalid caller" in refused.json()["message"]) == (403, True), target
    assert (await rig.post("/who", rig.header("/who", method="PUT"))).status_code == 403


async def test_old_and_future_signatures_are_refused(rig: Rig) -> None:
    signed = rig.header("/who")
    rig.now += MAX_AGE - 1
    assert (await rig.post("/who", signed)).status_code == 200
    rig.now += 2
    refused = await rig.post("/who", signed)
    assert (refused.status_code, "compare the clocks" in refused.json()["message"]) == (403, True)
    signed = rig.header("/who")
    rig.now -= MAX_AGE + 1
    assert (await rig.post("/who", signed)).status_code == 403


ENDLESS = (
    b'{"worker":"w","user":null,"role":"ADMIN","address":"a","time":' + b"9" * 400 + b',"digest":"","algorithm":""}'
)
DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "e30=.eA==",
        b64encode(b'{"user":"root"}').decode(),
        "[.]",
        f"{b64encode(ENDLESS).decode()}.eA==",
        f"{b64encode(DEEP).decode()}.eA==",
    ],
    ids=range(7),
)
async def test_callers_without_a_valid_signature_are_refused(rig: Rig, value: str) -> None:
    refused = await rig.client.post("/who", headers={HEADER: value})
    assert (refused.status_code, "invalid caller" in refused.json()["message"]) == (403, True)


async def test_a_replaced_key_remains_valid_for_requests_under_way(rig: Rig) -> None:
    signed = rig.header("/who")
    await rig.keys.rotate()
    assert (await rig.post("/who", signed)).status_code == 200


async def test_only_workers_reach_internal_endpoints(rig: Rig) -> None:
    assert (await rig.client.post("/internal")).status_code == 403
    assert (await rig.post("/internal", rig.header("/internal", caller=Caller("w:1")))).status_code == 200


async def test_a_worker_vouches_for_a_user_without_a_password(secured: Rig) -> None:
    answer = await secured.post("/who", secured.header("/who"))
    assert (answer.status_code, answer.json()["user"]) == (200, "ann")
    anonymous = secured.header("/who", caller=Caller("w:1"))
    assert (await secured.post("/who", anonymous)).status_code == 401, "the first worker has no authentication"


async def test_a_password_is_checked_again(secured: Rig) -> None:
    for password, status in (("secret", 403), ("wrong", 401)):
        signed = secured.header("/who", caller=Caller("w:1", "bob", Role.ADMIN))
        answer = await secured.client.post("/who", headers=signed, auth=("bob", password))
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/connectors/a/tasks", 200),
        ("POST", "/connectors/a%2Fb/tasks/", 200),
        ("PUT", "/connectors/a/fence", 200),
        ("GET", "/connectors/a/tasks", 401),
        ("POST", "/connectors/a/tasks/0/restart", 401),
        ("POST", "/connectors/tasks", 401),
        ("PUT", "/connectors/a/fence/x", 401),
        ("POST", "/who", 401),
        ("POST", "/who?/connectors/a/tasks", 401),
    ],
)
async def test_only_connects_internal_requests_need_no_password(
    secured: Rig, method: str, path: str, status: int
) -> None:
    """Their handlers verify the signature, as in Apache's extension for basic authentication."""
    assert (await secured.client.request(method, path)).status_code == status
