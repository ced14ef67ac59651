"""Bounded waiting on conditions."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MAX_LOAD = 4.0
"""The largest factor by which the load of the machine scales time limits."""

MAX_PAUSE = 0.2
"""Seconds between two checks of a condition, at most."""

MAX_SCALED = 120.0
"""Seconds beyond which time limits are not scaled: what takes longer hangs, and pytest's own limit is near."""


def wait_until(condition: Callable[[], T], timeout: float = 30.0, what: str = "", every: float = 0.03) -> T:
    """The first truthy result of `condition`; AssertionError after the time limit, with `what` and the last result.

    The limit is that of an idle machine (see `allowed`). `every`: seconds between the first checks (see `pause`).
    """
    started = time.monotonic()
    while True:
        answer = condition()
        if answer:
            return answer
        if is_over(started, timeout):
            waited = time.monotonic() - started
            raise AssertionError(f"timed out after {waited:.0f} s: {what or condition!r} (last answer: {answer!r})")
        time.sleep(pause(started, every))


async def until(condition: Callable[[], object], within: float = 30.0) -> float:
    """Waits until the condition holds and returns the seconds; AssertionError after the time limit."""
    started = time.monotonic()
    while not condition():
        assert not is_over(started, within), f"the condition does not hold after {within} s"
        await asyncio.sleep(0.005)
    return time.monotonic() - started


def poll(read: Callable[[], T], done: Callable[[T], bool], seconds: float, every: float = 0.1) -> T:
    """The first result of `read` that is done, or else the first one after the seconds, those of an idle machine, have
    passed."""
    started = time.monotonic()
    while not done(result := read()) and not is_over(started, seconds):
        time.sleep(pause(started, every))
    return result


def pause(started: float, least: float) -> float:
    """Seconds until the next check of a condition for which a test has waited since this time of the monotonic clock.

    They grow with the wait, which becomes longer by a twentieth at most: a check may be a request to a worker that is
    still starting, or the picture of a screen, and takes the processor from what is awaited.
    """
    return min(max(least, (time.monotonic() - started) / 20), max(least, MAX_PAUSE))


def is_over(started: float, timeout: float) -> bool:
    """Whether a time limit has passed that began at this time of the monotonic clock."""
    waited = time.monotonic() - started
    return waited > timeout and waited > allowed(timeout)


def allowed(seconds: float) -> float:
    """A time limit of an idle machine, scaled by the load of this one, at most fourfold and to at most MAX_SCALED: on a
    busy machine nothing is wrong with a worker that starts in a minute."""
    return max(seconds, min(seconds * _load(), MAX_SCALED))


def soon(seconds: float = 10.0) -> float:
    """The given seconds, scaled by the load of the machine, at most fourfold; at least doubled, since the load is an
    average of the last minute."""
    return seconds * max(2.0, _load())


def _load() -> float:
    """Processes that run or could run, for each processor, at most MAX_LOAD."""
    return min(os.getloadavg()[0] / (os.cpu_count() or 1), MAX_LOAD)
