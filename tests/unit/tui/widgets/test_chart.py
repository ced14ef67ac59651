"""Scale and time axis of plots."""

from __future__ import annotations

import time

import pytest

from tui.widgets.chart import SCALE, TimeSpan, axis, chart, rounded_up


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_the_scale_ends_at_a_round_number() -> None:
    assert [rounded_up(value) for value in (0, 0.4, 1.5, 30, 101, 4999, 5000)] == [1, 1, 2, 50, 200, 5000, 5000]
    lines = chart([0.0, 10.0, 20.0], 10, 4)
    assert [scale for scale, _ in lines] == ["   20 ┤", "      │", "      │", "    0 ┤"]
    assert [line for _, line in lines] == ["  █", "  █", " ██", "▁██"]
    assert all(len(scale) == SCALE for scale, _ in chart([1.0], 30, 6)) and chart([4.0], 30, 6)[3][0] == "  2.5 ┤"


def test_unknown_values_and_a_narrow_plot() -> None:
    assert chart([None, None], 9, 1) == [("    0 ┤", "··")] and chart([5.0], 3, 2)[1] == ("    0 ┤", "█")


def test_the_clock_stands_below_its_ticks() -> None:
    line, labels = axis(TimeSpan(12 * 3600, 5.0), SCALE + 60)
    assert len(line) == SCALE + 60 and line.startswith("      └")
    for text in ("11:56", "11:58"):
        assert line[labels.index(text) + 2] == "┬"
    assert "11:59:30" in axis(TimeSpan(12 * 3600, 1.0), SCALE + 60)[1]
    assert axis(TimeSpan(12 * 3600 + 90, 60.0), 3)[0] == "      └─"
