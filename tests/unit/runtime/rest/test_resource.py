"""Routing, methods and media types (tests/contract/parity/FACTS.md, section 1)."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.errors import BadRequest
from runtime.host.port import PluginTimeoutError
from runtime.rest.app import application
from runtime.rest.http import receiving
from runtime.rest.http.parameters import path_name
from runtime.rest.http.responses import JSON, json_response
from runtime.rest.resource import Resource

_UNTYPED = {"error_code": 415, "message": "HTTP 415 Unsupported Media Type"}


async def _no_body() -> dict[str, object]:
    return {"type": "http.request"}


async def read(request: Request) -> Response:
    return json_response((await receiving.read(request)).decode())


async def echo(request: Request) -> Response:
    return json_response({"name": path_name(request), "body": (await request.body()).decode()})


@pytest.fixture
def client() -> httpx.AsyncClient:
    app = application([Route("/c/{name}", Resource(get=echo, put=echo))])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x")


@pytest.mark.parametrize(
    ("escaped", "name"), [("a%2Fb", "a/b"), ("a%25b", "a%b"), ("a+b", "a+b"), ("gr%C3%BCn", "grün")]
)
async def test_an_escaped_name_is_one_segment(client: httpx.AsyncClient, escaped: str, name: str) -> None:
    assert (await client.get(f"/c/{escaped}")).json()["name"] == name


@pytest.mark.parametrize("escaped", ["a%00b", "a%0Ab", "a%7Fb", "a%FFb", "a%zz", "a%2"])
def test_invalid_names_are_refused(escaped: str) -> None:
    with pytest.raises(BadRequest, match=f"^'{escaped}' in the path "):
        path_name(Request({"type": "http", "path_params": {"name": escaped}}))


async def test_a_trailing_slash_is_ignored(client: httpx.AsyncClient) -> None:
    assert (await client.get("/c/x/")).status_code == 200
    assert (await client.get("/c/x//")).status_code == 404


async def test_parameters_of_a_path_are_ignored(client: httpx.AsyncClient) -> None:
    assert (await client.get("/c;v=1/x;y;z")).json()["name"] == "x"
    assert (await client.get("/c/x%3By")).json()["name"] == "x;y"
    refused = await client.put("/c/x;y")  # not the connector x
    assert (refused.status_code, refused.json()["message"].split(", ")[0]) == (400, "'/c/x;y' has a ';'")


async def test_an_absolute_url_is_accepted(client: httpx.AsyncClient) -> None:
    """Requests to proxies have this form (RFC 9112, section 3.2.2)."""

    async def asked(target: bytes) -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/", "raw_path": target, "headers": [], "query_string": b""}
        await application([Route("/c/{name}", Resource(get=echo))])(scope, _no_body, send)
        return int(sent[0]["status"])

    assert await asked(b"http://x:1/c/x") == 200
    assert await asked(b"http://x:1") == 404
    assert await asked(b"/http://x:1/c/x") == 404


async def test_wrong_methods_and_media_types_are_refused(client: httpx.AsyncClient) -> None:
    wrong = await client.post("/c/x")
    assert (wrong.status_code, wrong.json()) == (405, {"error_code": 405, "message": "HTTP 405 Method Not Allowed"})
    assert "content-type" not in wrong.headers
    assert (await client.get("/c/x", headers={"Accept": "text/plain"})).status_code == 406
    assert (await client.get("/c/x", headers={"Accept": "text/html, */*;q=0.8"})).status_code == 200
    assert (await client.put("/c/x", content="a", headers={"Content-Type": "text/plain"})).status_code == 415
    assert (await client.put("/c/x", headers={"Content-Type": "application/json"})).status_code == 200
    assert (
        await client.put("/c/x", content="{}", headers={"Content-Type": "application/json; charset=utf-8"})
    ).status_code == 200


async def test_head_and_options(client: httpx.AsyncClient) -> None:
    head = await client.head("/c/x")
    assert (head.status_code, head.headers["content-type"]) == (200, "application/json")
    options = await client.options("/c/x", headers={"Accept": "application/json"})
    assert (options.status_code, options.headers["allow"]) == (200, "HEAD,GET,OPTIONS,PUT")
    assert (options.headers["content-type"], options.text) == ("application/json", "")
    assert (await client.options("/c/x")).text == "HEAD, GET, OPTIONS, PUT"
    assert (await client.options("/c/x")).headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("headers", "status", "media"),
    [
        ({"Content-Type": "text/plain"}, 415, None),  # also without a body
        ({"Content-Type": "application/*"}, 200, "application/json"),  # the handler does not read the body
        ({"Content-Type": ""}, 400, "application/json"),
        ({"Accept": "/"}, 400, "application/json"),
        ({"Content-Type": "text/plain", "Accept": "/"}, 415, None),
        ({"Content-Type": "text/plain", "Accept": "text/plain"}, 415, None),
        ({"Accept": "*"}, 200, "application/json"),
        ({"Accept": "application/json; charset=utf-8"}, 200, "application/json;charset=utf-8"),
        ({"Accept": "application/json;q=0.5, text/plain"}, 200, "application/json"),
    ],
)
async def test_media_types(client: httpx.AsyncClient, headers: dict[str, str], status: int, media: str | None) -> None:
    answer = await client.get("/c/x", headers=headers)
    assert (answer.status_code, answer.headers.get("content-type")) == (status, media)


@pytest.mark.parametrize("media", [None, "*/*", "application/*"])
async def test_a_body_needs_a_content_type(media: str | None) -> None:
    app = application([Route("/c", Resource(put=read))])
    headers = {"Content-Type": media} if media else {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as asking:
        refused = await asking.put("/c", content=b"{}", headers=headers)
        assert (refused.status_code, refused.headers["content-type"], refused.json()) == (415, JSON, _UNTYPED)
        empty = await asking.put("/c", headers=headers)
        assert empty.status_code == (415 if media else 200)


async def test_a_wrong_content_type_is_refused_on_any_path(client: httpx.AsyncClient) -> None:
    assert (await client.delete("/nowhere", headers={"Content-Type": "garbage"})).status_code == 400


async def test_a_plugin_that_hangs_is_no_reason_to_try_again() -> None:
    async def hang(_: Request) -> Response:
        raise PluginTimeoutError("definition", datetime(2026, 1, 2, tzinfo=UTC), "describe got no response within 30 s")

    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(application([Route("/c", Resource(get=hang))])), base_url="http://x"
    )
    response = await client.get("/c")
    assert (response.status_code, response.json()["message"]) == (
        500,
        "Request timed out. The worker is currently retrieving the configuration definition from the connector, which "
        "began at 2026-01-02T00:00:00.000Z: describe got no response within 30 s",
    )
