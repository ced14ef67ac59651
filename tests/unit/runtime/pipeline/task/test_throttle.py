"""The arithmetic of rate limits."""

from __future__ import annotations

import pytest

from runtime.model.rate_limit import RateLimit
from runtime.pipeline.task.throttle import Throttle, throttle_of
from tests.support.clock import Clock


def run(limit: RateLimit, seconds: float, size: int = 100, poll: int = 5_000) -> tuple[int, float]:
    """Records that a task with endless polls processes in this time, and its longest wait."""
    clock = Clock()
    throttle, done, longest = Throttle(limit, clock), 0, 0.0
    while clock.now < seconds:
        if (left := throttle.wait()) > 0:
            clock.now, longest = clock.now + left, max(longest, left)
            continue
        records = throttle.allowed(poll)
        throttle.count(records)
        throttle.count_bytes(records, records * size)
        done += records
    return done, longest


def test_nothing_is_spent_without_a_limit() -> None:
    assert throttle_of(RateLimit()) is None


@pytest.mark.parametrize("records", [0.5, 3.0, 1_000.0, 250_000.0])
def test_records_are_spread_over_each_second(records: float) -> None:
    done, longest = run(RateLimit(records=records), 60)
    assert done == pytest.approx(60 * records, abs=records + 1)
    assert longest <= max(0.11, 1.01 / records)


@pytest.mark.parametrize("size", [1, 100, 50_000])
def test_bytes_hold_for_records_of_any_size(size: int) -> None:
    done, longest = run(RateLimit(bytes=100_000), 60, size)
    assert done * size == pytest.approx(6_000_000, rel=0.05)
    assert longest < 1.1


def test_the_stricter_limit_holds() -> None:
    assert run(RateLimit(records=1_000, bytes=10_000), 60, 100)[0] == pytest.approx(6_000, rel=0.05)
    assert run(RateLimit(records=50, bytes=10_000), 60, 100)[0] == pytest.approx(3_000, rel=0.05)


def test_a_delay_is_made_up_for_by_half_a_second_at_most() -> None:
    clock = Clock()
    throttle = Throttle(RateLimit(records=100), clock)
    throttle.count(50)
    clock.now = 3_600.0
    assert throttle.allowed(5_000) == 50


def test_tasks_share_the_limit_of_their_connector() -> None:
    assert RateLimit(10, 100).share(4) == RateLimit(2.5, 25)
    assert RateLimit(None, 100).share(0) == RateLimit(None, 100)
