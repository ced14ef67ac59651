"""A task whose client fails again and again without progress is given up."""

from __future__ import annotations

from runtime.engine.placement.client_failures import MIN_FAILURES, MIN_SECONDS, ClientFailures
from runtime.model.states import TaskId
from tests.support.clock import Clock

TASK = TaskId("c", 0)


def fail(failures: ClientFailures, clock: Clock, times: int, apart: float) -> str | None:
    trace = None
    for _ in range(times):
        trace = failures.failed(TASK, "its producer failed: _STATE")
        clock.now += apart
    return trace


def test_failures_without_progress_end_in_a_trace_with_the_last_reason() -> None:
    clock = Clock()
    failures = ClientFailures(clock)
    assert fail(failures, clock, MIN_FAILURES - 1, MIN_SECONDS) is None
    trace = failures.failed(TASK, "its producer failed: _STATE")
    assert trace is not None
    assert "restarted 4 times in 240 s, and has not written a record meanwhile" in trace
    assert "its producer failed: _STATE" in trace


def test_failures_within_seconds_are_those_of_a_broker_that_restarts() -> None:
    clock = Clock()
    assert fail(ClientFailures(clock), clock, 20, MIN_SECONDS / 30) is None


def test_progress_ends_the_series() -> None:
    clock = Clock()
    failures = ClientFailures(clock)
    fail(failures, clock, MIN_FAILURES - 1, MIN_SECONDS)
    failures.forget(TASK)
    assert failures.failed(TASK, "its producer failed: _STATE") is None
