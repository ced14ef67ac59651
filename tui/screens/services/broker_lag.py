"""Lag and throughput of all sinks from the brokers of the context, while the worker itself does not report them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from tui.errors import HeadraceError, Unreachable
from tui.metrics.progress import ProgressMonitor
from tui.model import Connector
from tui.offsets import group_lag

if TYPE_CHECKING:
    from tui.offsets.brokers import Brokers

VISIBLE_INTERVAL = 5.0  # seconds between two samples of a sink on the screen
MAX_SINKS = 100  # of one request; the others follow a second later
PER_SECOND = 50  # sinks sampled a second on average, for those that are not on the screen
FAILURE_PAUSE = 60.0  # seconds without requests after the brokers did not answer


class BrokerLag:
    """`poll` is called each second. `brokers` connects, and may block; errors are reported to `say` once."""

    def __init__(
        self,
        progress: ProgressMonitor,
        brokers: Callable[[], Brokers],
        say: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._progress, self._connect, self._say, self._clock = progress, brokers, say, clock
        self._brokers: Brokers | None = None
        self._sampled_at: dict[str, float] = {}
        self._busy, self._paused_until, self._has_failed = False, 0.0, False

    async def poll(self, connectors: Collection[Connector], visible: Iterable[str]) -> None:
        """Samples the sinks that are due, those on the screen first."""
        now = self._clock()
        if self._busy or self._progress.has_events or now < self._paused_until:
            return
        due = self._due([one for one in connectors if one.type == "sink"], set(visible), now)
        if not due:
            return
        self._busy = True
        try:
            found = await asyncio.to_thread(self._read, due)
        except HeadraceError as error:
            self._failed(error)
        else:
            self._has_failed = False
            for sink in due:
                self._sampled_at[sink.name] = now
            self._progress.sampled({name: (float(one.committed), one.lag) for name, one in found.items()})
        finally:
            self._busy = False

    def _due(self, sinks: list[Connector], visible: set[str], now: float) -> list[Connector]:
        others_interval = max(2 * VISIBLE_INTERVAL, len(sinks) / PER_SECOND)

        def overdue(sink: Connector) -> float:
            interval = VISIBLE_INTERVAL if sink.name in visible else others_interval
            return now - self._sampled_at.get(sink.name, 0.0) - interval

        due = [sink for sink in sinks if overdue(sink) >= 0]
        due.sort(key=lambda sink: (sink.name not in visible, -overdue(sink)))
        names = {sink.name for sink in sinks}
        self._sampled_at = {name: at for name, at in self._sampled_at.items() if name in names}
        return due[:MAX_SINKS]

    def _read(self, sinks: list[Connector]) -> dict[str, group_lag.GroupLag]:
        if self._brokers is None:
            self._brokers = self._connect().with_short_timeout()
        return group_lag.of_sinks(self._brokers, sinks)

    def _failed(self, error: HeadraceError) -> None:
        self._paused_until = self._clock() + FAILURE_PAUSE
        if isinstance(error, Unreachable) and not self._has_failed:
            self._say(f"no lag in the list: {error.message}")
        self._has_failed = True
