"""The memory that this process uses."""

from __future__ import annotations

import os
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident() -> int:
    """Resident bytes, including memory shared with the daemon; 0 if the system does not report it."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
