"""An expression of a user cannot keep a process busy."""

from __future__ import annotations

import threading
import time

import pytest

from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex.limited import LIMIT, LimitedMatch


def test_an_expression_that_needs_exponential_time_is_given_up() -> None:
    started = time.thread_time()
    with pytest.raises(ConfigError, match=r"takes too long for a{60}: nested repetitions"):
        LimitedMatch("(a|a)+b")("a" * 60)
    assert time.thread_time() - started < 10 * LIMIT


def test_the_limit_is_that_of_all_texts_together() -> None:
    matches = LimitedMatch("(a|a)+b", 0.05)
    with pytest.raises(ConfigError):
        matches("a" * 60)
    with pytest.raises(ConfigError):
        matches("a" * 60)
    assert LimitedMatch("a+b")("aab") and not LimitedMatch("a+")("aab")


def test_other_threads_run_meanwhile() -> None:
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.raises(ConfigError):
        LimitedMatch("(a|a)+b", 1.0)("a" * 60)
    stop.set()
    thread.join()
    assert len(ticks) > 5
