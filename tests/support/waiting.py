"""Bounded waiting on conditions, instead of sleeps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], timeout: float = 30.0, what: str = "", every: float = 0.03) -> T:
    """The first truthy answer of `condition`; AssertionError when time is up, naming `what` and the last answer."""
    deadline = time.monotonic() + timeout
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what or condition!r} (last answer: {answer!r})")
        time.sleep(every)


def soon(seconds: float = 10.0) -> float:
    """So many seconds, on a machine with nothing else to do; on a busy one what that comes to."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
