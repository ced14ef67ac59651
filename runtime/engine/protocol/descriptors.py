"""File descriptors of a slot: as many as the system lets it have, and none taken from tasks that run already.

The worker reckons with what tasks usually take, so that a slot is not given more than it can hold; the slot itself
counts before each task, since nobody knows what a plugin opens.
"""

from __future__ import annotations

import contextlib
import math
import resource
from pathlib import Path

from runtime.model.states import ConnectorType
from runtime.model.task_spec import TaskSpec

_OPEN = Path("/proc/self/fd")
_OF_CONSUMER = 10  # a consumer, or a producer of the task's own: sockets, pipes, files
_OF_SOURCE = 2
_ROOM = 32  # what a task with a consumer of its own takes, and its plugin's files and sockets


class NoRoomError(Exception):
    """The slot has too few descriptors left for another task."""


def raise_limit() -> None:
    """From the soft limit that processes are started with to the hard one, as Java does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems have a hard limit that cannot be reached
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def needed(spec: TaskSpec) -> int:
    """How many a task is likely to take."""
    return _OF_CONSUMER if spec.type == ConnectorType.SINK or not spec.producer_shared else _OF_SOURCE


def room(which: int = 0) -> int | None:
    """How many the tasks of this slot may take together; None: as many as they like."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[which]
    return None if limit == resource.RLIM_INFINITY else max(limit - 2 * _ROOM, 0)


def expected_room() -> float:
    """The room of slots on this machine, before any of them is up: their daemon raises its limit to the hard one."""
    found = room(which=1)
    return math.inf if found is None else found


def _open_now() -> int:
    """Linux 6.2 and newer know the number; listing thousands takes milliseconds, at every start of a task."""
    return _OPEN.stat().st_size or sum(1 for _ in _OPEN.iterdir())


def check_room() -> None:
    """NoRoomError rather than a task that starts and then takes its neighbours' connections from them."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return
    try:
        used = _open_now()
    except OSError:  # not on this system
        return
    if limit - used < _ROOM:
        raise NoRoomError(
            f"This slot has {used} of at most {limit} file descriptors open, too many for another task: raise the "
            "limit (ulimit -n, or LimitNOFILE of the service) or headrace.slots, and restart the worker"
        )
