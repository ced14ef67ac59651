"""Pages of other sites cannot change anything through a browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.rest.app import application
from runtime.rest.http.responses import json_response
from runtime.rest.resource import Resource
from runtime.rest.security.security import protection


async def _done(_: Request) -> Response:
    return json_response("done")


async def ask(
    props: Mapping[str, str], method: str, host: str = "localhost:8083", certified: bool = False, **headers: str
) -> Any:
    app = protection(props, ["", "connect.internal"]).wrap(
        application([Route("/c/restart", Resource(get=_done, post=_done))]), certified
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8083") as client:
        return await client.request(method, "/c/restart", headers={"Host": host, **headers})


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8083", 200),
        ("LOCALHOST", 200),
        ("worker.localhost:8083", 200),
        ("127.0.0.1:8083", 200),
        ("[::1]:8083", 200),
        ("10.1.2.3:8083", 200),
        ("connect.internal:8083", 200),
        ("connect.internal.:8083", 200),
        ("evil.example:8083", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("connect.internal.evil.example", 403),
        ("[", 400),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_dns_rebinding_is_refused(host: str, status: int, method: str) -> None:
    assert (await ask({}, method, host)).status_code == status


async def test_further_names_can_be_allowed() -> None:
    props = {"headrace.allowed.hosts": "kafka-connect, *.example.org"}
    for host, status in (("kafka-connect:8083", 200), ("a.example.org", 200), ("example.org.evil.example", 403)):
        assert (await ask(props, "GET", host)).status_code == status
    assert (await ask({"headrace.allowed.hosts": "*"}, "GET", "any.example")).status_code == 200
    refused = await ask({}, "GET", "kafka-connect:8083")
    assert "headrace.allowed.hosts" in refused.json()["message"]


async def test_any_host_is_allowed_with_client_certificates() -> None:
    assert (await ask({}, "POST", "other.example", certified=True)).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("http://localhost:3000", 403),
        ("null", 403),
        ("http://localhost:8083.evil.example", 403),
        ("http://localhost:8083", 200),
        ("https://ui.example.org", 200),
        ("https://console.example.com", 200),
    ],
)
async def test_changes_from_other_sites_are_refused(origin: str, status: int) -> None:
    props = {"access.control.allow.origin": "https://ui.example.org", "headrace.allowed.hosts": "console.example.com"}
    assert (await ask(props, "POST", Origin=origin)).status_code == status
    assert (await ask(props, "GET", Origin=origin)).status_code == 200, "the browser keeps the answer from the page"


async def test_changes_from_other_sites_are_refused_with_client_certificates_too() -> None:
    """Browsers add client certificates and stored passwords to requests of other sites."""
    assert (await ask({}, "POST", certified=True, Origin="https://evil.example")).status_code == 403
