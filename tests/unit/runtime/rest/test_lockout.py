"""Clients that try to block others: under each attack an authenticated client is answered within a second.

The attacks run on loopback and are limited in number and time."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.rest.events import MAX_STREAMS_PER_ADDRESS
from runtime.rest.http.connections import DEFAULT_LIMITS
from tests.support.servers.certificates import make_stores
from tests.support.waiting import soon

ATTACKERS = 600
SECRET = "Basic " + base64.b64encode(b"ann:secret").decode()


@dataclass
class Served:
    """A server with two listeners, and a client that knows the password."""

    http: int
    https: int
    tls: ssl.SSLContext

    async def probe(self, path: str = "/", tls: bool = False) -> tuple[int, float]:
        """Status and seconds of an authenticated request on a connection of its own."""
        started = time.monotonic()
        port, context = (self.https, self.tls) if tls else (self.http, None)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: {SECRET}", "Connection: close"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        status = int((await reader.readline()).split()[1])
        taken = time.monotonic() - started
        writer.transport.abort()
        return status, taken

    def attack(self, requests: Sequence[bytes], port: int | None = None, each: int = ATTACKERS) -> list[socket.socket]:
        """Opens connections that send these requests and never read."""
        return [_attacker(port or self.http, requests[i % len(requests)]) for i in range(each)]


def _attacker(port: int, request: bytes) -> socket.socket:
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        s.connect(("127.0.0.1", port))
    _send(s, request)
    return s


def _send(s: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        s.send(data)


def _serve(folder: Path, *users: str) -> Iterator[Served]:
    stores = make_stores(folder)
    command = [sys.executable, "-m", "tests.support.servers.rest_server", str(stores.pem), *users]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        http, https = json.loads(process.stdout.readline())
        yield Served(http, https, ssl.create_default_context(cafile=str(stores.trust)))
        process.stdin.close()


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with authentication."""
    yield from _serve(tmp_path_factory.mktemp("stores"), "ann:secret")


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without authentication."""
    yield from _serve(tmp_path_factory.mktemp("stores"))


def close(attackers: Sequence[socket.socket]) -> None:
    for s in attackers:
        s.close()


async def holds(probe: Callable[[], Awaitable[tuple[int, float]]], seconds: float = 0.7) -> None:
    """Checks for these seconds that every probe is answered within one second, or later on an overloaded machine."""
    limit = soon(1)
    end = time.monotonic() + seconds
    await asyncio.sleep(0)
    while time.monotonic() < end:
        status, taken = await asyncio.wait_for(probe(), 30)
        assert (status, taken < limit) == (200, True), f"{status} after {taken:.2f} s"


HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
DRIP = b"Content-Length: 100\r\n\r\n{"
AUTHORIZED = f"Authorization: {SECRET}\r\n".encode()


@pytest.mark.parametrize("auth", [b"", AUTHORIZED])
async def test_slowly_sent_bodies_that_no_handler_reads(protected: Served, auth: bytes) -> None:
    attackers = protected.attack([HEAD + auth + DRIP])
    await holds(protected.probe)
    for s in attackers:
        _send(s, b"{")
    await holds(protected.probe)
    close(attackers)


async def test_slowly_sent_bodies_without_authentication(free: Served) -> None:
    request = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" + DRIP
    attackers = free.attack([request])
    await holds(lambda: free.probe("/health"), DEFAULT_LIMITS.linger_timeout)
    await holds(free.probe)
    close(attackers)


@pytest.mark.parametrize("auth", [b"", AUTHORIZED])
async def test_streams_of_events(protected: Served, auth: bytes) -> None:
    attackers = protected.attack([b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n" + auth + b"\r\n"])
    await holds(protected.probe)
    assert not auth or (await protected.probe("/events"))[0] == 503, (
        f"one address has at most {MAX_STREAMS_PER_ADDRESS} streams"
    )
    close(attackers)


async def test_connections_without_a_tls_handshake(protected: Served) -> None:
    attackers = protected.attack([b"", b"\x16\x03\x01"], protected.https, 1500)
    await holds(lambda: protected.probe(tls=True))
    await holds(protected.probe, 0.5)
    close(attackers)


async def test_answers_that_clients_do_not_read(free: Served) -> None:
    attackers = free.attack([b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
    await holds(lambda: free.probe("/health"), DEFAULT_LIMITS.linger_timeout + 0.5)
    await holds(free.probe)
    close(attackers)


async def test_connections_that_open_and_close(protected: Served) -> None:
    going = True

    async def flood() -> None:
        while going:
            attackers = protected.attack([b"", HEAD], each=50)
            await asyncio.sleep(0)
            close(attackers)

    flooding = asyncio.create_task(flood())
    await holds(protected.probe)
    going = False
    await flooding
