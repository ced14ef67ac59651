"""Waits on conditions end soon after they hold, with few checks."""

from __future__ import annotations

import time

from tests.support.waiting import pause, wait_until


def test_a_long_wait_has_few_checks_and_is_hardly_longer() -> None:
    started, checks = time.monotonic(), 0

    def holds() -> bool:
        nonlocal checks
        checks += 1
        return time.monotonic() - started > 0.4

    wait_until(holds, every=0.001)
    assert checks < 150


def test_pauses_grow_with_the_wait_within_limits() -> None:
    now = time.monotonic()
    assert pause(now, 0.03) == 0.03
    assert 0.1 <= pause(now - 2, 0.03) < 0.2
    assert pause(now - 60, 0.03) == 0.2
    assert pause(now - 60, 2.0) == 2.0
