"""Which process on which machine: enough to know later that it is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PROC = Path("/proc")


def own_identity() -> dict[str, Any]:
    """Goes into the metadata of a group's member."""
    return {"machine": _machine(), "pid": os.getpid(), "started": _started(os.getpid())}


def is_gone(identity: Mapping[str, Any]) -> bool:
    """True when the process certainly ended; False when it lives, or lives where one cannot look."""
    pid = identity.get("pid")
    if identity.get("machine") != _machine() or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    started = _started(pid)  # the number may have been given to another process meanwhile
    return started is not None and started != identity.get("started")


def _machine() -> str:
    """The same for processes that see each other's ids: host, boot and container."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """When a process started, in ticks since boot; `ended` for one that only waits to be collected, None if unknown."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if fields[0] in "ZX" else fields[19]
