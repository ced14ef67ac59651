"""The clock of leases, which also counts the time for which the machine was suspended.

Other machines count that time: when this one continues, its membership may have ended long ago. time.monotonic() stands
still meanwhile (on Linux), so that a lease would seem to be valid.
"""

from __future__ import annotations

import time

_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def lease_time() -> float:
    """Seconds of a monotonic clock, the same for all processes of the machine."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


def suspended() -> float:
    """Seconds by which this clock is ahead of time.monotonic()."""
    return lease_time() - time.monotonic()
