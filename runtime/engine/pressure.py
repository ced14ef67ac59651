"""Whether this machine has so little processor for what runs on it that nobody is to blame for being late.

Not the kernel's pressure (`/proc/pressure/cpu`): on any busy machine somebody waits most of the time.
"""

from __future__ import annotations

import os

_CROWD = 8.0  # processes that would run, for each core


def starved() -> bool:
    return os.getloadavg()[0] > _CROWD * (os.cpu_count() or 1)
