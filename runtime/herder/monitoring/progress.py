"""Progress of connectors: the lag of sinks in records and time, the age of sources' offsets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from runtime.herder.offsets.stored_offsets import topic_partitions
from runtime.herder.responses import DetailedOffset, LagResponse
from runtime.kafka.clients.kafka_python import TopicPartition
from runtime.kafka.formats import canonical
from runtime.kafka.positions import Positions
from runtime.storage.journal import OffsetEntry
from runtime.storage.offsets import OffsetStore

CACHE_SECONDS = 1.0
"""Seconds for which a response is returned again."""


class OffsetProgress:
    """Adds lag or age to offsets. Event loop only; concurrent requests for a connector share one query of Kafka."""

    def __init__(self, store: OffsetStore, isolation: str) -> None:
        """`isolation` is the `isolation.level` of sinks that do not set their own."""
        self._store, self._isolation = store, isolation
        self._queries: dict[str, tuple[float, asyncio.Task[list[DetailedOffset]]]] = {}  # with their start times

    async def detail(
        self, name: str, entries: Sequence[OffsetEntry], sink: Positions | None, isolation: str | None = None
    ) -> list[DetailedOffset]:
        """Each entry with `end` and `lag` (`records`, `ms`) for sinks, `written` and `age_ms` for sources. `sink`
        answers about a sink's topics, and `isolation` is its own `isolation.level`.

        `records` is 0 if the sink can read none of them: markers of transactions have offsets, too. `ms` is the age of
        the next record to read in milliseconds; null if the record has no timestamp."""
        self._forget_old()
        if name not in self._queries:
            level = isolation or self._isolation
            query = self._of_source(name, entries) if sink is None else self._of_sink(entries, sink, level)
            self._queries[name] = time.monotonic(), asyncio.create_task(query)
        return await asyncio.shield(self._queries[name][1])

    async def _of_sink(
        self, entries: Sequence[OffsetEntry], positions: Positions, isolation: str
    ) -> list[DetailedOffset]:
        committed = {at: o for at, o in topic_partitions(entries).items() if o is not None}
        ends = await positions.ends(list(committed))
        behind = {at: o for at, o in committed.items() if o < ends.get(at, 0)}
        following = await positions.next_records(behind, isolation)
        now = int(time.time() * 1000)

        def lag(at: TopicPartition) -> LagResponse | None:
            if at not in ends:
                return None
            written = following.get(at, -1) if at in behind else None
            if written is None:
                return {"records": 0, "ms": 0}
            return {"records": ends[at] - committed[at], "ms": max(now - written, 0) if written >= 0 else None}

        return [
            {"partition": partition, "offset": offset, "end": ends.get(at), "lag": lag(at)}
            for partition, offset in entries
            for at in topic_partitions([(partition, offset)])
        ]

    async def _of_source(self, name: str, entries: Sequence[OffsetEntry]) -> list[DetailedOffset]:
        written, now = self._store.written(name), int(time.time() * 1000)
        offsets: list[DetailedOffset] = []
        for partition, offset in entries:
            at = written.get(canonical(partition), -1)
            age = max(now - at, 0) if at >= 0 else None
            offsets.append(
                {"partition": partition, "offset": offset, "written": at if at >= 0 else None, "age_ms": age}
            )
        return offsets

    def _forget_old(self) -> None:
        now = time.monotonic()
        self._queries = {
            n: (at, task) for n, (at, task) in self._queries.items() if now - at < CACHE_SECONDS or not task.done()
        }
