"""Rates and lags at regular intervals, from points that arrive only while records move."""

from __future__ import annotations

from typing import cast

from tui.client.client import Connect
from tui.metrics.progress import ProgressMonitor, of_event, of_offsets
from tui.metrics.rate_history import MAX_POINTS, STEP, HistoryPoint, RateHistory


def history_of(*points: tuple[float, float, int | None]) -> RateHistory:
    found = RateHistory()
    for at, written, lag in points:
        found.add(at, written, lag)
    return found


def test_the_rate_of_an_interval_without_points_is_zero() -> None:
    one = history_of((100, 0, None), (105, 50, None), (110, 50, None), (125, 150, None))
    assert one.rates(8, 125) == [None, None, None, 10.0, 0.0, 0.0, 0.0, 20.0]
    assert not one.has_lag


def test_the_rate_across_a_restart_of_the_worker_is_unknown() -> None:
    assert history_of((100, 500, None), (105, 20, None), (110, 70, None)).rates(3, 110) == [None, None, 10.0]


def test_a_lag_is_valid_until_the_next_point() -> None:
    one = history_of((100, 0, 7), (115, 0, 3))
    assert one.has_lag and one.lags(6, 115) == [None, None, 7, 7, 7, 3]


def test_the_last_lag_before_the_window_is_its_first_value() -> None:
    assert history_of((0, 0, 9)).lags(3, 1000) == [9, 9, 9]
    assert RateHistory().rates(3, 1000) == [None, None, None]


def test_a_clock_that_is_set_back_starts_another_history() -> None:
    one = history_of((4000, 0, 7), (4005, 50, 7), (400, 60, 5), (405, 80, 5), (404, 80, 4))
    assert one.rates(2, 405) == [None, 4.0] and one.started_at == 400


def test_points_are_kept_for_a_quarter_of_an_hour() -> None:
    one = history_of(*((STEP * number, number, None) for number in range(MAX_POINTS + 20)))
    assert len(one) == MAX_POINTS and one.started_at == STEP * 20


def test_progress_is_taken_from_events() -> None:
    times = iter([100.0, 105.0])
    changes: list[int] = []
    progress = ProgressMonitor(cast("Connect", None), lambda: changes.append(1), lambda: next(times))
    progress.update({"a": {"read": 9, "written": 9, "lag": {"records": 4, "ms": 3}, "age_ms": 5, "stalled": []}})
    progress.update({"b": {"read": 1, "written": 1, "lag": None, "age_ms": 2000, "stalled": [1]}})
    assert (progress.known["a"].lag, progress.known["a"].age_ms) == (4, None)
    assert progress.known["b"].stalled == (1,) and progress.known["b"].age(115.0) == 12.0
    assert len(changes) == 2 and progress.known["b"].is_known
    progress.forget(["b"])
    assert set(progress.rate_histories) == {"b"}


def test_stalled_tasks_in_offsets_and_in_events() -> None:
    assert of_offsets({"offsets": [], "stalled": [0]}).stalled == (0,) and of_offsets({}).stalled == ()
    assert of_event({}, 1.0).lag is None


def test_points_recorded_by_the_worker_come_before_those_seen() -> None:
    one = history_of((100, 50, 3), (105, 100, 2))
    one.prepend([HistoryPoint(90, 10, 9), HistoryPoint(95, 20, 8), HistoryPoint(101, 60, 3)])
    assert one.rates(4, 105) == [None, 2.0, 6.0, 10.0] and one.lags(4, 105) == [9, 8, 3, 2]


def test_samples_at_longer_intervals_are_spread_over_the_time_between_them() -> None:
    one = RateHistory()
    for at, written in ((100, 0), (120, 200), (140, 200)):
        one.add(at, written, None, sampled=True)
    assert one.rates(9, 140) == [None, 10.0, 10.0, 10.0, 10.0, 0.0, 0.0, 0.0, 0.0]
    assert one.rates(2, 140, 20.0) == [10.0, 0.0] and one.rate(140) == 0.0


def test_the_current_rate() -> None:
    one = history_of((100, 0, None), (105, 50, None))
    assert one.rate(106) == 10.0 and one.rate(200) == 0.0 and RateHistory().rate(1) is None
    assert history_of((100, 0, None)).rate(101) is None and history_of((100, 9, None), (105, 0, None)).rate(105) is None
    assert one.rates(2, 112) == [10.0, 10.0], "the next report is due"
