"""Scheduling delay: how long threads have waited for a processor, as counted by the kernel (schedstat).

A process that does not respond is either blocked by its own code or waits for a processor; the delay tells which.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")


def wait_of(pid: int, thread: int) -> float:
    """Seconds that a thread has waited on a run queue since its start; 0 if the kernel does not report it."""
    try:
        return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def waits(pid: int) -> Mapping[int, float]:
    """wait_of() for every thread of a process; empty if the process has ended."""
    return {thread: wait_of(pid, thread) for thread in _threads(pid)}


def _threads(pid: int) -> Sequence[int]:
    try:
        return [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return ()


class ProcessTree:
    """The ids of a process and of its present descendants, whenever it is iterated; only its own without Linux."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def __iter__(self) -> Iterator[int]:
        pids = [self._pid]
        for pid in pids:  # which grows meanwhile
            yield pid
            pids += _children(pid)


class Delay:
    """The scheduling delay of processes from now on; always 0 without processes, as for those of other machines."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = pids
        self._before = self._waits()
        self.seconds = 0.0

    def look(self) -> float:
        """Seconds during which at least one thread had to wait: a lower bound, summed over all calls."""
        now = self._waits()
        self.seconds += max((wait - self._before.get(thread, wait) for thread, wait in now.items()), default=0.0)
        self._before = now
        return self.seconds

    def _waits(self) -> Mapping[int, float]:
        return {thread: wait for pid in self._pids for thread, wait in waits(pid).items()}


def _children(pid: int) -> Sequence[int]:
    children: list[int] = []
    for thread in _threads(pid):
        try:
            children += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_bytes().split())
        except OSError:  # the thread has ended
            continue
    return children


MAX_STRETCH = 5
"""Factor by which a RunLimit is longer at most: the thread that waits for a processor may not be the one that hangs."""

_STEPS, _MAX_PAUSE = 10, 1.0  # looks within a limit, and seconds between two at most
_UNWATCHED = 0.25  # part of a limit after which delays are counted: most calls return before


class RunLimit:
    """A time limit for processes, which counts only time in which they could run.

    Not counted is the time for which one of their threads waited for a processor, up to MAX_STRETCH times the limit,
    and the time for which this process did not run itself: then over() is called later than `pause` says."""

    def __init__(
        self,
        seconds: float,
        pids: Iterable[int],
        clock: Callable[[], float] = time.monotonic,
        delay: Callable[[Iterable[int]], Delay] = Delay,
    ) -> None:
        """`pids` are the processes, whenever it is iterated."""
        self.seconds, self._pids, self._clock, self._make_delay = seconds, pids, clock, delay
        self.pause = min(seconds / _STEPS, _MAX_PAUSE)
        """Seconds after which over() has to be called again."""
        self._last = clock()
        self._delay: Delay | None = None
        self._passed = self._counted = 0.0

    def over(self) -> bool:
        """Whether the limit has been reached."""
        now = self._clock()
        step, self._last = min(now - self._last, self.pause), now
        self._passed += step
        self._counted += step - min(step, self._waited())
        return self._counted >= self.seconds or self._passed >= self.seconds * MAX_STRETCH

    def _waited(self) -> float:
        """Seconds of waiting since the last call."""
        if self._delay is None:
            if self._passed >= self.seconds * _UNWATCHED:
                self._delay = self._make_delay(self._pids)
            return 0.0
        before = self._delay.seconds
        return self._delay.look() - before


async def within(limit: RunLimit, call: Awaitable[_T]) -> _T:
    """The result of a call. TimeoutError, after which the call is cancelled, when the limit is over."""
    running = asyncio.ensure_future(call)
    try:
        while not (await asyncio.wait({running}, timeout=limit.pause))[0]:
            if limit.over():
                raise TimeoutError
        return await running
    finally:
        running.cancel()
