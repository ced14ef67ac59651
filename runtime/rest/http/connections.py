"""Limits the number of connections, in total and by address, and their idle time, from accept() on, before TLS.

Beyond a limit the connection with the lowest rank (`AcceptedConnection.rank`) is closed. A request in progress is never
closed to make room. If every connection has a request in progress, a few more are accepted for health probes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import sys
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol

import h11

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one server: numbers of connections, seconds and bytes."""

    connections: int = 512
    """The most connections, if there are enough file descriptors; one address may have half of them."""

    reserved: int = 32
    """Connections beyond the limit, on which only /health is answered."""

    head_timeout: float = 20.0
    """Seconds from accept() until the head of the first request is complete, TLS handshake included."""

    idle_timeout: float = 30.0
    """Seconds between two requests."""

    linger_timeout: float = 2.0
    """Seconds for which a client may continue to send a body after the response, or take to close."""

    unread_timeout: float = 20.0
    """Seconds that a client may take to read about 50 kB of its response (asyncio's water marks)."""

    unread_bytes: int = 256 * 1024 * 1024
    """Bytes of answers that all clients together may leave unread."""


DEFAULT_LIMITS = ConnectionLimits()

_SWEEP = 0.25  # seconds between two checks of all connections
_BATCH = 64  # connections accepted before others are served again
_FLOODED_BATCH = 1024  # the same in a flood, in which most connections are only dropped
_CLOSED, _CLOSE_WAIT = 7, 8  # states of a connection in Linux' tcp_info

ConnectionKey = tuple[Any, Any]
"""Addresses of both ends, which identify a connection."""


class HttpConnection(Protocol):
    """The state of the HTTP protocol on a connection (see `protocol.BoundedProtocol`)."""

    conn: h11.Connection
    transport: asyncio.Transport
    served: bool  # a response has been sent

    @property
    def idle(self) -> bool: ...
    @property
    def responding(self) -> bool: ...


class AcceptedConnection:
    """One accepted connection."""

    def __init__(self, sock: socket.socket, key: ConnectionKey, limits: ConnectionLimits) -> None:
        self._limits = limits
        self.socket, self.key, self.address = sock, key, key[0][0]
        self.since = time.monotonic()  # start of the current state
        self.reserved = False  # only for health probes
        self.protocol: HttpConnection | None = None  # None during the TLS handshake
        self.unread, self.last_read = 0, self.since  # unread bytes, and the time of the client's last read

    @property
    def rank(self) -> int | None:
        """The order of closing; None for a request in progress.

        0: still sending after its response; 1: without a request; 2: slow to send a body; 3: not reading its response.
        """
        if self.protocol is None or self.protocol.idle:
            return 1
        if self.protocol.conn.their_state is h11.SEND_BODY:
            if not self.protocol.responding:
                return 0
            return 2 if time.monotonic() - self.since > self._limits.linger_timeout else None
        return 3 if self.unread and time.monotonic() - self.last_read > self._limits.linger_timeout else None

    def overdue(self) -> bool:
        """Whether the connection has timed out; also records how much the client has read."""
        now = time.monotonic()
        if self.protocol is None:
            return now - self.since > self._limits.head_timeout
        self._note_unread(now)
        if self.unread and now - self.last_read > self._limits.unread_timeout:
            return True
        if self.protocol.transport.is_closing() or self.rank == 0:
            return now - max(self.since, self.last_read if self.unread else 0) > self._limits.linger_timeout
        return self.rank == 1 and now - self.since > (
            self._limits.idle_timeout if self.protocol.served else self._limits.head_timeout
        )

    def _note_unread(self, now: float) -> None:
        assert self.protocol is not None
        size = self.protocol.transport.get_write_buffer_size()
        if not self.unread:
            self.last_read = now
        self.unread = size

    def abort(self) -> None:
        if self.protocol is not None:
            self.protocol.transport.abort()
        else:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # ends the handshake


