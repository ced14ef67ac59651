"""The HTTP server: binds listeners when it is created, and is started and stopped by the worker."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp

from runtime.config.listeners import Listener
from runtime.rest.http.connections import DEFAULT_LIMITS, ConnectionLimits, Connections, CountedListener
from runtime.rest.http.protocol import bounded, in_chunks

SHUTDOWN_TIMEOUT = 2
"""Seconds in which requests in progress may finish when the worker ends."""

_SEND_BUFFER = 256 * 1024
"""Bytes of answers that the kernel buffers for a client; the default is megabytes."""


class PortTaken(Exception):
    """The listener's address cannot be bound; the message names the property and the remedy."""


_DATE_INTERVAL = 1.0  # seconds between two updates of the Date header


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the worker handles signals."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening, self._ending = asyncio.Event(), asyncio.Event()

    def end(self) -> None:
        """Stops accepting connections, and ends as soon as the requests in progress have ended."""
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        """Updates the Date header until `end` is called; uvicorn's own loop wakes ten times a second to look for it."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(_DATE_INTERVAL):
                    await self._ending.wait()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class RestServer:
    """Serves an application on addresses that are bound on creation, so that a port in use is reported early."""

    def __init__(
        self,
        key: str,
        listeners: Sequence[Listener],
        tls: ssl.SSLContext | None = None,
        limits: ConnectionLimits = DEFAULT_LIMITS,
    ) -> None:
        """`key` is the property that names the listeners; `tls` is used by those with https. Raises PortTaken."""
        self.bound: list[tuple[Listener, int]] = []
        self._tls, self._sockets = tls, []
        self._limits, self._connections = limits, Connections(limits)
        self._running: list[tuple[_Server, asyncio.Task[None]]] = []
        for listener in listeners:
            bound = _bind(key, listener, limits)
            bound.connections = self._connections
            self._sockets.append(bound)
            self.bound.append((listener, bound.getsockname()[1]))

    async def start(self, app: ASGIApp) -> None:
        """Starts to serve; returns when connections are accepted."""
        app = in_chunks(app)
        for (listener, _), bound in zip(self.bound, self._sockets, strict=True):
            tls = self._tls if listener.scheme == "https" else None
            server = _Server(_uvicorn(app, self._connections, self._limits, tls))
            serving = asyncio.create_task(server.serve(sockets=[bound]), name=f"rest {listener}")
            self._running.append((server, serving))
            await server.listening.wait()

    async def close(self) -> None:
        """Stops listening, and waits up to SHUTDOWN_TIMEOUT for requests in progress."""
        for server, _ in self._running:
            server.end()
        await asyncio.gather(*(serving for _, serving in self._running), return_exceptions=True)
        for bound in self._sockets:
            bound.close()


def _uvicorn(
    app: ASGIApp, connections: Connections, limits: ConnectionLimits, tls: ssl.SSLContext | None
) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=bounded(connections),
        ws="none",  # also where a library for them is installed
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,  # the audit log has the address of the TCP connection
        timeout_keep_alive=int(limits.idle_timeout),
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
        backlog=4096,  # with a full queue a client waits a second
    )
    config.load()
    config.ssl = tls
    return config


def _bind(key: str, listener: Listener, limits: ConnectionLimits) -> CountedListener:
    host, port = listener.host, listener.port
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        s = CountedListener(family, kind, proto)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)  # inherited by accepted sockets
        if listener.scheme == "https" and hasattr(socket, "TCP_DEFER_ACCEPT"):
            s.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, int(limits.head_timeout)
            )  # silent clients start no TLS handshake
        s.bind(address)
    except socket.gaierror as e:
        raise PortTaken(f"{key}: the host '{host}' cannot be resolved ({e.strerror})") from None
    except OSError as e:
        raise PortTaken(_why(key, host, port, e)) from None
    s.setblocking(False)
    return s


def _why(key: str, host: str, port: int, e: OSError) -> str:
    if e.errno == errno.EADDRINUSE:
        where = host or "all addresses"
        return f"port {port} on {where} is in use: stop the process that listens there, or set another port in `{key}`"
    return f"cannot listen on {host}:{port}: {e.strerror}"
