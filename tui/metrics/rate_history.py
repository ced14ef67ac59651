"""Compact histories of a connector's written records and lag over the last quarter of an hour."""

from __future__ import annotations

from array import array

STEP = 5.0  # seconds between two points, as in the reports of Headrace workers
MAX_POINTS = 180  # for each connector

Values = list[float | None]


class RateHistory:
    """The history of one connector. Points exist only for times with progress. The rate is unknown where a
    worker restarted, since its counts start again at 0."""

    __slots__ = ("_at", "_lag", "_written")

    def __init__(self) -> None:
        self._at, self._written, self._lag = array("d"), array("d"), array("f")

    def add(self, at: float, written: float, lag: int | None) -> None:
        self._at.append(at)
        self._written.append(written)
        self._lag.append(-1.0 if lag is None else lag)
        if len(self._at) > MAX_POINTS:
            for points in (self._at, self._written, self._lag):
                del points[0]

    def __len__(self) -> int:
        return len(self._at)

    @property
    def started_at(self) -> float:
        return self._at[0] if self._at else 0.0

    @property
    def has_lag(self) -> bool:
        return any(lag >= 0 for lag in self._lag)

    def rates(self, count: int, now: float) -> Values:
        """Records per second in the last `count` steps up to now; None before the first point."""
        found = self._empty(count, now, 1)
        for place in range(1, len(self._at)):
            step = self._step(count, self._at[place], now)
            if 0 <= step < count:
                wrote = self._written[place] - self._written[place - 1]
                took = min(self._at[place] - self._at[place - 1], STEP)
                found[step] = None if wrote < 0 else (found[step] or 0.0) + wrote / max(took, STEP / 2)
        return found

    def lags(self, count: int, now: float) -> Values:
        """Lag in records; each value holds until the next point."""
        found = self._empty(count, now)
        for place, lag in enumerate(self._lag):
            step = max(0, self._step(count, self._at[place], now))
            found[step:] = [None if lag < 0 else lag] * (count - step)
        return found

    def _empty(self, count: int, now: float, first: int = 0) -> Values:
        """Steps before the first point are unknown (None), for a rate also the step of that point."""
        first = min(max(self._step(count, self.started_at, now) + first, 0), count) if self._at else count
        return [None] * first + [0.0] * (count - first)

    @staticmethod
    def _step(count: int, at: float, now: float) -> int:
        return count - 1 - int(max(0.0, now - at) / STEP)
