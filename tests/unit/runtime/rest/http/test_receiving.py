"""Large bodies: parsed outside the event loop, limited in values, depth and total memory."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.config.listeners import Listener
from runtime.herder.errors import BadRequest, NotFound
from runtime.rest.app import application
from runtime.rest.http import bodies, receiving
from runtime.rest.http.parameters import path_name
from runtime.rest.http.receiving import BODY_LIMIT, LARGE_BODY_LIMIT, BodyMemory
from runtime.rest.http.responses import json_response
from runtime.rest.http.server import RestServer
from runtime.rest.resource import Resource
from tests.support.waiting import allowed, until

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
ENTRY = b'{"partition":{"kafka_topic":"topic-name-1","kafka_partition":17},"offset":{"kafka_offset":123456}}'


class HeldParser:
    """Parses a body when the test allows it."""

    def __init__(self) -> None:
        self.called, self.allowed = threading.Event(), threading.Event()

    def __call__(self, body: bytes) -> Any:
        self.called.set()
        assert self.allowed.wait(allowed(30))
        return bodies.parse(body)


async def _post(held: HeldParser, r: Request) -> Response:
    if path_name(r) == "unknown":
        raise NotFound("no such connector")
    found = await receiving.parsed(r, held if path_name(r) == "held" else bodies.parse, LARGE_BODY_LIMIT)
    return json_response(len(found))


async def _get(_: Request) -> Response:
    return json_response("alive")


@pytest.fixture
def memory(request: pytest.FixtureRequest) -> BodyMemory:
    """The server's memory for bodies; a parametrization may replace it."""
    given = getattr(request, "param", None)
    return given if isinstance(given, BodyMemory) else BodyMemory()


@pytest.fixture
def held() -> HeldParser:
    """The parser of bodies that are posted to the connector `held`."""
    return HeldParser()


@pytest.fixture
async def opened(memory: BodyMemory, held: HeldParser) -> AsyncIterator[Callable[[], Awaitable[Stream]]]:
    server = RestServer("listeners", [Listener("http", "127.0.0.1", 0)])
    await server.start(application([Route("/x/{name}", Resource(get=_get, post=partial(_post, held)))], memory))
    streams: list[Stream] = []

    async def connect() -> Stream:
        streams.append(await asyncio.open_connection("127.0.0.1", server.bound[0][1]))
        return streams[-1]

    yield connect
    for _, writer in streams:
        writer.close()
    await server.close()


def head(name: str, length: int) -> bytes:
    request = f"POST /x/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{request}Content-Length: {length}\r\n\r\n".encode()


async def status(stream: Stream) -> int:
    line = await asyncio.wait_for(stream[0].readline(), 20)
    while (await asyncio.wait_for(stream[0].readline(), 30)).strip():
        pass
    return int(line.split()[1])


async def probe(stream: Stream) -> None:
    """Waits until a GET is answered."""
    stream[1].write(b"GET /x/y HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert await status(stream) == 200
    await stream[0].readexactly(7)


async def test_others_are_answered_while_a_large_body_is_parsed(
    opened: Callable[[], Awaitable[Stream]], held: HeldParser
) -> None:
    body = b"[" + b",".join([ENTRY] * 50_000) + b"]"
    large, small = await opened(), await opened()
    large[1].write(head("held", len(body)) + body)
    response = asyncio.create_task(status(large))
    await until(held.called.is_set)
    for _ in range(3):
        await probe(small)
    assert not response.done()
    held.allowed.set()
    assert await response == 200


async def test_the_connector_is_looked_up_before_the_body_is_received(
    opened: Callable[[], Awaitable[Stream]],
) -> None:
    stream = await opened()
    stream[1].write(head("unknown", LARGE_BODY_LIMIT))
    assert await status(stream) == 404


async def test_a_body_that_is_declared_too_large_is_refused_at_once(opened: Callable[[], Awaitable[Stream]]) -> None:
    stream = await opened()
    stream[1].write(head("c", LARGE_BODY_LIMIT + 1))
    assert await status(stream) == 413


@pytest.mark.parametrize("memory", [BodyMemory(4 * 1024 * 1024, rate_grace=0.05)], indirect=True)
async def test_unfinished_bodies_share_one_limit(opened: Callable[[], Awaitable[Stream]], memory: BodyMemory) -> None:
    """The slowest body is dropped; a body that arrives quickly is received."""
    unfinished = [await opened() for _ in range(12)]
    for stream in unfinished:
        stream[1].write(head("c", LARGE_BODY_LIMIT) + b"[" + b" " * 1024 * 1024)
        with contextlib.suppress(ConnectionError):
            await stream[1].drain()
        await asyncio.sleep(0.06)
        assert memory.used <= memory.limit
    body = b"[" + b" " * 1_000_000 + b"]"
    stream = await opened()
    stream[1].write(head("c", len(body)) + body)
    assert await status(stream) == 200
    statuses = [await status(s) for s in unfinished[:4]]
    assert set(statuses) <= {408, 503}


async def test_memory_is_released_when_requests_are_answered(
    opened: Callable[[], Awaitable[Stream]], memory: BodyMemory
) -> None:
    body = b"[" + b" " * 200_000 + b"]"
    for name, expected in (("c", 200), ("c", 400)):
        stream = await opened()
        stream[1].write(head(name, len(body)) + (body if expected == 200 else body[:-1] + b"x"))
        assert await status(stream) == expected
    assert (memory.used, memory.charges) == (0, set())


def values(count: int) -> bytes:
    return b"[" + b",".join([b"[]"] * count) + b"]"


@pytest.mark.parametrize("limit", [BODY_LIMIT, LARGE_BODY_LIMIT])
def test_the_number_of_values_is_bounded(limit: int) -> None:
    most = receiving.MAX_VALUES[limit]
    with pytest.raises(BadRequest, match="more than"):
        receiving.count_values(values(most), limit)
    assert receiving.count_values(values(most // 2 - 1), limit) <= most
    text = b'["' + b'[{,\\",' * most + b'\\\\", 1]'
    assert receiving.count_values(text, limit) == 2, "the contents of strings do not count"


@pytest.mark.parametrize("deep", [b"[" * 250 + b"]" * 250, b'{"a":' * 250 + b"1" + b"}" * 250])
def test_depth_is_bounded(deep: bytes) -> None:
    with pytest.raises(BadRequest, match="nested too deeply"):
        bodies.parse(deep)
    assert bodies.parse(b"[" * 200 + b"]" * 200)


def test_numbers_keep_their_text_in_large_bodies() -> None:
    found: Any = bodies.parse(b'{"a": 1.50, "b": [1e3, 12345678901234567890]}', exact_numbers=True)
    assert (str(found["a"]), [str(x) for x in found["b"]]) == ("1.50", ["1e3", "12345678901234567890"])
