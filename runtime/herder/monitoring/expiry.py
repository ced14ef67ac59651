"""When the offsets of stopped sinks expire on the brokers.

Brokers delete the offsets of a group that has been empty for `offsets.retention.minutes`; the sink would then start
where `auto.offset.reset` says. Kafka does not report when a group became empty, so the time is counted from the later
of two events: the connector was stopped (the record of its target state), or its offsets were changed (the journal).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from runtime.herder.configs.sink_clusters import is_elsewhere
from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore
from runtime.storage.journal import OffsetJournal

WARNING_PERIOD = 24 * 3600
"""Seconds before the expiry at which warnings start, but at most a seventh of the retention."""

_CACHE_SECONDS = 3600.0  # seconds before the brokers' retention is queried again
_RETRY_SECONDS = 60.0  # seconds before it is queried again if the brokers did not report it

Retention = Callable[[], Awaitable[int | None]]
"""Queries the brokers' retention in milliseconds; None if they do not report it."""


class Expiry:
    """Expiry times and warnings. Event loop only. `clock` returns seconds since 1970."""

    def __init__(
        self, configs: ConfigStore, journal: OffsetJournal, retention: Retention, clock: Callable[[], float] = time.time
    ) -> None:
        self._configs, self._journal, self._ask, self._clock = configs, journal, retention, clock
        self._retention: int | None = None
        self._asked = float("-inf")
        self._warned: dict[str, int] = {}

    async def expires_at(self, name: str) -> int | None:
        """When the offsets of a STOPPED sink expire, in milliseconds since 1970; None if they do not expire, or if the
        retention is unknown, as that of another cluster than the worker's."""
        stored = self._configs.connector(name)
        since = self._since(name)
        if stored is None or stored.target is not TargetState.STOPPED or since is None or is_elsewhere(stored.config):
            return None
        retention = await self._known_retention()
        return None if retention is None else since + retention

    async def warnings(self, names: list[str]) -> list[tuple[str, str]]:
        """Warnings for the stopped sinks whose offsets expire soon, by name; at most one a day for each sink."""
        texts = []
        self._warned = {name: self._warned[name] for name in set(names) & self._warned.keys()}
        for name in names:
            at = await self.expires_at(name)
            if at is None:
                self._warned.pop(name, None)
            elif self._is_near(at) and self._first_today(name):
                texts.append((name, self._warning_text(name, at)))
        return texts

    def _since(self, name: str) -> int | None:
        stopped = self._configs.target_written(name)
        return None if stopped is None or stopped < 0 else max(stopped, self._journal.latest(name)[1])

    async def _known_retention(self) -> int | None:
        now = self._clock()
        if now - self._asked >= (_RETRY_SECONDS if self._retention is None else _CACHE_SECONDS):
            self._retention, self._asked = await self._ask(), now
        return self._retention

    def _is_near(self, at: int) -> bool:
        margin = min(WARNING_PERIOD * 1000, (self._retention or 0) // 7)
        return self._clock() * 1000 >= at - margin

    def _first_today(self, name: str) -> bool:
        today = int(self._clock() // 86_400)
        return self._warned.setdefault(name, -1) != today and not self._warned.update({name: today})

    def _warning_text(self, name: str, at: int) -> str:
        left = at / 1000 - self._clock()
        when = f"expire in {_span(left)}" if left > 0 else "may have expired already"
        return (
            f"The offsets of the stopped sink {name} {when} (offsets.retention.minutes of the brokers). Resume the "
            "connector, or export its offsets; a sink without offsets starts where auto.offset.reset says"
        )


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
