"""Connections that have ended or are half-closed; requests for other protocols."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from runtime.config.listeners import Listener
from runtime.rest.app import application
from runtime.rest.http.protocol import BoundedProtocol
from runtime.rest.http.server import RestServer
from runtime.rest.resource import Resource
from tests.support.waiting import until

OPENED = 20
HEAD = b"Host: 127.0.0.1\r\n"
HOSTILE = {
    "answered": b"GET / HTTP/1.1\r\n" + HEAD + b"\r\n",
    "not found": b"GET /nothing HTTP/1.1\r\n" + HEAD + b"\r\n",
    "half a head": b"GET / HTTP/1.1\r\n" + HEAD,
    "half a body": b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 100\r\n\r\n{",
    "malformed": b"GET / HTTP/9\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + HEAD + b"a: b\r\n" * 500 + b"\r\n",
}


@pytest.fixture
async def port() -> AsyncIterator[int]:
    server = RestServer("listeners", [Listener("http", "127.0.0.1", 0)])

    async def answer(_: Request) -> Response:
        await asyncio.sleep(0.05)
        return Response("here")

    async def events(_: Request) -> Response:
        async def lines() -> AsyncIterator[bytes]:
            yield b"first"
            await asyncio.Event().wait()

        return StreamingResponse(lines())

    async def read(request: Request) -> Response:
        return Response(await request.body())

    await server.start(
        application([Route("/", Resource(consumes="", get=answer, post=read)), Route("/events", Resource(get=events))])
    )
    yield server.bound[0][1]
    await server.close()


@pytest.fixture
def no_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@dataclass
class Connections:
    """The connections that the server has accepted: their number, and those that have not been freed."""

    accepted: int = 0
    living: WeakSet[BoundedProtocol] = field(default_factory=WeakSet)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    found, create = Connections(), BoundedProtocol.__init__

    def noted(self: BoundedProtocol, *given: Any, **named: Any) -> None:
        create(self, *given, **named)
        found.accepted += 1
        found.living.add(self)

    monkeypatch.setattr(BoundedProtocol, "__init__", noted)
    return found


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("request_bytes", HOSTILE.values(), ids=HOSTILE)
async def test_a_closed_connection_needs_no_garbage_collection(
    connections: Connections, port: int, request_bytes: bytes
) -> None:
    """Full collections are rare: a flood must not leave thousands of connections to the next one."""
    for _ in range(OPENED):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request_bytes)
        await writer.drain()
        if b"half" not in request_bytes and request_bytes.endswith(b"\r\n\r\n"):
            await reader.readuntil(b"\r\n")
        writer.transport.abort()
    await until(lambda: not (connections.accepted < OPENED or connections.living))


async def _all(port: int, request: bytes) -> bytes:
    """The response to a client that closes its side after the request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


async def test_a_half_closed_client_gets_its_responses(port: int) -> None:
    get = HOSTILE["answered"]
    assert (await _all(port, get)).endswith(b"here")
    assert (await _all(port, get * 3)).count(b"here") == 3
    post = b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 4\r\n\r\nbody"
    assert (await _all(port, post)).endswith(b"body")
    assert await _all(port, HOSTILE["half a body"]) == b""


async def test_a_stream_ends_when_its_client_closes(connections: Connections, port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /events HTTP/1.1\r\n" + HEAD + b"\r\n")
    await reader.readuntil(b"first")
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), 20) == b"\r\n"
    await until(lambda: not connections.living)
    writer.close()


@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
async def test_a_request_for_another_protocol_is_ignored(
    port: int, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)  # other tests of this process may have lowered it
    upgrade = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\nHTTP2-Settings: AA\r\n\r\n"
    response = await _all(port, b"GET / HTTP/1.1\r\n" + HEAD + upgrade.encode())
    assert response.startswith(b"HTTP/1.1 200 ") and response.endswith(b"here")
    assert caplog.messages == []
