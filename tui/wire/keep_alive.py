"""Options of sockets by which a connection whose other end has vanished fails after about 25 seconds."""

from __future__ import annotations

import socket

_SECONDS = 10, 5, 3  # of silence before the first probe, between probes; the number of probes without a response
_NAMES = "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"  # not all platforms have all of them
_UNACKNOWLEDGED = 25_000  # milliseconds in which sent data must arrive; without it a lost network is noticed late


def socket_options() -> list[tuple[int, int, int]]:
    """Arguments of `setsockopt`. A worker that needs long for its response still acknowledges the probes."""
    named = [*zip(_NAMES, _SECONDS, strict=True), ("TCP_USER_TIMEOUT", _UNACKNOWLEDGED)]
    options = [(socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in named if hasattr(socket, name)]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *options]
