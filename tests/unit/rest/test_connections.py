"""Clients that are slow, silent or too many do not keep the server from answering others."""

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
from runtime.rest.http import connections, receiving
from runtime.rest.http.connections import Connections
from runtime.rest.http.server import RestServer

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Open = Callable[[], Awaitable[Stream]]
LARGE = b"x" * 16_000_000
"""More than the kernel keeps for a client that does not read."""
GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"


async def _length(r: Request) -> Response:
    return Response(str(len(await receiving.read(r))))


async def _large(_: Request) -> Response:
    return Response(LARGE)


@pytest.fixture
async def connect() -> AsyncIterator[Open]:
    server = RestServer("listeners", [Listener("http", "127.0.0.1", 0)])
    await server.start(application([Route("/x", _length, methods=["GET", "POST"]), Route("/large", _large)]))
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
    line = await asyncio.wait_for(reader.readline(), 10)
    while (await asyncio.wait_for(reader.readline(), 10)).strip():
        pass
    return int(line.split()[1])


async def is_closed(stream: Stream) -> bool:
    """Reads to the end; TimeoutError when there is none."""
    with contextlib.suppress(ConnectionError):
        await asyncio.wait_for(stream[0].read(), 10)
    return True


async def test_who_does_not_finish_the_head_of_a_request_is_sent_away(
    connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD", 0.3)
    silent, slow = await connect(), await connect()
    slow[1].write(b"GET /x HTTP/1.1\r\nX: ")
    assert await is_closed(silent)
    assert await is_closed(slow)


async def test_who_does_not_finish_a_body_is_told_so(connect: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "PATIENCE", 0.3)
    assert await status(await connect(), b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{") == 408


async def test_a_huge_body_is_refused_while_it_comes(connect: Open) -> None:
    stream = await connect()
    stream[1].write(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
    stream[1].write(b"1" * (receiving.LIMIT + 1))
    assert await status(stream, b"") == 413


async def test_those_who_say_nothing_make_room_for_those_who_ask(
    connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST", 6)  # three from one address
    server = RestServer("listeners", [Listener("http", "127.0.0.1", 0)])
    await server.start(application([Route("/x", _length)]))

    async def opened() -> Stream:
        return await asyncio.open_connection("127.0.0.1", server.bound[0][1])

    try:
        under_way = await opened()
        under_way[1].write(b"GET /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n")
        used = await opened()
        assert await status(used) == 200
        crowd = [await opened() for _ in range(20)]
        assert await status(crowd[-1]) == 200
        assert await is_closed(used)
        assert await is_closed(crowd[0])
        assert await status(under_way, b"1") == 200, "a request under way is never given up for others"
    finally:
        for stream in (under_way, used, *crowd):
            stream[1].close()
        await server.close()


def test_kafka_keeps_its_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        assert Connections()._most == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_clients_that_do_not_read_or_do_not_end_a_request_are_disconnected(
    connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BLOCKED", 0.5)
    monkeypatch.setattr(connections, "LINGER", 0.3)
    unread, late = await connect(), await connect()
    unread[1].transport.pause_reading()  # type: ignore[attr-defined]
    unread[1].write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await status(late, b"GET /none HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{") == 404
    assert await is_closed(late)
    await asyncio.sleep(1.0)
    unread[1].transport.resume_reading()  # type: ignore[attr-defined]
    with contextlib.suppress(ConnectionError):
        assert len(await asyncio.wait_for(unread[0].read(), 10)) < len(LARGE)


async def test_a_slow_reader_that_keeps_reading_is_served(connect: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BLOCKED", 0.5)
    reader, writer = await connect()
    writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    received = 0
    while chunk := await asyncio.wait_for(reader.read(1_000_000), 10):
        received += len(chunk)
        await asyncio.sleep(0.05)
    assert received > len(LARGE)
