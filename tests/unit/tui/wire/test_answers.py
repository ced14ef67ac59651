"""Valid and invalid answers of servers and proxies as bytes on a socket, read by both transports."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import pytest

from tui.client.calls import ApiCall, Transport
from tui.errors import NotFound, TimedOut, Unreachable
from tui.wire.blocking import BlockingTransport
from tui.wire.connection import LONGEST_READ, Connection
from tui.wire.endpoint import Endpoint
from tui.wire.evented import AsyncTransport
from tui.wire.limits import SizeLimits

Kinds = pytest.mark.parametrize("kind", [BlockingTransport, AsyncTransport])
BODY = b'{"a":1}'


@contextmanager
def server(*answers: bytes, pieces: int = 1 << 20, pause: float = 0.0) -> Iterator[tuple[str, list[bytes]]]:
    """Answers each request with the next answer, `pieces` bytes at a time with pauses. Yields the URL and the requests
    received."""
    seen: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        left = list(answers)
        with listener:
            while left:
                taken, _ = listener.accept()
                taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with taken, suppress(OSError):
                    while left and (request := _request(taken)):
                        seen.append(request)
                        answer = left.pop(0)
                        for at in range(0, len(answer), pieces):
                            taken.sendall(answer[at : at + pieces])
                            time.sleep(pause)

    threading.Thread(target=serve, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen


def _request(taken: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and not head.startswith(b"\x16\x03"):  # a TLS ClientHello
        if not (read := taken.recv(65536)):
            return b""
        head += read
    return head


async def get(kind: Callable[[Endpoint], Transport], url: str, times: int = 1) -> list[Any]:
    transport = kind(Endpoint(url, response_timeout=5))
    try:
        return [await transport.send(ApiCall("GET", "/connectors")) for _ in range(times)]
    finally:
        await transport.close()


@Kinds
@pytest.mark.parametrize("pieces", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n" + BODY,
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{"\r\n5;x=y\r\na":1}\r\n0\r\nTrailer: z\r\n\r\n',
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        + b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n"
        + BODY,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY,
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    ],
    ids=["length", "chunks", "announced", "until the end", "HTTP/1.0"],
)
async def test_every_form_of_an_answer(kind: Callable[[Endpoint], Transport], answer: bytes, pieces: int) -> None:
    with server(answer, pieces=pieces) as (url, _):
        assert await get(kind, url) == [{"a": 1}]


@Kinds
@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" + BODY,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n" + BODY + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n" + BODY,
    ],
    ids=["cut", "chunks cut", "head cut", "SSH", "TLS", "no length"],
)
async def test_an_incomplete_or_foreign_answer_is_an_error(
    kind: Callable[[Endpoint], Transport], answer: bytes
) -> None:
    with server(answer) as (url, _), pytest.raises(Unreachable, match="cannot reach http://127"):
        await get(kind, url)


@Kinds
async def test_connections_are_kept_unless_the_server_closes_them(kind: Callable[[Endpoint], Transport]) -> None:
    kept = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n" + BODY
    last = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\n" + BODY
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    with server(kept, empty, last) as (url, seen):
        assert await get(kind, url, 3) == [{"a": 1}, None, {"a": 1}]
    assert len(seen) == 3
    assert all(request.lower().count(b"\r\nhost: 127.0.0.1:") == 1 for request in seen)


@Kinds
async def test_a_request_on_a_closed_connection_is_sent_on_a_new_one(kind: Callable[[Endpoint], Transport]) -> None:
    ends = server(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n" + BODY, b"")
    with ends as (url, seen), pytest.raises(Unreachable) as raised:
        await get(kind, url, 2)
    assert len(seen) == 2, "the request was sent again on a new connection"
    assert raised.value.sent, "it may have arrived the first time"


@Kinds
async def test_a_header_with_a_line_break_is_never_sent(kind: Callable[[Endpoint], Transport]) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with server(answer) as (url, seen):
        transport = kind(Endpoint(url, headers=(("X-Tenant", "a\r\nX-Admin: yes"),)))
        with pytest.raises(Unreachable, match=r"header|line"):
            await transport.send(ApiCall("GET", "/"))
        await transport.close()
        assert not any(b"X-Admin" in request for request in seen)


@pytest.mark.parametrize("status", [b"200 Connection established", b"407 Proxy Authentication Required"])
async def test_a_tunnel_through_a_proxy(status: bytes) -> None:
    """TLS starts only after the proxy's answer. Nothing here uses TLS, and the error gives the proxy's answer."""
    with server(b"HTTP/1.1 " + status + b"\r\nProxy-Agent: x\r\n\r\n", b"no TLS at all") as (proxy, seen):
        transport = BlockingTransport(Endpoint("https://connect.invalid:8083", proxy=proxy.replace("://", "://me:pw@")))
        said = "Tunnel connection failed: 407" if status.startswith(b"407") else "SSL|TLS|WRONG|wrong|EOF|closed"
        with pytest.raises(Unreachable, match=said):
            await transport.send(ApiCall("GET", "/"))
    assert seen[0].startswith(b"CONNECT connect.invalid:8083 HTTP/1.1\r\nHost: connect.invalid:8083\r\n")
    assert b"Proxy-Authorization: Basic bWU6cHc=\r\n" in seen[0]
    assert b"pw" not in seen[0]


@pytest.mark.parametrize("pieces", [1, 5, 1 << 20])
async def test_lines_of_a_stream(pieces: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (b"id: 1\nda", b"ta: x\n", b"\n", b"end"))
    for answer in (
        head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
        head + b"\r\nid: 1\ndata: x\n\nend",
    ):
        with server(answer, pieces=pieces) as (url, _):
            transport = BlockingTransport(Endpoint(url))
            assert [line async for line in transport.lines("/events", "")] == ["id: 1", "data: x", "", "end"]


async def test_a_whole_line_does_not_wait_for_the_end_of_the_next() -> None:
    """Both arrive in one packet, as two chunks."""
    listener = socket.create_server(("127.0.0.1", 0))
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (b"data: 1\n", b"dat"))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    def serve() -> None:
        taken, _ = listener.accept()
        with listener, taken:
            _request(taken)
            taken.sendall(head + chunks)
            taken.recv(1)  # the rest never arrives

    threading.Thread(target=serve, daemon=True).start()
    transport = BlockingTransport(Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}"))
    lines = transport.lines("/events", "", lasting=1.0)
    assert [line async for line in lines] == ["data: 1"]
    await transport.close()


@Kinds
async def test_a_server_that_sends_single_bytes_cannot_delay_clients(kind: Callable[[Endpoint], Transport]) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b" " * 1000
    with server(answer, pieces=1, pause=0.02) as (url, _):
        transport = kind(Endpoint(url, response_timeout=0.5))
        with pytest.raises(TimedOut, match=r"no response within 0\.5 s"):
            await asyncio.wait_for(transport.send(ApiCall("GET", "/connectors")), 30)
        await transport.close()


def test_a_read_is_short_so_that_a_signal_just_before_it_is_noticed() -> None:
    """Python's handler of a signal that arrives between two instructions and a system call runs after that call."""
    limits = list[float]()

    class Socket(socket.socket):
        def settimeout(self, value: float | None, /) -> None:
            limits.append(value or 0.0)
            super().settimeout(value)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = Connection(silent.getsockname(), 5.0, SizeLimits())
        connection.socket = Socket(fileno=connection.socket.detach())
        connection.within(LONGEST_READ * 1.4)
        connection.ask("GET", "/", {}, None)
        began, limits[:] = time.monotonic(), []
        with pytest.raises(TimeoutError):
            connection.response()
        connection.close()
    assert time.monotonic() - began >= LONGEST_READ * 1.4
    assert len(limits) >= 2
    assert max(limits) <= LONGEST_READ


