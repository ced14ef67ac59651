"""Slow, silent or excessive clients do not prevent the server from answering others."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.config.listeners import Listener
from runtime.rest.app import application
from runtime.rest.http import receiving
from runtime.rest.http.connections import ConnectionLimits, Connections
from runtime.rest.http.receiving import BodyMemory
from runtime.rest.http.server import RestServer

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Open = Callable[[], Awaitable[Stream]]
LARGE_ANSWER = b"x" * 16_000_000
"""More than the kernel buffers for a client that does not read."""
GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"


async def _length(r: Request) -> Response:
    return Response(str(len(await receiving.read(r))))


async def _large(_: Request) -> Response:
    return Response(LARGE_ANSWER)


@pytest.fixture
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """Opens connections to a server. Parametrized: with these ConnectionLimits or this BodyMemory."""
    given = getattr(request, "param", None)
    limits = given if isinstance(given, ConnectionLimits) else ConnectionLimits()
    routes = [Route("/x", _length, methods=["GET", "POST"]), Route("/large", _large)]
    server = RestServer("listeners", [Listener("http", "127.0.0.1", 0)], limits=limits)
    await server.start(application(routes, given if isinstance(given, BodyMemory) else None))
    streams: list[Stream] = []

    async def opened() -> Stream:
        streams.append(await asyncio.open_connection("127.0.0.1", server.bound[0][1]))
        return streams[-1]

    yield opened
    for _, writer in streams:
        writer.close()
    await server.close()


async def status(stream: Stream, request: bytes = GET) -> int:
    reader, writer = stream
    writer.write(request)
    line = await asyncio.wait_for(reader.readline(), 30)
    while (await asyncio.wait_for(reader.readline(), 30)).strip():
        pass
    return int(line.split()[1])


async def is_closed(stream: Stream) -> bool:
    """Reads to the end; raises TimeoutError if the server does not close the connection."""
    with contextlib.suppress(ConnectionError):
        await asyncio.wait_for(stream[0].read(), 30)
    return True


@pytest.mark.parametrize("connect", [ConnectionLimits(head_timeout=0.3)], indirect=True)
async def test_a_connection_without_a_complete_head_is_closed(connect: Open) -> None:
    silent, slow = await connect(), await connect()
    slow[1].write(b"GET /x HTTP/1.1\r\nX: ")
    assert await is_closed(silent)
    assert await is_closed(slow)


@pytest.mark.parametrize("connect", [BodyMemory(body_timeout=0.3)], indirect=True)
async def test_an_unfinished_body_is_answered_with_408(connect: Open) -> None:
    assert await status(await connect(), b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{") == 408


async def test_a_huge_body_is_refused_while_it_arrives(connect: Open) -> None:
    stream = await connect()
    stream[1].write(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
    stream[1].write(b"1" * (receiving.BODY_LIMIT + 1))
    assert await status(stream, b"") == 413


@pytest.mark.parametrize("connect", [ConnectionLimits(connections=6)], indirect=True)  # three from one address
async def test_idle_connections_are_closed_to_make_room(connect: Open) -> None:
    in_progress = await connect()
    in_progress[1].write(b"GET /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n")
    used = await connect()
    assert await status(used) == 200
    crowd = [await connect() for _ in range(20)]
    assert await status(crowd[-1]) == 200
    assert await is_closed(used)
    assert await is_closed(crowd[0])
    assert await status(in_progress, b"1") == 200, "a request in progress is never closed to make room"


def test_half_of_the_file_descriptors_remain_for_kafka_clients() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        assert Connections().limit == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("connect", [ConnectionLimits(unread_timeout=0.5, linger_timeout=0.3)], indirect=True)
async def test_clients_that_do_not_read_or_do_not_end_a_request_are_disconnected(connect: Open) -> None:
    unread, late = await connect(), await connect()
    unread[1].transport.pause_reading()  # type: ignore[attr-defined]
    unread[1].write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await status(late, b"GET /none HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{") == 404
    assert await is_closed(late)
    await asyncio.sleep(1.0)
    unread[1].transport.resume_reading()  # type: ignore[attr-defined]
    with contextlib.suppress(ConnectionError):
        assert len(await asyncio.wait_for(unread[0].read(), 30)) < len(LARGE_ANSWER)


@pytest.mark.parametrize("connect", [ConnectionLimits(unread_timeout=0.5)], indirect=True)
async def test_a_slow_reader_that_keeps_reading_is_served(connect: Open) -> None:
    reader, writer = await connect()
    writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    received = 0
    while chunk := await asyncio.wait_for(reader.read(1_000_000), 30):
        received += len(chunk)
        await asyncio.sleep(0.05)
    assert received > len(LARGE_ANSWER)
