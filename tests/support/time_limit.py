"""Ends the process of a test that outlasts its time limit, with the stacks of all threads.

pytest-timeout raises an exception in the test at its limit. Code that catches everything continues: Hypothesis repeats
an example that failed, without a limit. With several processes, xdist reports the test as failed and replaces the
process.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Generator

import pytest

GRACE = 0.2
"""The part of its time limit for which a test may continue after pytest-timeout's exception."""


class TimeLimit:
    """A plugin of pytest."""

    def __init__(self, default: float) -> None:
        """Register it while standard error is not captured. `default`: seconds for tests without a mark."""
        self._default, self._output = default, os.dup(2)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """A test with its fixtures."""
        mark = item.get_closest_marker("timeout")
        seconds = float(mark.args[0]) if mark and mark.args else self._default
        if seconds:
            faulthandler.dump_traceback_later(seconds * (1 + GRACE), exit=True, file=self._output)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
