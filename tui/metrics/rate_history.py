"""Compact histories of a connector's written records and lag, as points from which rates at any interval follow."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

STEP = 5.0  # seconds between two points, as in the reports of Headrace workers
MAX_POINTS = 180  # for each connector: a quarter of an hour of steady progress
RATE_VALID = 2.5 * STEP  # seconds without a report after which the rate is 0

Values = list[float | None]


class HistoryPoint(NamedTuple):
    """The total of written records and the lag (None without one) at a time in seconds since the epoch."""

    at: float
    written: float
    lag: int | None = None


class RateHistory:
    """The history of one connector. Between two points, records are spread evenly; the rate is unknown where a worker
    restarted, since its counts start again at 0."""

    __slots__ = ("_at", "_lag", "_limit", "_written")

    def __init__(self) -> None:
        self._at, self._written, self._lag = array("d"), array("d"), array("f")
        self._limit = MAX_POINTS

    def add(self, at: float, written: float, lag: int | None, *, sampled: bool = False) -> None:
        """Adds a point. Headrace workers report only while records move: unless the points are `sampled` regularly, a
        longer gap before this one was a pause. Earlier points are dropped if the clock was set back."""
        if self._at and at < self._at[-1] - RATE_VALID:
            for points in (self._at, self._written, self._lag):
                del points[:]
        if self._at and not sampled and at - self._at[-1] > 1.5 * STEP:
            self._append(at - STEP, self._written[-1], self._lag[-1])
        self._append(at, written, -1.0 if lag is None else lag)
        if (excess := len(self._at) - self._limit) > 0:
            for points in (self._at, self._written, self._lag):
                del points[:excess]

    def _append(self, at: float, written: float, lag: float) -> None:
        self._at.append(at)
        self._written.append(written)
        self._lag.append(lag)

    def prepend(self, earlier: Iterable[HistoryPoint]) -> None:
        """Adds points that the worker has recorded before the first point here."""
        first = self.started_at if self._at else float("inf")
        older = [point for point in earlier if point.at < first - STEP / 2]
        self._at = array("d", [point.at for point in older]) + self._at
        self._written = array("d", [point.written for point in older]) + self._written
        self._lag = array("f", [-1.0 if point.lag is None else point.lag for point in older]) + self._lag
        self._limit += len(older)

    def __len__(self) -> int:
        return len(self._at)

    @property
    def started_at(self) -> float:
        return self._at[0] if self._at else 0.0

    @property
    def has_lag(self) -> bool:
        return any(lag >= 0 for lag in self._lag)

    def rate(self, now: float) -> float | None:
        """Records per second at the time `now`; None if unknown."""
        if not self._at:
            return None
        age = now - self._at[-1]
        if len(self._at) == 1:
            return None if age < RATE_VALID else 0.0
        took, wrote = self._at[-1] - self._at[-2], self._written[-1] - self._written[-2]
        if age >= max(RATE_VALID, 1.5 * took):
            return 0.0
        return None if wrote < 0 or took <= 0 else wrote / took

    def rates(self, count: int, now: float, step: float = STEP) -> Values:
        """Records per second in each of the last `count` complete intervals of `step` seconds; None before the first
        point. Intervals start at multiples of `step`, so that values do not change from call to call."""
        end = now // step * step
        values = self._empty(count, end, step)
        for place in range(len(self._at) - 1, 0, -1):
            before, at = self._at[place - 1], self._at[place]
            if at <= end - count * step:
                break
            wrote = self._written[place] - self._written[place - 1]
            _spread(values, before, at, None if wrote < 0 else wrote, end, step)
        if len(self._at) > 1 and (rate := self.rate(now)):  # the next report is due: the rate continues until then
            last = self._at[-1]
            _spread(values, last, min(now, last + RATE_VALID), rate * (min(now, last + RATE_VALID) - last), end, step)
        return values

    def lags(self, count: int, now: float, step: float = STEP) -> Values:
        """Lag in records at the end of each of the last `count` intervals; each value holds until the next point."""
        end = now // step * step
        values: Values = [None] * count
        place = len(self._at) - 1
        for slot in range(count - 1, -1, -1):
            while place >= 0 and self._at[place] > end - (count - 1 - slot) * step + step / 1000:
                place -= 1
            if place >= 0 and (lag := self._lag[place]) >= 0:
                values[slot] = lag
        return values

    def _empty(self, count: int, end: float, step: float) -> Values:
        """Intervals that ended before the first point are unknown (None)."""
        known = int(max(0.0, (end - self.started_at) / step + 0.999)) if self._at else 0
        return [None] * (count - min(known, count)) + [0.0] * min(known, count)


def _spread(values: Values, start: float, end: float, wrote: float | None, last: float, step: float) -> None:
    """Adds the records written between `start` and `end` to the intervals that this time overlaps; None is unknown."""
    count = len(values)
    first_slot = max(0, count - 1 - int((last - start) // step))
    last_slot = min(count - 1, count - 1 - int(-(-(last - end) // step)) + 1)
    for slot in range(first_slot, last_slot + 1):
        slot_end = last - (count - 1 - slot) * step
        overlap = min(end, slot_end) - max(start, slot_end - step)
        if overlap <= step / 1000:
            continue
        value = values[slot]
        if wrote is None or value is None:
            values[slot] = None if wrote is None and overlap > step / 2 else value
        else:
            values[slot] = value + wrote * overlap / (end - start) / step
