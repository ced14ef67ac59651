"""Stores on storage topics for a single test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from runtime.kafka.log.log import LogRecord, TopicLog, TopicLogs, TopicSpec
from runtime.storage.configs import ConfigStore
from runtime.storage.offsets import OffsetStore
from runtime.storage.statuses import StatusStore
from tests.support.broker import unique


@dataclass
class Stores:
    """One worker's stores; `raw` writes and `seen` reads records directly."""

    prefix: str
    logs: TopicLogs
    configs: ConfigStore
    offsets: OffsetStore
    statuses: StatusStore

    async def raw(self, kind: str, *records: tuple[bytes, bytes | None]) -> None:
        """Writes records as another worker would."""
        await TopicLog(self.logs, _spec(self.prefix, kind), lambda _: None).write_all(records)

    async def seen(self, kind: str) -> list[tuple[bytes | None, bytes | None]]:
        """Every record of a topic, in order for each key."""
        return [(r.key, r.value) for r in await self._records(kind)]

    async def not_reported(self, kind: str, log: str) -> list[LogRecord]:
        """The records of a topic of which the log does not say, with their offsets, that they are ignored."""
        topic = _spec(self.prefix, kind).topic
        return [
            record
            for record in await self._records(kind)
            if f"Ignoring the record at offset {record.offset} of {topic}-{record.partition}: " not in log
        ]

    async def _records(self, kind: str) -> list[LogRecord]:
        records: list[LogRecord] = []
        logs = TopicLogs(self.logs._settings)
        logs.open(_spec(self.prefix, kind), records.extend)
        await logs.start()
        await logs.close()
        return records


def _spec(prefix: str, kind: str) -> TopicSpec:
    partitions = {"configs": 1, "offsets": 5, "status": 2}[kind]
    return TopicSpec(f"{prefix}-{kind}", partitions, 1, kind, single=partitions == 1)


MakeStores = Callable[..., Awaitable[Stores]]


@asynccontextmanager
async def opened_stores(bootstrap: str) -> AsyncIterator[MakeStores]:
    """Opens stores: `await make()` on new topics, `await make(prefix)` on those of another worker."""
    made: list[Stores] = []

    async def make(prefix: str | None = None) -> Stores:
        prefix = prefix or unique("stores")
        logs = TopicLogs({"bootstrap.servers": bootstrap})
        configs = ConfigStore(logs, _spec(prefix, "configs"))
        offsets = OffsetStore(logs, _spec(prefix, "offsets"))
        statuses = StatusStore(logs, _spec(prefix, "status"), clock=lambda: 1.5)
        made.append(Stores(prefix, logs, configs, offsets, statuses))
        await logs.start()
        return made[-1]

    yield make
    for one in made:
        await one.logs.close()
