"""Bounded waiting on conditions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], timeout: float = 30.0, what: str = "", every: float = 0.03) -> T:
    """The first truthy result of `condition`; AssertionError after the time limit, with `what` and the last result."""
    deadline = time.monotonic() + timeout
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {timeout:g} s: {what or condition!r} (last answer: {answer!r})")
        time.sleep(every)


def soon(seconds: float = 10.0) -> float:
    """The given seconds, scaled by the load of the machine; at least doubled, since the load is an average of the last
    minute."""
    return seconds * max(2.0, os.getloadavg()[0] / (os.cpu_count() or 1))
