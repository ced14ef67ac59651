"""The progress of connectors over the last hours."""

from __future__ import annotations

from itertools import pairwise

from runtime.herder.monitoring.progress_history import EARLIER_POINTS, RECENT_POINTS, ProgressHistory, all_points
from runtime.herder.responses import ProgressPoint, ProgressResponse

STEP = 5_000


def progress(written: int, lag: int | None = None) -> ProgressResponse:
    found = None if lag is None else {"records": lag, "ms": 0}
    return {"read": written, "written": written, "failed": 0, "lag": found, "age_ms": None, "stalled": []}  # type: ignore[typeddict-item]  # a lag of two fields


def filled(points: int, name: str = "a", **limit: int) -> ProgressHistory:
    history = ProgressHistory(STEP / 1000, **limit)
    for number in range(points):
        history.add(name, number * STEP, progress(number))
    return history


def test_the_last_minutes_are_kept_in_full_and_the_hours_before_by_the_minute() -> None:
    hours = 7 * 3600_000 // STEP
    times = [point["time"] for point in filled(hours).of("a")]
    recent, earlier = times[-RECENT_POINTS:], times[:-RECENT_POINTS]
    assert recent == [number * STEP for number in range(hours - RECENT_POINTS, hours)]
    assert len(earlier) == EARLIER_POINTS and {b - a for a, b in pairwise(earlier)} == {60_000}
    assert 0 < recent[0] - earlier[-1] <= 60_000


def test_a_pause_ends_one_interval_before_the_next_report() -> None:
    history = ProgressHistory(STEP / 1000)
    history.add("a", 0, progress(0, 7))
    history.add("a", 60_000, progress(50, 2))
    assert [(one["time"], one["written"], one["lag"]) for one in history.of("a")] == [
        *((0, 0, 7), (55_000, 0, 7), (60_000, 50, 2))
    ]


def test_many_connectors_have_fewer_points_each() -> None:
    history = filled(300, max_points=1000)
    assert len(history.of("a")) > RECENT_POINTS
    for number in range(99):
        history.add(f"b{number}", 0, progress(0))
    history.add("a", 300 * STEP, progress(300))
    assert len(history.of("a")) <= 10 + 1 + RECENT_POINTS // 12
    history.keep(["b1"])
    assert history.of("a") == [] and len(history.of("b1")) == 1


def point(time: int, written: int, lag: int | None = None) -> ProgressPoint:
    return {"time": time, "read": written, "written": written, "failed": 0, "lag": lag}


def test_the_points_of_several_workers_are_added() -> None:
    here, there = [point(0, 1), point(10, 3, 4)], [point(5, 10), point(10, 20, 6)]
    found, missing = all_points(here, {"w2": {"points": there}, "w3": None, "w4": {"points": []}})
    assert [(one["time"], one["written"], one["lag"]) for one in found] == [
        *((0, 1, None), (5, 11, None), (10, 13, 4), (10, 23, 10))
    ]
    assert missing == ["w3"] and all_points([], {}) == ([], []) and all_points(here, {})[0] == here
