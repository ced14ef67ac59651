"""Warnings that others can cause as often as they like."""

from __future__ import annotations

import logging

import pytest

from runtime.logs.limited import BURST, PERIOD, LimitedWarnings


def test_further_warnings_of_a_period_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    warnings = LimitedWarnings(logging.getLogger(__name__), lambda: now)
    for _ in range(2):
        for number in range(1000):
            warnings.warn("refused %d", number)
        now += PERIOD
    assert len(caplog.records) == 2 * BURST + 1
    assert caplog.messages[BURST] == f"{1000 - BURST} further warnings of this kind were left out"
