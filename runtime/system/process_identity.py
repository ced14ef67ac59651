"""The identity of a process on a machine, to detect later that the process has ended."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.system.processes import stat_of

_PROC = Path("/proc")


def own_identity() -> dict[str, Any]:
    """The identity of this process, for the metadata of a group member."""
    return {
        "machine": _machine(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": _started(os.getpid()),
    }


def name_of(identity: Mapping[str, Any]) -> str:
    """The process as shown in messages; empty if it is unknown, as for Apache's workers."""
    return f"process {identity['pid']} on {identity.get('host', 'an unknown host')}" if "pid" in identity else ""


def is_gone(identity: Mapping[str, Any]) -> bool:
    """True if the process has certainly ended; False if it is alive or runs on another machine."""
    pid = identity.get("pid")
    if not is_here(identity) or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    started = _started(pid)  # the pid may have been reused
    return started is not None and started != identity.get("started")


def is_here(identity: Mapping[str, Any]) -> bool:
    """Whether the process runs, or ran, on this machine."""
    return identity.get("machine") == _machine()


def _machine() -> str:
    """A key that is equal for processes of the same host, boot and container, which share process ids."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """The start time of a process in ticks since boot; `ended` for a zombie, None if unknown."""
    try:
        fields = stat_of(pid)
    except OSError:
        return None
    return "ended" if fields[0] in "ZX" else fields[19]
