"""Threads, child processes and open files that a plugin leaves behind."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runtime.plugin_kit.conformance.call_thread import THREAD
from runtime.plugin_kit.conformance.outcome import CheckFailed
from runtime.system.scheduling import RunLimit

_ROUNDS = 3
_OF_LOOPS = "asyncio_"  # names of threads with which event loops run blocking calls
_PATIENCE = 1.0  # seconds in which what has been stopped may end, not counting time without a processor


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of this process."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]
    files: Counter[str]
    """Open files by path; sockets and pipes by kind, since a pool may replace them."""

    @classmethod
    def now(cls) -> Resources:
        """The resources in use. Open files and children are counted on Linux only."""
        threads = frozenset(t for t in threading.enumerate() if not t.name.startswith(THREAD))
        if not sys.platform.startswith("linux"):
            return cls(threads, frozenset(), Counter())
        return cls(threads, _children(), _files())


def check_leaks(run: Callable[[], None]) -> str:
    """Calls `run` once, since first calls may create what a process keeps, and then checks that further calls leave
    nothing behind."""
    run()
    before = Resources.now()
    for _ in range(_ROUNDS):
        run()
    limit = RunLimit(_PATIENCE, [os.getpid()])
    while (grown := _grown(before, Resources.now())) and not limit.over():
        time.sleep(limit.pause)
    if grown:
        raise CheckFailed(
            f"After {_ROUNDS} runs of start() and stop() there are still {grown}",
            "Release in stop() everything that start(), poll() and put() acquire: a slot runs for weeks",
        )
    return f"nothing after {_ROUNDS} runs"


def _grown(before: Resources, now: Resources) -> str:
    """A description of what is left; empty for nothing."""
    threads = [t.name for t in now.threads - before.threads]
    if sum(name.startswith(_OF_LOOPS) for name in threads) < _ROUNDS:  # another event loop of this process may grow
        threads = [name for name in threads if not name.startswith(_OF_LOOPS)]
    left = [f"thread {name!r}" for name in threads]
    left += [f"child process {pid}" for pid in now.children - before.children]
    # By path: files of others that are closed meanwhile do not hide those that the plugin leaves open.
    if (opened := (now.files - before.files).total()) >= _ROUNDS:
        left.append(f"{opened} more open files or sockets")
    return ", ".join(sorted(left)[:5])


def _files() -> Counter[str]:
    kinds: Counter[str] = Counter()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            kinds[str(descriptor.readlink()).partition(":[")[0]] += 1  # as in socket:[1234]
        except OSError:  # the descriptor of this listing
            continue
    return kinds


def _children() -> frozenset[int]:
    children: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            children.update(map(int, (task / "children").read_text().split()))
        except OSError:  # the thread has ended, or the kernel does not list children
            continue
    return frozenset(children)
