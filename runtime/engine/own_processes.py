"""Which processes are ours: those below a process of ours, held in a way that a reused pid cannot betray."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
from pathlib import Path

_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid
_DEPTH = 16  # driver, script, JVM, daemon, slot: five in practice


def is_below(pid: int, ancestor: int) -> bool:
    """Whether a living process descends from `ancestor`."""
    for _ in range(_DEPTH):
        fields = _stat(pid)
        if fields is None:
            return False
        pid = int(fields[1])
        if pid == ancestor:
            return True
    return False


def peer(connection: socket.socket) -> tuple[int, int]:
    """Pid and user of the process at the other end of a Unix socket, as the kernel has them."""
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


class OwnProcess:
    """A process that can be signalled without ever reaching another one that got its pid later."""

    def __init__(self, pid: int) -> None:
        """ProcessLookupError when it has ended."""
        self.pid = pid
        self._handle = os.pidfd_open(pid)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens when the process has ended."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._handle, number)

    def close(self) -> None:
        """Let go of the process."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def start_time(pid: int) -> str | None:
    """When a process started, in clock ticks since boot; None when it has ended."""
    fields = _stat(pid)
    return None if fields is None else fields[19]


def _stat(pid: int) -> list[str] | None:
    """The fields behind the name in /proc/<pid>/stat: state, parent, …; None when the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields
