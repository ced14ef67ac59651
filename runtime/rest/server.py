"""The HTTP server: one listener, started and stopped by the worker."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

DRAIN = 2
"""Seconds that requests under way may still take when the worker ends."""


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
    """Serves an application on an address that is bound at once, so that a taken port is known at once."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = _bind(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self, app: ASGIApp) -> None:
        """Listen; returns when connections are accepted."""
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=DRAIN,
            backlog=512,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]), name="rest")
        await self._server.listening.wait()

    async def close(self) -> None:
        """Stop listening and let requests end."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await asyncio.gather(self._serving, return_exceptions=True)
        self._socket.close()


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        s = socket.socket(family, kind, proto)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(address)
    except socket.gaierror as e:
        raise PortTaken(f"listeners: the host '{host}' is not known here ({e.strerror})") from None
    except OSError as e:
        raise PortTaken(_why(host, port, e)) from None
    s.setblocking(False)
    return s


def _why(host: str, port: int, e: OSError) -> str:
    if e.errno == errno.EADDRINUSE:
        where = host or "all addresses"
        return f"port {port} on {where} is in use: stop what listens there, or set another one in `listeners`"
    return f"cannot listen on {host}:{port}: {e.strerror}"