class Connections:
    """The connections of one server. Event loop only."""

    def __init__(self, limits: ConnectionLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        available = (
            soft // 2 if soft != resource.RLIM_INFINITY else limits.connections
        )  # Kafka's clients need the other file descriptors
        self.limit = min(limits.connections, available)
        self._open: dict[ConnectionKey, AcceptedConnection] = {}
        # Of ranks 0 and 1; the first is closed first.
        self._idle: OrderedDict[ConnectionKey, AcceptedConnection] = OrderedDict()
        self._by_address: Counter[str] = Counter()
        self._reserved = 0
        self._sweeping = False
        self._warned = False

    def accepted(self, sock: socket.socket, key: ConnectionKey) -> bool:
        """Counts a new connection, and closes another one if necessary; False if it must be refused."""
        connection = AcceptedConnection(sock, key, self._limits)
        address_full = self._by_address[connection.address] >= max(self.limit // 2, 1)
        if address_full or len(self._open) >= self.limit:
            self._warn()
            if not self._close_one(connection.address if address_full else None):
                connection.reserved = True
                if self._reserved >= self._limits.reserved:
                    return False
                self._reserved += 1
        self._open[key] = self._idle[key] = connection
        self._by_address[connection.address] += 1
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(_SWEEP, self._sweep)
        return True

    def http_started(self, key: ConnectionKey, protocol: HttpConnection) -> AcceptedConnection | None:
        """The connection now uses HTTP; None if it has been closed meanwhile."""
        connection = self._open.get(key)
        if connection is not None:
            connection.protocol = protocol
        return connection

    def closed(self, key: ConnectionKey) -> None:
        if connection := self._open.pop(key, None):
            self._idle.pop(key, None)
            self._reserved -= connection.reserved
            self._by_address[connection.address] -= 1
            if not self._by_address[connection.address]:
                del self._by_address[connection.address]

    def request_started(self, connection: AcceptedConnection) -> None:
        connection.since = time.monotonic()
        self._idle.pop(connection.key, None)

    def request_ended(self, connection: AcceptedConnection) -> None:
        """A request has been answered."""
        connection.since = time.monotonic()
        if connection.key in self._open:
            self._idle[connection.key] = connection
            self._idle.move_to_end(connection.key, last=connection.rank != 0)

    def _close_one(self, address: str | None) -> bool:
        for connection in self._idle.values():
            if address in (None, connection.address):
                self._abort(connection)
                return True
        candidates = (c for c in self._open.values() if address in (None, c.address))
        slow = [(rank, c.since, c) for c in candidates if (rank := c.rank) is not None]
        if slow:
            self._abort(min(slow, key=lambda candidate: candidate[:2])[2])
        return bool(slow)

    def _abort(self, connection: AcceptedConnection) -> None:
        connection.abort()
        self.closed(connection.key)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "Too many connections (more than %d, or half as many from one address): closing those that neither "
                "send nor read",
                self.limit,
            )

    def _sweep(self) -> None:
        for connection in [c for c in self._open.values() if c.overdue()]:
            self._abort(connection)
        unread = sorted((c for c in self._open.values() if c.unread), key=lambda c: c.last_read)
        total = sum(c.unread for c in unread)
        while total > self._limits.unread_bytes:
            connection = unread.pop(0)
            total -= connection.unread
            self._abort(connection)
        self._warned &= len(self._open) > self.limit // 4
        self._sweeping = bool(self._open)
        if self._sweeping:
            asyncio.get_running_loop().call_later(_SWEEP, self._sweep)


class CountedListener(socket.socket):
    """A listening socket that counts accepted connections, so that they are bounded before the TLS handshake."""

    connections: Connections
    _batch = 0
    _is_flooded = False  # more connections were waiting than one batch

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection within the limits. Raises BlockingIOError if no connection waits, and after each batch,
        so that open connections are served. In a flood, connections that the client has closed already are dropped
        here, since to serve them would cost a hundred times as much."""
        while self._batch < (_FLOODED_BATCH if self._is_flooded else _BATCH):
            self._batch += 1
            try:
                number, address = self._accept()  # type: ignore[attr-defined]  # in CPython, not in its type stubs
            except OSError:
                self._batch, self._is_flooded = 0, False
                raise
            accepted = _Counted(self.family, self.type, self.proto, fileno=number)
            if self._is_flooded and _is_closed_by_client(accepted):
                accepted.close()
                continue
            try:
                key = (address, accepted.getsockname())
            except OSError:  # closed already
                accepted.close()
                continue
            self._batch += _FLOODED_BATCH // _BATCH - 1 if self._is_flooded else 0
            if self.connections.accepted(accepted, key):
                accepted.connections, accepted.key = self.connections, key
                return accepted, address
            accepted.close()
        self._batch, self._is_flooded = 0, True
        raise BlockingIOError


def _is_closed_by_client(sock: socket.socket) -> bool:
    """Whether the client has closed its side; False where the system does not say."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in (_CLOSE_WAIT, _CLOSED)
    except OSError:
        return True


class _Counted(socket.socket):
    """A socket that reports its end to `Connections`."""

    connections: Connections | None = None
    key: ConnectionKey

    def close(self) -> None:
        if self.connections is not None:
            self.connections.closed(self.key)
            self.connections = None
        super().close()
