"""Connections that are bounded in number and in patience: who sends nothing, or too slowly, makes room for others."""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

HEAD = 20.0
"""Seconds from a connection, or the first byte of a later request, until the request's head is complete."""

MOST = 512
"""Connections at a time, where there are descriptors for so many."""


class Connections:
    """Those of one server. When there are too many, the one that has been without a request longest is closed."""

    def __init__(self, most: int | None = None) -> None:
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        few = soft // 2 if soft != resource.RLIM_INFINITY else MOST  # Kafka's clients need the others
        self._most = min(MOST, few) if most is None else most
        self._open: set[BoundedProtocol] = set()
        self._waiting: dict[BoundedProtocol, None] = {}  # oldest first
        self._told = False

    def add(self, connection: BoundedProtocol) -> None:
        self._open.add(connection)
        if len(self._open) > self._most:
            if not self._told:
                self._told = True
                log.warning("More than %d connections: those that say nothing are closed", self._most)
            oldest = next(iter(self._waiting), connection)
            self.remove(oldest)
            oldest.transport.abort()

    def remove(self, connection: BoundedProtocol) -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._told &= len(self._open) > self._most // 2

    def waits(self, connection: BoundedProtocol, waits: bool) -> None:
        """Whether it has a request under way; if not, it may have to go."""
        if not waits:
            self._waiting.pop(connection, None)
        elif connection in self._open:
            self._waiting.setdefault(connection)


class BoundedProtocol(H11Protocol):
    """uvicorn's, which would wait for ever for the end of a request's head."""

    all: Connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self.all.add(self)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.all.remove(self)
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look(idle=True)

    def _look(self, idle: bool = False) -> None:
        """`idle`: between two requests uvicorn's own timer runs."""
        waits = self.conn.their_state is h11.IDLE
        self.all.waits(self, waits)
        if not waits:
            self._stop_timer()
        elif self._head is None and not idle:
            self._head = self.loop.call_later(HEAD, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def bounded() -> type[BoundedProtocol]:
    """The protocol of one server, whose connections are counted together."""
    return type("OfOneServer", (BoundedProtocol,), {"all": Connections()})
