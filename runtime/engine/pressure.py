"""Whether this machine has so little processor for what runs on it that nobody is to blame for being late."""

from __future__ import annotations

import os
import re
from pathlib import Path

_PRESSURE = Path("/proc/pressure/cpu")
_MUCH = 75.0  # percent of the last ten seconds in which somebody had to wait
_CROWD = 4.0  # processes that would run, for each core


def starved() -> bool:
    """Linux tells how long processes wait; elsewhere the load does."""
    try:
        found = re.search(r"some avg10=([\d.]+)", _PRESSURE.read_text())
    except OSError:
        found = None
    if found is not None:
        return float(found[1]) > _MUCH
    return os.getloadavg()[0] > _CROWD * (os.cpu_count() or 1)
