"""A response or event of any size costs the console no more memory than its limit."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from socket import create_server, socket
from typing import Any

import pytest

from tui.client.calls import ApiCall
from tui.errors import HeadraceError
from tui.wire.blocking import BlockingTransport
from tui.wire.endpoint import Endpoint
from tui.wire.evented import AsyncTransport
from tui.wire.limits import SizeLimits

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
PART = b"x" * (1 << 16)
MOST_PARTS = 1000  # 64 MB: enough to show a missing limit
Transport = BlockingTransport | AsyncTransport
TRANSPORTS = pytest.mark.parametrize("kind", [BlockingTransport, AsyncTransport])


@pytest.fixture
def serve() -> Iterator[Callable[[list[bytes]], Endpoint]]:
    """Serves the same bytes to one connection, then closes it."""
    opened: list[tuple[socket, threading.Thread]] = []

    def start(sent: list[bytes]) -> Endpoint:
        server = create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=_send, args=(server, sent))
        opened.append((server, thread))
        thread.start()
        small = SizeLimits(1 << 20, 1 << 20)
        return Endpoint(f"http://127.0.0.1:{server.getsockname()[1]}", response_timeout=20, sizes=small)

    yield start
    for server, thread in opened:
        thread.join(20)
        server.close()


def _send(server: socket, sent: list[bytes]) -> None:
    connection, _ = server.accept()
    with connection, suppress(OSError):
        connection.recv(1 << 16)
        for part in sent:
            connection.sendall(part)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def refused(transport: Transport, use: Callable[[Transport], Any]) -> str:
    with pytest.raises(HeadraceError) as raised:
        await use(transport)
    await transport.close()
    return str(raised.value)


async def body(transport: Transport) -> Any:
    return await transport.send(ApiCall("GET", "/"))


async def stream(transport: Transport) -> int:
    return len([line async for line in transport.lines("/events", "")])


@TRANSPORTS
def test_an_endless_body(kind: type[Transport], serve: Callable[[list[bytes]], Endpoint]) -> None:
    endpoint = serve([CHUNKED % b"application/json", *[chunk(PART)] * MOST_PARTS])
    assert f"{endpoint.url}: the response is larger than 1 MiB" in asyncio.run(refused(kind(endpoint), body))


@TRANSPORTS
@pytest.mark.parametrize("line", [PART, b"data: " + PART + b"\n"], ids=["line", "event"])
def test_an_endless_event(kind: type[Transport], line: bytes, serve: Callable[[list[bytes]], Endpoint]) -> None:
    endpoint = serve([CHUNKED % b"text/event-stream", *[chunk(line)] * MOST_PARTS])
    assert f"{endpoint.url}: the response is larger than 1 MiB" in asyncio.run(refused(kind(endpoint), stream))


@TRANSPORTS
def test_a_long_stream_of_small_events(kind: type[Transport], serve: Callable[[list[bytes]], Endpoint]) -> None:
    event = b"data: " + PART + b"\n\n"
    endpoint = serve([CHUNKED % b"text/event-stream", *[chunk(event)] * 50, b"0\r\n\r\n"])
    assert asyncio.run(stream(kind(endpoint))) >= 100


@pytest.mark.parametrize(
    ("encoding", "said"), [(b"gzip", "is larger than 1 MiB"), (b"gzip, gzip", "Content-Encoding 'gzip, gzip'")]
)
def test_a_compressed_body(encoding: bytes, said: str, serve: Callable[[list[bytes]], Endpoint]) -> None:
    packed = gzip.compress(bytes(1 << 24))
    for _ in range(encoding.count(b",")):
        packed = gzip.compress(packed)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (encoding, len(packed))
    assert said in asyncio.run(refused(AsyncTransport(serve([head, packed])), body))
