"""The HTTP server: listeners bound at once, started and stopped by the worker."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from runtime.config.listeners import Listener
from runtime.rest.http.connections import HEAD, IDLE, Connections, CountedListener
from runtime.rest.http.protocol import bounded, in_pieces

DRAIN = 2
"""Seconds that requests under way may still take when the worker ends."""

_KERNEL = 256 * 1024
"""Bytes of answers that the kernel buffers for a client; by default megabytes for each."""


class PortTaken(Exception):
    """The listener's address cannot be bound; the message says what to do."""


class _Server(uvicorn.Server):
    """uvicorn, with signals left to the worker (it would raise them again after serving)."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class RestServer:
    """Serves an application on addresses that are bound at once, so that a taken port is known at once."""

    def __init__(self, key: str, listeners: Sequence[Listener], tls: ssl.SSLContext | None = None) -> None:
        """`key` is the property that names the listeners; `tls` is for those with https."""
        self.bound: list[tuple[Listener, int]] = []
        self._tls, self._sockets = tls, []
        self._connections = Connections()
        self._running: list[tuple[_Server, asyncio.Task[None]]] = []
        for listener in listeners:
            bound = _bind(key, listener)
            bound.connections = self._connections
            self._sockets.append(bound)
            self.bound.append((listener, bound.getsockname()[1]))

    async def start(self, app: ASGIApp) -> None:
        """Listen; returns when connections are accepted."""
        app = in_pieces(app)
        for (listener, _), bound in zip(self.bound, self._sockets, strict=True):
            server = _Server(_uvicorn(app, self._connections, self._tls if listener.scheme == "https" else None))
            serving = asyncio.create_task(server.serve(sockets=[bound]), name=f"rest {listener}")
            self._running.append((server, serving))
            await server.listening.wait()

    async def close(self) -> None:
        """Stop listening and let requests end."""
        for server, _ in self._running:
            server.should_exit = True
        await asyncio.gather(*(serving for _, serving in self._running), return_exceptions=True)
        for bound in self._sockets:
            bound.close()


def _uvicorn(app: ASGIApp, connections: Connections, tls: ssl.SSLContext | None) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=bounded(connections),
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,  # the audit log names who really asked
        timeout_keep_alive=int(IDLE),
        timeout_graceful_shutdown=DRAIN,
        backlog=4096,  # a full queue costs a client a second
    )
    config.load()
    config.ssl = tls
    return config


def _bind(key: str, listener: Listener) -> CountedListener:
    host, port = listener.host, listener.port
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        s = CountedListener(family, kind, proto)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL)  # inherited by accepted sockets
        if listener.scheme == "https" and hasattr(socket, "TCP_DEFER_ACCEPT"):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, int(HEAD))  # no TLS for silent clients
        s.bind(address)
    except socket.gaierror as e:
        raise PortTaken(f"{key}: the host '{host}' is not known here ({e.strerror})") from None
    except OSError as e:
        raise PortTaken(_why(key, host, port, e)) from None
    s.setblocking(False)
    return s


def _why(key: str, host: str, port: int, e: OSError) -> str:
    if e.errno == errno.EADDRINUSE:
        where = host or "all addresses"
        return f"port {port} on {where} is in use: stop what listens there, or set another one in `{key}`"
    return f"cannot listen on {host}:{port}: {e.strerror}"
