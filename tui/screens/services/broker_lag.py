"""Lag and throughput of sinks, and throughput of sources, from the brokers of the context, while the worker itself does
not report them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from tui.errors import HeadraceError, Unreachable
from tui.formatting import counted
from tui.metrics.progress import ProgressMonitor
from tui.model import Connector
from tui.offsets import group_lag
from tui.offsets.topic_growth import TopicGrowth
from tui.screens.services.source_topics import SourceTopics

if TYPE_CHECKING:
    from tui.offsets.brokers import Brokers

VISIBLE_INTERVAL = 5.0  # seconds between two samples of a connector on the screen
MAX_SAMPLED = 100  # connectors at once; the others follow a second later
PER_SECOND = 50  # connectors sampled a second on average, for those that are not on the screen
FAILURE_PAUSE = 60.0  # seconds without requests: for one connector after its error, for all if no broker responds

Sample = tuple[float, int | None]
"""The committed offsets and the lag of a sink, or the written records of a source and None."""


class BrokerLag:
    """`poll` is called each second. `brokers` connects, and may block; each error is reported to `say` once."""

    def __init__(
        self,
        progress: ProgressMonitor,
        brokers: Callable[[], Brokers],
        report: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._progress, self._connect, self._report, self._clock = progress, brokers, report, clock
        self._brokers: Brokers | None = None
        self._topics, self._growth = SourceTopics(progress.connect, clock), TopicGrowth(clock)
        self._sampled_at: dict[str, float] = {}
        self._errors: dict[str, str] = {}  # of connectors whose last sample failed
        self._busy, self._paused_until, self._has_failed = False, 0.0, False

    async def poll(self, connectors: Collection[Connector], visible: Iterable[str]) -> None:
        """Samples the connectors that are due, those on the screen first."""
        now, shown = self._clock(), set(visible)
        if self._busy or self._progress.has_events or now < self._paused_until:
            return
        self._busy = True
        try:
            await self._topics.refresh([connector for connector in connectors if connector.type == "source"], shown)
            topics = self._topics.own()
            if due := self._due(
                [connector for connector in connectors if connector.type == "sink" or connector.name in topics],
                shown,
                now,
            ):
                samples = await asyncio.to_thread(self._read, due, topics)
                self._has_failed = False
                self._sampled_at |= dict.fromkeys([connector.name for connector in due], now)
                self._take(samples, {connector.name for connector in due})
        except HeadraceError as error:
            self._all_failed(error)
        finally:
            self._busy = False

    def _due(self, candidates: list[Connector], visible: set[str], now: float) -> list[Connector]:
        others_interval = max(2 * VISIBLE_INTERVAL, len(candidates) / PER_SECOND)

        def overdue(connector: Connector) -> float:
            interval = VISIBLE_INTERVAL if connector.name in visible else others_interval
            if connector.name in self._errors:
                interval = max(interval, FAILURE_PAUSE)
            return now - self._sampled_at.get(connector.name, 0.0) - interval

        due = [connector for connector in candidates if overdue(connector) >= 0]
        due.sort(key=lambda connector: (connector.name not in visible, -overdue(connector)))
        names = {connector.name for connector in candidates}
        self._sampled_at = {name: at for name, at in self._sampled_at.items() if name in names}
        self._errors = {name: message for name, message in self._errors.items() if name in names}
        self._growth.forget(names)
        return due[:MAX_SAMPLED]

    def _read(self, due: list[Connector], topics: Mapping[str, Collection[str]]) -> dict[str, Sample | HeadraceError]:
        """The sample or the error of each connector. Raises HeadraceError if no broker responds."""
        if self._brokers is None:
            self._brokers = self._connect().with_short_timeout()
        samples: dict[str, Sample | HeadraceError] = {}
        for name, lag in group_lag.of_sinks(
            self._brokers, [connector for connector in due if connector.type == "sink"]
        ).items():
            samples[name] = lag if isinstance(lag, HeadraceError) else (lag.committed, lag.lag)
        sources = {connector.name: topics[connector.name] for connector in due if connector.name in topics}
        for name, written in self._growth.sample(self._brokers, sources).items():
            samples[name] = written if isinstance(written, HeadraceError) else (written, None)
        if samples and all(isinstance(sample, Unreachable) for sample in samples.values()):
            self._brokers.partitions(lambda topic: False)  # any broker responds this, not only the one of a group
        return samples

    def _take(self, samples: Mapping[str, Sample | HeadraceError], sampled: Collection[str]) -> None:
        errors = {name: error.message for name, error in samples.items() if isinstance(error, HeadraceError)}
        new = [name for name, message in errors.items() if self._errors.get(name) != message]
        self._errors = {name: text for name, text in self._errors.items() if name not in sampled} | errors
        self._progress.sampled(
            {name: sample for name, sample in samples.items() if not isinstance(sample, HeadraceError)}
        )
        self._progress.lost(errors)
        if new:
            others = f" and {counted(len(new) - 1, 'other connector')}" if len(new) > 1 else ""
            self._report(f"no lag or throughput of {new[0]}{others}: {errors[new[0]]}")

    def _all_failed(self, error: HeadraceError) -> None:
        self._paused_until = self._clock() + FAILURE_PAUSE
        if isinstance(error, Unreachable) and not self._has_failed:
            self._report(f"no lag or throughput in the list: {error.message}")
        self._has_failed = True