def test_a_handshake_through_a_proxy_has_the_whole_time() -> None:
    """Although the proxy's response was read in short reads."""
    limits = list[float]()

    class Context:
        def wrap_socket(self, wrapped: socket.socket, server_hostname: str) -> socket.socket:
            limits.append(wrapped.gettimeout() or 0.0)
            return wrapped

    with server(b"HTTP/1.1 200 OK\r\n\r\n") as (url, _):
        connection = Connection(("127.0.0.1", int(url.rpartition(":")[2])), 5.0, SizeLimits())
        connection.tunnel("worker", 443, {})
        connection.secure(cast(Any, Context()), "worker")
        connection.close()
    assert limits[0] > 2 * LONGEST_READ


async def test_a_stream_of_single_bytes_ends_at_its_deadline() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"data: 1\n" + b"x" * 1000
    with server(answer, pieces=40, pause=0.02) as (url, _):
        transport = BlockingTransport(Endpoint(url))
        assert [line async for line in transport.lines("/events", "", lasting=0.5)] == ["data: 1"]
        await transport.close()


async def test_an_answer_that_is_not_an_event_stream() -> None:
    other = server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    with other as (url, _), pytest.raises(NotFound, match="no event stream"):
        await anext(BlockingTransport(Endpoint(url)).lines("/events", ""))
