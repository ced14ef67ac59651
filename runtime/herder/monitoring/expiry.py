"""When a stopped sink's offsets expire: brokers forget those of a group that has been empty for
`offsets.retention.minutes`, and the sink would then begin where `auto.offset.reset` says.

Kafka tells nobody since when a group is empty. What is known is when the connector was stopped (the record of its
target state) and when its offsets were changed last (the journal): the later of the two, and never before it was so.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore
from runtime.storage.journal import OffsetJournal

WARNING_PERIOD = 24 * 3600
"""Seconds before the end at which one is warned, at least a seventh of the retention."""

_CACHE_SECONDS = 3600.0  # seconds for which the brokers' setting is taken as known
_RETRY_SECONDS = 60.0  # where they did not tell it

Retention = Callable[[], Awaitable[int | None]]
"""The brokers' retention in milliseconds; None when they do not tell."""


class Expiry:
    """Event loop only. `clock` gives seconds since 1970."""

    def __init__(
        self, configs: ConfigStore, journal: OffsetJournal, retention: Retention, clock: Callable[[], float] = time.time
    ) -> None:
        self._configs, self._journal, self._ask, self._clock = configs, journal, retention, clock
        self._retention: int | None = None
        self._asked = float("-inf")
        self._warned: dict[str, int] = {}

    async def expires_at(self, name: str) -> int | None:
        """When the offsets of a STOPPED sink expire, in milliseconds since 1970; None when they do not, as far as is
        known."""
        stored = self._configs.connector(name)
        since = self._since(name)
        if stored is None or stored.target is not TargetState.STOPPED or since is None:
            return None
        retention = await self._known_retention()
        return None if retention is None else since + retention

    async def warnings(self, names: list[str]) -> list[tuple[str, str]]:
        """Sinks whose offsets expire soon, with what to say of it; each is told once a day."""
        found = []
        self._warned = {name: self._warned[name] for name in set(names) & self._warned.keys()}
        for name in names:
            at = await self.expires_at(name)
            if at is None:
                self._warned.pop(name, None)
            elif self._is_near(at) and self._is_new(name):
                found.append((name, self._warning_text(name, at)))
        return found

    def _since(self, name: str) -> int | None:
        stopped = self._configs.target_written(name)
        changes = [past.time for past in self._journal.history(name)[:1]]
        return None if stopped is None or stopped < 0 else max([stopped, *changes])

    async def _known_retention(self) -> int | None:
        now = self._clock()
        if now - self._asked >= (_RETRY_SECONDS if self._retention is None else _CACHE_SECONDS):
            self._retention, self._asked = await self._ask(), now
        return self._retention

    def _is_near(self, at: int) -> bool:
        margin = min(WARNING_PERIOD * 1000, (self._retention or 0) // 7)
        return self._clock() * 1000 >= at - margin

    def _is_new(self, name: str) -> bool:
        today = int(self._clock() // 86_400)
        return self._warned.setdefault(name, -1) != today and not self._warned.update({name: today})

    def _warning_text(self, name: str, at: int) -> str:
        left = at / 1000 - self._clock()
        when = f"expire in {_span(left)}" if left > 0 else "may have expired already"
        return (
            f"The offsets of the stopped sink {name} {when} (offsets.retention.minutes of the brokers): resume it, or "
            "export them; a sink without offsets begins where auto.offset.reset says"
        )


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
