"""The memory that processes use."""

from __future__ import annotations

import os
from pathlib import Path


def resident(pid: int | None = None) -> int:
    """Resident bytes of this process or another one, including shared memory; 0 if the system does not report it."""
    try:
        return int(Path(f"/proc/{pid or 'self'}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
