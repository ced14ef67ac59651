"""OfflineJournal: the journal of a stopped cluster, with unfinished changes of workers and of imports."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from runtime.kafka.log.log import Apply, TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.file_logs import MemoryLog
from runtime.storage.journal import ChangeOrigin, OffsetAction, OffsetEntry, OffsetJournal, PlannedChange

Record = tuple[bytes, "bytes | None"]

_TOOL = ChangeOrigin("headrace offsets", "import")


class OfflineJournal:
    """Reads the records of a journal, and creates the records that change it."""

    def __init__(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        self._journal = OffsetJournal(self, TopicSpec("", 1, 1, "", single=True))
        self._log.append([(key or b"", value) for key, value in records])

    def open(self, spec: TopicSpec, apply: Apply) -> MemoryLog:
        self._log = _Written(spec, apply)
        return self._log

    def of_workers(self) -> list[str]:
        """Connectors whose offsets a worker was changing when it ended. The next worker finishes the change."""
        return sorted(i.connector for i in self._journal.all_pending() if i.origin.who != _TOOL.who)

    def of_imports(self) -> list[PlannedChange]:
        """Removals that interrupted imports have left."""
        return [i for i in self._journal.all_pending() if i.origin.who == _TOOL.who]

    def begin(self, changes: Sequence[PlannedChange]) -> list[Record]:
        return self._record(self._journal.begin(change) for change in changes)

    def done(self, changes: Sequence[PlannedChange]) -> list[Record]:
        return self._record(self._journal.done(change) for change in changes)

    def _record(self, changes: Iterable[Coroutine[Any, Any, None]]) -> list[Record]:
        async def make_all() -> None:
            for change in changes:
                await change

        before = len(self._log.records)
        asyncio.run(make_all())
        return self._log.records[before:]


class _Written(MemoryLog):
    """A log that keeps the written records."""

    def __init__(self, spec: TopicSpec, apply: Apply) -> None:
        super().__init__(spec, apply)
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        self.records += records
        self._append(records)

    async def write_all(self, records: Sequence[Record], writer: TransactionalWriter | None = None) -> None:
        self.append(records)


def removal(connector: str, group: str, before: Sequence[OffsetEntry]) -> PlannedChange:
    """The planned change that removes these offsets from a sink's group."""
    gone = tuple((partition, None) for partition, _ in before)
    return PlannedChange(connector, OffsetAction.ALTER, gone, tuple(before), group, origin=_TOOL)
