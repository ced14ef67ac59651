"""File descriptors of a slot: as many as the system lets it have, and none taken from tasks that run already."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_ROOM = 32  # what a task with a consumer of its own takes, and its plugin's files and sockets


class NoRoomError(Exception):
    """The slot has too few descriptors left for another task."""


def raise_limit() -> None:
    """From the soft limit that processes are started with to the hard one, as Java does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems have a hard limit that cannot be reached
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def check_room() -> None:
    """NoRoomError rather than a task that starts and then takes its neighbours' connections from them."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return
    try:
        used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:  # not on this system
        return
    if limit - used < _ROOM:
        raise NoRoomError(
            f"This slot has {used} of at most {limit} file descriptors open, too many for another task: raise the "
            "limit (ulimit -n, or LimitNOFILE of the service) or headrace.slots, and restart the worker"
        )
