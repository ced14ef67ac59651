"""Attacks by clients of a listener: certificates, and connections that are held over https as over http."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from runtime.config.listeners import Listener
from runtime.rest.events import MAX_STREAMS_PER_ADDRESS
from runtime.rest.http.connections import DEFAULT_LIMITS
from runtime.rest.http.responses import json_response
from runtime.rest.http.server import RestServer
from runtime.rest.security.tls import server_context
from tests.support.servers.certificates import Stores, make_stores
from tests.support.waiting import soon


@dataclass(frozen=True, slots=True)
class Certificates:
    server: Stores
    trusted: Stores
    expired: Stores
    stranger: Stores
    truststore: Path  # of the listener: `trusted` and `expired`


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    server, trusted, stranger = (make_stores(folder / name, name) for name in ("server", "trusted", "stranger"))
    expired = make_stores(folder / "expired", "expired", days=-1)
    truststore = folder / "trust.pem"
    truststore.write_bytes(trusted.trust.read_bytes() + expired.trust.read_bytes())
    return Certificates(server, trusted, expired, stranger, truststore)


@asynccontextmanager
async def listener(c: Certificates, client_auth: str) -> AsyncIterator[str]:
    settings = {
        "ssl.keystore.location": str(c.server.pem),
        "ssl.truststore.location": str(c.truststore),
        "ssl.client.auth": client_auth,
    }
    server = RestServer("listeners", [Listener("https", "127.0.0.1", 0)], server_context(settings))
    await server.start(json_response("secret"))
    yield f"https://127.0.0.1:{server.bound[0][1]}/"
    await server.close()


@pytest.mark.parametrize(
    ("client_auth", "shown", "answered"),
    [
        ("required", None, False),
        ("required", "stranger", False),
        ("required", "expired", False),
        ("required", "trusted", True),
        ("requested", None, True),
        ("requested", "stranger", False),
        ("requested", "expired", False),
        ("requested", "trusted", True),
        ("none", "stranger", True),
    ],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_without_a_valid_certificate_gets_no_response(
    certificates: Certificates, client_auth: str, shown: str | None, answered: bool, version: ssl.TLSVersion
) -> None:
    """With TLS 1.3 its handshake seems to succeed, and the refusal follows."""
    context = ssl.create_default_context(cafile=str(certificates.server.trust))
    context.minimum_version = context.maximum_version = version
    if shown is not None:
        context.load_cert_chain(getattr(certificates, shown).pem)
    async with listener(certificates, client_auth) as url, httpx.AsyncClient(verify=context) as client:
        try:
            status = (await client.get(url)).status_code
        except httpx.TransportError:
            status = 0
    assert (status == 200) is answered


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
async def test_a_client_cannot_choose_a_broken_version_of_tls(
    certificates: Certificates, version: ssl.TLSVersion
) -> None:
    context = ssl.create_default_context(cafile=str(certificates.server.trust))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    async with listener(certificates, "none") as url, httpx.AsyncClient(verify=context) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(url)


@dataclass(frozen=True, slots=True)
class Target:
    """A server in a process of its own; `tls` is None for its http listener."""

    port: int
    tls: ssl.SSLContext | None

    async def connect(
        self, request: bytes, source: str = "127.0.0.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.tls, limit=1024, local_addr=(source, 0)
        )
        writer.write(request)
        return reader, writer

    async def status(self, path: str) -> int:
        """The status of a request on a connection of its own, which is closed."""
        reader, writer = await self.connect(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        try:
            return int((await reader.readline()).split()[1])
        finally:
            writer.transport.abort()


@pytest.fixture(scope="module")
def ports(certificates: Certificates) -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "tests.support.servers.rest_server", str(certificates.server.pem)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        http, https = json.loads(process.stdout.readline())
        yield http, https
        process.stdin.close()


@pytest.fixture(params=["http", "https"])
def target(request: pytest.FixtureRequest, ports: tuple[int, int], certificates: Certificates) -> Target:
    if request.param == "http":
        return Target(ports[0], None)
    return Target(ports[1], ssl.create_default_context(cafile=str(certificates.server.trust)))


@asynccontextmanager
async def held(
    target: Target, count: int, request: bytes, addresses: int = 1
) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Connections of this number of addresses, which send this and never end; the server closes some meanwhile."""
    writers, readers = [], []
    for first in range(0, count, 50):
        opened = await asyncio.gather(
            *(target.connect(request, f"127.0.0.{1 + n % addresses}") for n in range(first, min(first + 50, count))),
            return_exceptions=True,
        )
        for one in opened:
            if not isinstance(one, BaseException):
                readers.append(one[0])
                writers.append(one[1])
    try:
        yield readers
    finally:
        for writer in writers:
            writer.transport.abort()


async def prompt(target: Target, path: str, status: int) -> None:
    began = time.monotonic()
    assert await target.status(path) == status
    assert time.monotonic() - began < soon(2)


STREAM = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.soak
async def test_thousands_of_clients_of_many_addresses_that_never_read_block_nobody(target: Target) -> None:
    """The worker serves 128 streams; other requests, and those of monitoring, are answered meanwhile."""
    async with held(target, 2_000, STREAM, addresses=40):
        for _ in range(10):
            await prompt(target, "/health", 200)
            await prompt(target, "/", 200)
            await prompt(target, "/events", 503)


@pytest.mark.soak
async def test_a_client_that_opens_hundreds_of_event_streams_and_never_reads_blocks_nobody(target: Target) -> None:
    """The next stream of its address gets 503 with the advice to poll, and all other requests are answered."""
    async with held(target, 300, STREAM):
        for _ in range(5):
            await prompt(target, "/health", 200)
            await prompt(target, "/", 200)
            await prompt(target, "/events", 503)
    with contextlib.suppress(AssertionError):
        async with asyncio.timeout(20):
            while await target.status("/events") != 200:  # noqa: ASYNC110 - the server is another process
                await asyncio.sleep(0.05)
    await prompt(target, "/events", 200)


async def test_event_streams_beyond_the_limit_name_it(target: Target) -> None:
    async with held(target, MAX_STREAMS_PER_ADDRESS + 8, STREAM) as readers:
        statuses = [int((await reader.readline()).split()[1]) for reader in readers]
    assert sorted(statuses) == [200] * MAX_STREAMS_PER_ADDRESS + [503] * 8


@pytest.mark.soak
async def test_heads_that_are_sent_byte_by_byte_block_nobody(target: Target) -> None:
    async with held(target, 400, b"GET / HTTP/1.1\r\nHost: localh"):
        for _ in range(5):
            await prompt(target, "/", 200)


async def test_a_huge_head_is_refused(target: Target) -> None:
    for head in (b"X: " + b"x" * 200_000, b"X: y\r\n" * 50_000, b"X" * 200_000):
        reader, writer = await target.connect(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + head)
        async with asyncio.timeout(DEFAULT_LIMITS.head_timeout / 2):
            first = await reader.readline()
        assert first.split()[1:2] in ([b"400"], [b"431"]), first
        writer.transport.abort()
    await prompt(target, "/", 200)
