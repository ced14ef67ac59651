"""Bounds connections in total, by address and in time, counted from accept(), before TLS.

If there are too many, the connection with the lowest rank (`Place.rank`) is closed. A request in progress is never
closed for others; if all are in progress, a few more connections are accepted for health probes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import time
from collections import Counter, OrderedDict
from typing import Any, Protocol

import h11

log = logging.getLogger(__name__)

MOST = 512
"""Connections at a time, if there are enough descriptors; one address may have half of them."""

RESERVED = 32
"""Further connections, on which only /health is answered."""

HEAD = 20.0
"""Seconds from accept() until the head of the first request is complete, TLS handshake included."""

IDLE = 30.0
"""Seconds between two requests."""

LINGER = 2.0
"""Seconds that a client may continue to send a body after the answer, or take to close."""

BLOCKED = 20.0
"""Seconds in which a client must read at least about 50 kB of its answer (asyncio's water marks)."""

MOST_UNREAD = 256 * 1024 * 1024
"""Bytes of answers that all clients together may leave unread."""

_SWEEP = 0.25  # seconds between two checks of all connections
_BATCH = 64  # connections accepted before others are served again

Peer = tuple[Any, Any]
"""Addresses of both ends, which identify a connection."""


class HttpConnection(Protocol):
    """What is asked of the HTTP protocol on a connection (see `protocol.BoundedProtocol`)."""

    conn: h11.Connection
    transport: asyncio.Transport
    served: bool  # an answer has been sent

    @property
    def waits(self) -> bool: ...
    @property
    def working(self) -> bool: ...


class Place:
    """One accepted connection."""

    def __init__(self, sock: socket.socket, peer: Peer) -> None:
        self.socket, self.peer, self.address = sock, peer, peer[0][0]
        self.since = time.monotonic()  # start of the current state
        self.reserved = False  # only for health probes
        self.protocol: HttpConnection | None = None  # none during the TLS handshake
        self.unread, self.taken = 0, self.since  # unread bytes, and when the client last read some

    @property
    def rank(self) -> int | None:
        """The order of closing: 0 answered but still sending; 1 without a request; 2 slow to send a body; 3 not
        reading. None for a request in progress."""
        if self.protocol is None or self.protocol.waits:
            return 1
        if self.protocol.conn.their_state is h11.SEND_BODY:
            if not self.protocol.working:
                return 0
            return 2 if time.monotonic() - self.since > LINGER else None
        return 3 if self.unread and time.monotonic() - self.taken > LINGER else None

    def overdue(self) -> bool:
        """Whether the connection has timed out; also records how much the client has read."""
        now = time.monotonic()
        if self.protocol is None:
            return now - self.since > HEAD
        self._note_unread(now)
        if self.unread and now - self.taken > BLOCKED:
            return True
        if self.protocol.transport.is_closing() or self.rank == 0:
            return now - max(self.since, self.taken if self.unread else 0) > LINGER
        return self.rank == 1 and now - self.since > (IDLE if self.protocol.served else HEAD)

    def _note_unread(self, now: float) -> None:
        assert self.protocol is not None
        size = self.protocol.transport.get_write_buffer_size()
        if not self.unread:
            self.taken = now
        self.unread = size

    def abort(self) -> None:
        if self.protocol is not None:
            self.protocol.transport.abort()
        else:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # ends the handshake


class Connections:
    """The connections of one server. Event loop only."""

    def __init__(self, most: int | None = None) -> None:
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        few = soft // 2 if soft != resource.RLIM_INFINITY else MOST  # Kafka's clients need the others
        self._most = min(MOST, few) if most is None else most
        self._open: dict[Peer, Place] = {}
        self._idle: OrderedDict[Peer, Place] = OrderedDict()  # of ranks 0 and 1; the first is closed first
        self._by_address: Counter[str] = Counter()
        self._reserved = 0
        self._sweeping = False
        self._warned = False

    def accepted(self, sock: socket.socket, peer: Peer) -> bool:
        """Give a connection a place; False if none is free."""
        place = Place(sock, peer)
        crowded = self._by_address[place.address] >= max(self._most // 2, 1)
        if crowded or len(self._open) >= self._most:
            self._warn()
            if not self._make_room(place.address if crowded else None):
                place.reserved = True
                if self._reserved >= RESERVED:
                    return False
                self._reserved += 1
        self._open[peer] = self._idle[peer] = place
        self._by_address[place.address] += 1
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(_SWEEP, self._sweep)
        return True

    def made(self, peer: Peer, protocol: HttpConnection) -> Place | None:
        """The place of a connection that now uses HTTP; None if the place was lost meanwhile."""
        place = self._open.get(peer)
        if place is not None:
            place.protocol = protocol
        return place

    def closed(self, peer: Peer) -> None:
        if place := self._open.pop(peer, None):
            self._idle.pop(peer, None)
            self._reserved -= place.reserved
            self._by_address[place.address] -= 1
            if not self._by_address[place.address]:
                del self._by_address[place.address]

    def asked(self, place: Place) -> None:
        """A request has started."""
        place.since = time.monotonic()
        self._idle.pop(place.peer, None)

    def answered(self, place: Place) -> None:
        """A request has been answered."""
        place.since = time.monotonic()
        if place.peer in self._open:
            self._idle[place.peer] = place
            self._idle.move_to_end(place.peer, last=place.rank != 0)

    def _make_room(self, address: str | None) -> bool:
        for place in self._idle.values():
            if address in (None, place.address):
                self._abort(place)
                return True
        here = (p for p in self._open.values() if address in (None, p.address))
        slow = [(rank, place.since, place) for place in here if (rank := place.rank) is not None]
        if slow:
            self._abort(min(slow, key=lambda found: found[:2])[2])
        return bool(slow)

    def _abort(self, place: Place) -> None:
        place.abort()
        self.closed(place.peer)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "More than %d connections, or half as many from one address: those that neither send nor read are "
                "closed",
                self._most,
            )

    def _sweep(self) -> None:
        for place in [p for p in self._open.values() if p.overdue()]:
            self._abort(place)
        unread = sorted((p for p in self._open.values() if p.unread), key=lambda p: p.taken)
        total = sum(p.unread for p in unread)
        while total > MOST_UNREAD:
            place = unread.pop(0)
            total -= place.unread
            self._abort(place)
        self._warned &= len(self._open) > self._most // 4
        self._sweeping = bool(self._open)
        if self._sweeping:
            asyncio.get_running_loop().call_later(_SWEEP, self._sweep)


class CountedListener(socket.socket):
    """A listening socket that counts accepted connections, so that they are bounded before the TLS handshake."""

    connections: Connections
    _batch = 0

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection that gets a place; BlockingIOError if there is none, and after each batch so that others
        are served."""
        while self._batch < _BATCH:
            self._batch += 1
            try:
                number, address = self._accept()  # type: ignore[attr-defined]
            except OSError:
                self._batch = 0
                raise
            accepted = _Counted(self.family, self.type, self.proto, fileno=number)
            try:
                peer = (address, accepted.getsockname())
            except OSError:  # closed already
                accepted.close()
                continue
            if self.connections.accepted(accepted, peer):
                accepted.connections, accepted.peer = self.connections, peer
                return accepted, address
            accepted.close()
        self._batch = 0
        raise BlockingIOError


class _Counted(socket.socket):
    """Releases its place when closed."""

    connections: Connections | None = None
    peer: Peer

    def close(self) -> None:
        if self.connections is not None:
            self.connections.closed(self.peer)
            self.connections = None
        super().close()
