"""HTTP between workers, and from clients to workers: the workers' own ASGI applications over the simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from runtime.herder.group.peer_watch import PeerConnection
from tests.simulation.loop import Process, SimLoop
from tests.simulation.network import Network, settle

CONNECT_TIMEOUT = 3.0


class Refused(Exception):
    """Nothing listens at the address."""


class Disconnected(Exception):
    """The other process ended before its response was complete."""


class SilentTransport(asyncio.Transport):
    """Of a connection on which nothing is sent."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not data

    def abort(self) -> None:
        pass


@dataclass
class Listener:
    """A worker's REST API while it listens."""

    process: Process
    app: Any


@dataclass(frozen=True)
class Response:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass
class Web:
    """All listeners by `host:port`."""

    loop: SimLoop
    network: Network
    listeners: dict[str, Listener] = field(default_factory=dict)
    under_way: set[str] = field(default_factory=set)
    """Requests that workers are carrying out."""
    _served: int = 0

    async def connect(self, source: str, url: str, on_lost: Callable[[], None]) -> PeerConnection | None:
        """A connection without requests; None without a response within a second."""
        address = urlsplit(url).netloc
        try:
            async with asyncio.timeout(1.0):
                listener = await self._connect(source, address)
        except Refused:
            raise ConnectionRefusedError(address) from None
        except TimeoutError:
            return None
        connection = PeerConnection(on_lost)
        connection.connection_made(SilentTransport())
        host = address.partition(":")[0]
        listener.process.at_end.append(
            lambda: self.network.deliver(host, source, lambda: connection.connection_lost(None))
        )
        return connection

    async def _connect(self, source: str, address: str) -> Listener:
        """The kernel accepts connections, also for a frozen process."""
        found: asyncio.Future[Listener] = self.loop.create_future()
        target = address.partition(":")[0]

        def arrived() -> None:
            listener = self.listeners.get(address)
            alive = listener is not None and listener.process.alive
            self.network.deliver(target, source, lambda: settle(found, listener if alive else Refused(address)))

        self.network.deliver(source, target, arrived)
        return await found

    async def send(
        self, source: str, address: str, method: str, target: str, headers: Mapping[str, str], body: bytes,
    ) -> Response:  # fmt: skip
        """The response. Refused if the request was not sent, Disconnected if the other process dies meanwhile;
        TimeoutError if no connection is established. Waits without a limit for the response."""
        async with asyncio.timeout(CONNECT_TIMEOUT):
            listener = await self._connect(source, address)
        reply: asyncio.Future[Response] = self.loop.create_future()
        host = address.partition(":")[0]

        def arrived() -> None:
            if listener.process.alive and not self.network.loses("request"):
                listener.process.spawn(serve(), f"{method} {target}")
            else:
                self.network.deliver(host, source, lambda: settle(reply, Disconnected(address)))

        async def serve() -> None:
            self._served += 1
            served = f"{method} {target} at {address} ({self._served})"
            self.under_way.add(served)
            listener.process.at_end.append(lambda: self.under_way.discard(served))
            response = await call(listener.app, method, target, headers, body, source)
            self.under_way.discard(served)
            lost = self.network.loses("response of a worker")
            self.network.deliver(host, source, lambda: settle(reply, Disconnected(address) if lost else response))

        listener.process.at_end.append(
            lambda: self.network.deliver(host, source, lambda: settle(reply, Disconnected(address)))
        )
        self.network.deliver(source, host, arrived)
        return await reply


class Transport(httpx.AsyncBaseTransport):
    """The network between workers, for WorkerClients."""

    def __init__(self, web: Web, source: str) -> None:
        self._web, self._source = web, source

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        target = request.extensions["target"].decode()
        timeout = request.extensions["timeout"]["read"]
        headers = dict(request.headers.items())
        address = f"{request.url.host}:{request.url.port}"
        work = self._web.send(self._source, address, request.method, target, headers, await request.aread())
        try:
            async with asyncio.timeout(timeout):
                try:
                    response = await work
                except TimeoutError:
                    raise httpx.ConnectTimeout("cannot connect") from None
        except Refused as e:
            raise httpx.ConnectError(f"refused: {e}") from None
        except Disconnected as e:
            raise httpx.ReadError(f"disconnected: {e}") from None
        except TimeoutError:
            raise httpx.ReadTimeout("no response") from None
        return httpx.Response(response.status, headers=response.headers, stream=httpx.ByteStream(response.body))


async def call(app: Any, method: str, target: str, headers: Mapping[str, str], body: bytes, source: str) -> Response:
    """One request to an ASGI application."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        "client": (source, 1), "server": ("worker", 8083),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if given:
            return given.pop()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    content = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    return Response(sent[0]["status"], sent[0].get("headers", []), content)
