"""Progress of connectors: lag of sinks, age of the positions of sources, stalled tasks.

Headrace workers report it for all connectors; with other workers it is polled for the connectors on the screen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.client.client import Connect
from tui.errors import HeadraceError
from tui.metrics.failure_rate import NO_FAILURES, FailureRate, RecordCounts, record_counts
from tui.metrics.rate_history import HistoryPoint, RateHistory

if TYPE_CHECKING:
    from tui.client.responses import OffsetsResponse, RecordedProgress
from tui.formatting import short


def limit_text(rate_limit: Mapping[str, Any]) -> str:
    """The limit in a progress event, such as `limit 500 records/s, 2.0 MB/s`; empty without one."""
    limit = rate_limit.get("limit") or {}
    records, size = limit.get("records"), limit.get("bytes")
    parts = [f"{short(int(records))} records/s"] if records is not None else []
    if size is not None:
        text = short(int(size))
        number, prefix = (text[:-1], text[-1]) if text[-1].isalpha() else (text, "")
        parts.append(f"{number} {prefix}B/s")
    return f"limit {', '.join(parts)}" if parts else ""


POLL_INTERVAL = 8.0  # seconds between two requests for one connector
HIDDEN_INTERVAL = 60.0  # the same for connectors that are not on the screen
MAX_REQUESTS = 4  # concurrent requests

Json = Any


class ConnectorProgress(NamedTuple):
    """Progress of one connector: lag in records (sinks), milliseconds since the last written record (sources), and the
    stalled tasks."""

    lag: int | None = None
    age_ms: int | None = None
    stalled: tuple[int, ...] = ()
    at: float = 0.0
    failing: FailureRate = NO_FAILURES
    limit: str = ""  # its rate limit, as text

    @property
    def is_known(self) -> bool:
        return self.lag is not None or self.age_ms is not None or bool(self.stalled) or self.failing.everything

    def age(self, now: float) -> float:
        """The age of the positions in seconds at the time `now`."""
        return (self.age_ms or 0) / 1000 + (max(0.0, now - self.at) if self.at else 0.0)


def of_offsets(response: OffsetsResponse) -> ConnectorProgress:
    """Progress from `GET offsets?detail=true`; unknown unless the worker reports it for every partition."""
    entries = response.get("offsets") or ()
    lags = [lag for entry in entries if (lag := (entry.get("lag") or {}).get("records")) is not None]
    ages = [age for entry in entries if (age := entry.get("age_ms")) is not None]
    stalled = tuple(response.get("stalled") or ())
    return ConnectorProgress(
        sum(lags) if lags and len(lags) == len(entries) else None, min(ages, default=None), stalled
    )


def of_event(event: Json, at: float, failing: FailureRate = NO_FAILURES) -> ConnectorProgress:
    """Progress from a `progress` event."""
    lag = event.get("lag") or {}
    age = None if event.get("lag") is not None else event.get("age_ms")
    return ConnectorProgress(
        lag.get("records"), age, tuple(event.get("stalled") or ()), 0.0 if age is None else at, failing,
        limit_text(event),
    )  # fmt: skip


class ProgressMonitor:
    """The progress of connectors by name. `update` takes the worker's events; `poll` is called each second, since there
    may be no events, and they never report the lag of paused and stopped sinks."""

    def __init__(self, connect: Connect, changed: Callable[[], None], clock: Callable[[], float] = time.time) -> None:
        self.known: dict[str, ConnectorProgress] = {}
        self.rate_histories: dict[str, RateHistory] = {}
        self.connect, self._changed, self._clock = connect, changed, clock
        self._counted: dict[str, RecordCounts] = {}
        self._requested_at: dict[str, float] = {}
        self._busy = self._has_events = False

    def update(self, connectors: Mapping[str, Json]) -> None:
        """Takes the progress of a `progress` event, by connector."""
        self._has_events, now = True, self._clock()
        for name, connector in connectors.items():
            self.known[name] = of_event(connector, now, self._failing(name, record_counts(connector, now)))
            lag = (connector.get("lag") or {}).get("records")
            self.rate_histories.setdefault(name, RateHistory()).add(now, float(connector.get("written") or 0), lag)
        self._changed()

    def sampled(self, positions: Mapping[str, tuple[float, int | None]]) -> None:
        """Takes regular samples by name: the sum of committed offsets and the lag of a sink, or the number of written
        records of a source and None."""
        now = self._clock()
        for name, (position, lag) in positions.items():
            if lag is not None:
                self.known[name] = ConnectorProgress(lag=lag)
            self.rate_histories.setdefault(name, RateHistory()).add(now, position, lag, sampled=True)
        if positions:
            self._changed()

    def lost(self, names: Iterable[str]) -> None:
        """The progress of these connectors cannot be sampled now."""
        before = len(self.known)
        for name in names:
            self.known.pop(name, None)
        if len(self.known) != before:
            self._changed()

    def recorded(self, name: str, points: Sequence[RecordedProgress]) -> None:
        """Takes points that the worker recorded before the console was opened."""
        if not points:
            return
        history = self.rate_histories.setdefault(name, RateHistory())
        history.prepend(
            HistoryPoint(progress["time"] / 1000, float(progress["written"]), progress["lag"]) for progress in points
        )
        self._changed()

    @property
    def has_events(self) -> bool:
        """Whether the worker reports the progress itself."""
        return self._has_events

    def _failing(self, name: str, counts: RecordCounts) -> FailureRate:
        before, self._counted[name] = self._counted.get(name), counts
        nothing_new = before is not None and (before.read, before.failed) == (counts.read, counts.failed)
        return self.known[name].failing if nothing_new and name in self.known else counts.since(before)

    async def poll(self, visible: Iterable[str], hidden: Iterable[str] = ()) -> None:
        """Requests the progress of connectors that are due: a few of those on the screen, and one of the others."""
        if self._busy:
            return
        due = self._due(visible, POLL_INTERVAL)[:MAX_REQUESTS] + self._due(hidden, HIDDEN_INTERVAL)[:1]
        self._busy = True
        try:
            await asyncio.gather(*(self._request(name) for name in due))
        finally:
            self._busy = False
        if due:
            self._changed()

    def _due(self, names: Iterable[str], interval: float) -> list[str]:
        """The names whose last request is at least `interval` seconds ago, or after a time to which the clock was set
        back; the oldest request first."""
        asked, now = self._requested_at, self._clock()
        return sorted(
            (name for name in names if abs(now - asked.get(name, 0.0)) >= interval), key=lambda n: asked.get(n, 0.0)
        )

    async def _request(self, name: str) -> None:
        self._requested_at[name] = self._clock()
        try:
            self.known[name] = of_offsets(await self.connect.offsets_in_detail(name))
        except HeadraceError:
            self.known.pop(name, None)  # optional in the list; the connector's page shows the error

    def forget(self, existing: Iterable[str]) -> None:
        """Forgets connectors that no longer exist."""
        for name in (self.known.keys() | self.rate_histories.keys()) - set(existing):
            self.known.pop(name, None)
            self.rate_histories.pop(name, None)
            self._requested_at.pop(name, None)
            self._counted.pop(name, None)
