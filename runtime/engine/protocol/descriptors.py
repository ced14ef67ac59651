"""File descriptors of a slot: its limit, and checks that keep new tasks from using those of running tasks.

The worker places tasks by the number of descriptors that they usually need, which bounds their Kafka clients, too; the
slot counts its open descriptors before each start, since plugins may open any number.
"""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

from runtime.java.target import is_java_target
from runtime.model.states import ConnectorType
from runtime.model.task_spec import TaskSpec

_OPEN = Path("/proc/self/fd")
_OF_CONSUMER = 10  # a consumer, or a producer that only this task uses: sockets, pipes, files
_OF_SOURCE = 2
_OF_JAVA = 1  # the link to an object in the task host
_CLIENTS = 900
"""Consumers and producers of tasks in one process. confluent-kafka takes one of the 1,024 thread keys of a process for
each client, and creating the 1,013th fails; slots have further clients."""

_ROOM = 32  # a task with its own consumer, and the files and sockets of its plugin


class NoRoomError(Exception):
    """The slot has too few descriptors left for another task."""


def raise_limit() -> None:
    """Raise the soft limit of this process to the hard limit, as Java does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems have a hard limit that cannot be reached
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def needed(spec: TaskSpec) -> int:
    """The number of descriptors that a task is expected to use."""
    own = _OF_CONSUMER if spec.type == ConnectorType.SINK or not spec.producer_shared else _OF_SOURCE
    return own + _OF_JAVA * sum(map(is_java_target, [spec.task_class, *spec.targets.values()]))


def room(which: int = 0) -> int:
    """The number of descriptors for all tasks of this slot, at most those of `_CLIENTS` clients. `which`: 0 for the
    soft limit; 1 for the hard one, to which the daemon raises that of slots."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)[which], _CLIENTS * _OF_CONSUMER
    return most if limit == resource.RLIM_INFINITY else min(max(limit - 2 * _ROOM, 0), most)


def _open_now() -> int:
    """Linux 6.2 and newer report the number; listing thousands takes milliseconds at every start of a task."""
    return _OPEN.stat().st_size or sum(1 for _ in _OPEN.iterdir())


def check_room() -> None:
    """NoRoomError if another task could leave too few descriptors for running tasks."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return
    try:
        used = _open_now()
    except OSError:  # this system does not list open descriptors
        return
    if limit - used < _ROOM:
        raise NoRoomError(
            f"This slot has {used} of at most {limit} file descriptors open, too many to start another task: raise the "
            "limit (ulimit -n, or LimitNOFILE of the service) or headrace.slots, and restart the worker"
        )
