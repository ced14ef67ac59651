"""Throughput and lag over time, as plots or as single lines."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.formatting import span
from tui.metrics.offset_rates import SampleHistory
from tui.metrics.rate_history import STEP, RateHistory
from tui.widgets.plot import peak, plot, short, spark

Values = Sequence[float | None]
Part = str | Content | tuple[str, str]


def of_course(course: RateHistory, width: int, height: int, now: float) -> Content:
    """Plots of the rates that a Headrace worker has reported since the console was opened; a column is five seconds."""
    rates = course.rates(width, now)
    window = f"over {span(min(now - course.started_at, width * STEP))}"
    parts = _throughput(rates, newest(rates), mean(rates), "records", window, width, height)
    if course.has_lag:
        parts += _lag(course.lags(width, now), None, width, height)
    return Content.assemble(*parts)


def of_history(history: SampleHistory, unit: str, width: int, height: int) -> Content:
    """Plots of rates computed from offsets that were read while the page was open."""
    samples, last = history.samples, history.last
    window = f"over {span(samples[-1].at - samples[0].at)}" if len(samples) > 1 else "sampling…"
    parts = _throughput(history.rates(), history.rate, history.mean, unit, window, width, height)
    lags = history.lags()
    if any(lag is not None for lag in lags):
        parts += _lag(lags, last.behind_ms if last else None, width, height)
    return Content.assemble(*parts)


def _throughput(
    rates: Values, now: float | None, mean: float | None, unit: str, window: str, width: int, height: int
) -> list[Part]:
    return [
        ("throughput ", "bold $accent"),
        (f"{short(now, unit)}/s", "bold"),
        (f"  mean {short(mean)}  peak {short(peak(rates))}", "$text-muted"),
        (f"  {window}\n", "$text-muted"),
        *((f"{line}\n", "$success") for line in plot(rates, width, height)),
    ]


def _lag(lags: Values, behind_ms: int | None, width: int, height: int) -> list[Part]:
    behind = f"  {span(behind_ms / 1000)} behind" if behind_ms else ""
    return [
        ("lag ", "bold $accent"),
        (short(lags[-1], "records"), "bold"),
        (f"  peak {short(peak(lags))}{behind}", "$text-muted"),
        *((f"\n{line}", "$warning") for line in plot(lags, width, height)),
    ]


def in_lines(course: RateHistory, width: int, now: float) -> list[tuple[str, Content]]:
    """Pairs of a label and a curve in one line."""
    rates = course.rates(width, now)
    found = [("wrote", _line(rates, f"{short(newest(rates), 'records')}/s", "$success"))]
    if course.has_lag:
        lags = course.lags(width, now)
        found.append(("lag", _line(lags, short(lags[-1], "records"), "$warning")))
    return found


def _line(values: Values, words: str, ink: str) -> Content:
    return Content.assemble((spark(values, len(values)), ink), f" {words}")


def newest(values: Values) -> float | None:
    """The newest value; the last step is incomplete, so the one before it counts if it is higher."""
    last = [value for value in values[-2:] if value is not None]
    return max(last, default=None)


def mean(values: Values) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
