"""Processes: ancestors, the peer of a socket, and handles that are safe against reused pids.

Linux provides this through /proc, process handles and socket credentials. Other systems use `ps` and pids.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def resident(pid: int | None = None) -> int:
    """Resident bytes of this process or another one, including shared memory; 0 if the system does not report it."""
    try:
        return int(Path(f"/proc/{pid or 'self'}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def folder_of_children() -> str | None:
    """The folder in which to start a process: None for the current one, / if that has been deleted, where Java does not
    start."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "/"
    return None


_LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG = 1
_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2  # macOS
_DEPTH = 16  # generations; from the driver to a slot it is five


def start_time(pid: int) -> str | None:
    """The start time of a process as the system prints it; None for missing and zombie processes."""
    if _LINUX:
        fields = _stat(pid)
        return None if fields is None else fields[19]
    state, _, started = _ps(pid, "lstart").partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


def is_below(pid: int, ancestor: int) -> bool:
    """Whether a living process descends from `ancestor`."""
    for _ in range(_DEPTH):
        parent = _parent(pid)
        if parent is None:
            return False
        if parent == ancestor:
            return True
        pid = parent
    return False


def end_with_parent() -> None:
    """Kill this process when its parent ends for any reason; on Linux only."""
    if not _LINUX:
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def peer(connection: socket.socket) -> tuple[int, int]:
    """Pid and user id of the process at the other end of a Unix socket, as reported by the kernel."""
    if _LINUX:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(credentials)
        return pid, uid
    return connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), os.getuid()  # the socket's folder excludes other users


class OwnProcess:
    """A handle to signal a process, safe against a reused pid."""

    def __init__(self, pid: int) -> None:
        """Open the handle. ProcessLookupError if the process has ended."""
        self.pid = pid
        self._handle = os.pidfd_open(pid) if _LINUX else -1
        self._closed = False

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; does nothing if the process has ended, or after close()."""
        if self._closed:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if _LINUX:
                signal.pidfd_send_signal(self._handle, number)
            else:
                os.kill(self.pid, number)

    def close(self) -> None:
        """Release the handle."""
        if _LINUX and not self._closed:
            os.close(self._handle)
        self._closed = True


def _parent(pid: int) -> int | None:
    """The parent of a living process."""
    if _LINUX:
        fields = _stat(pid)
        return None if fields is None else int(fields[1])
    state, _, parent = _ps(pid, "ppid").partition(" ")
    return None if not state or state.startswith("Z") else int(parent)


def stat_of(pid: int) -> list[str]:
    """The fields after the name, which may be any bytes, in /proc/<pid>/stat: state, parent, … Raises OSError."""
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()


def _stat(pid: int) -> list[str] | None:
    """As stat_of(); None when the process has ended."""
    try:
        fields = stat_of(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields


def _ps(pid: int, column: str) -> str:
    """State and one more column of a process; empty if the process does not exist."""
    command = ["ps", "-o", f"stat=,{column}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def die_with_parent(number: signal.Signals = signal.SIGTERM) -> Callable[[], None] | None:
    """A `preexec_fn` that makes the kernel send a signal to the child when the thread that starts it or this
    process ends, even by SIGKILL; None except on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def request_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os._exit(1)

    return request_signal
