"""Throughput and lag over time, as plots or as single lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content

from tui.formatting import format_duration
from tui.metrics.offset_rates import SampleHistory
from tui.metrics.rate_history import STEP, RateHistory
from tui.widgets.chart import SCALE, TimeSpan, axis, chart
from tui.widgets.plot import peak, short, spark

Values = Sequence[float | None]
Part = str | Content | tuple[str, str]


class Plots(NamedTuple):
    """The size of the plots in cells, and the seconds that they show (0: a cell for each report)."""

    width: int
    height: int
    seconds: float = 0.0

    @property
    def step(self) -> float:
        """The seconds of a cell, a multiple of the reports' interval."""
        return max(STEP, self.seconds / max(1, self.width - SCALE) // STEP * STEP + STEP if self.seconds else STEP)


def of_course(course: RateHistory, plots: Plots, now: float, limit: str = "") -> Content:
    """Plots of the rates that the worker has reported, also before the console was opened if it keeps them. `limit`
    describes the rate limit, if any."""
    count, step = max(1, plots.width - SCALE), plots.step
    rates = course.rates(count, now, step)
    window = limit or f"over {format_duration(min(now - course.started_at, count * step))}"
    parts = _throughput(rates, course.rate(now), mean(rates), "records", window, plots)
    if course.has_lag:
        parts += _lag(course.lags(count, now, step), None, plots)
    return Content.assemble(*parts, *_time(TimeSpan(now // step * step, step), plots))


def of_history(history: SampleHistory, unit: str, plots: Plots) -> Content:
    """Plots of rates computed from offsets that were read while the page was open."""
    samples, last = history.samples, history.last
    took = samples[-1].at - samples[0].at if len(samples) > 1 else 0.0
    window = f"over {format_duration(took)}" if took else "sampling…"
    parts = _throughput(history.rates(), history.rate, history.mean, unit, window, plots)
    lags = history.lags()
    if any(lag is not None for lag in lags):
        parts += _lag(lags, last.behind_ms if last else None, plots)
    times = _time(TimeSpan(samples[-1].at, took / (len(samples) - 1)), plots) if took else []
    return Content.assemble(*parts, *times)


def _throughput(
    rates: Values, now: float | None, mean: float | None, unit: str, window: str, plots: Plots
) -> list[Part]:
    return [
        ("throughput ", "bold $accent"),
        (f"{short(now, unit)}/s", "bold"),
        (f"  mean {short(mean)}  peak {short(peak(rates))}", "$text-muted"),
        (f"  {window}\n", "$text-muted"),
        *_lines(rates, "$success", plots),
    ]


def _lag(lags: Values, behind_ms: int | None, plots: Plots) -> list[Part]:
    behind = f"  {format_duration(behind_ms / 1000)} behind" if behind_ms else ""
    return [
        ("lag ", "bold $accent"),
        (short(lags[-1], "records"), "bold"),
        (f"  peak {short(peak(lags))}{behind}\n", "$text-muted"),
        *_lines(lags, "$warning", plots),
    ]


def _lines(values: Values, style: str, plots: Plots) -> list[Part]:
    lines = chart(values, plots.width, plots.height)
    return [part for scale, line in lines for part in ((scale, "$text-muted"), (f"{line}\n", style))]


def _time(times: TimeSpan, plots: Plots) -> list[Part]:
    return [("\n".join(axis(times, plots.width)), "$text-muted")]


def in_lines(course: RateHistory, width: int, now: float, lag: int | None = None) -> list[tuple[str, Content]]:
    """Pairs of a label and a curve in one line. `lag` is the current lag if it is not that of the last report."""
    rates = course.rates(width, now)
    lines = [("throughput", _line(rates, f"{short(newest(rates), 'records')}/s", "$success"))]
    if course.has_lag or lag is not None:
        lags = course.lags(width, now)
        lines.append(("lag", _line(lags, short(lags[-1] if lag is None else lag, "records"), "$warning")))
    return lines


def _line(values: Values, words: str, style: str) -> Content:
    return Content.assemble((spark(values, len(values)), style), f" {words}")


def newest(values: Values) -> float | None:
    """The newest value; the last step is incomplete, so the one before it counts if it is higher."""
    last = [value for value in values[-2:] if value is not None]
    return max(last, default=None)


def mean(values: Values) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
