"""Free ports on the loopback interface."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


def choose(preferred: int | None = None) -> int:
    """`preferred` if it is free, otherwise any free port."""
    if preferred is not None and _free(preferred):
        return preferred
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    """Whether a process accepts connections on this port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((HOST, port)) == 0


def _free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers set it, so that closed connections in TIME_WAIT do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    # bind() can succeed although another process listens on all interfaces.
    return not is_open(port)
