"""The rate limit of a connector or task, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Records and bytes per second; None: no limit. Bytes are those of keys and values in Kafka."""

    records: float | None = None
    bytes: float | None = None

    def share(self, tasks: int) -> RateLimit:
        return RateLimit(*(None if rate is None else rate / max(tasks, 1) for rate in (self.records, self.bytes)))


UNLIMITED = RateLimit()
