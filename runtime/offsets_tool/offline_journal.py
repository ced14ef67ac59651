"""The journal of a cluster at rest: changes that its worker could not finish, and what an import still has to do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from runtime.kafka.log.log import Apply, TopicSpec
from runtime.storage.file_logs import MemoryLog
from runtime.storage.journal import ChangeOrigin, OffsetAction, OffsetEntry, OffsetJournal, PlannedChange

Record = tuple[bytes, "bytes | None"]

_TOOL = ChangeOrigin("headrace offsets", "import")


class OfflineJournal:
    """What a journal says, and the records that would change it."""

    def __init__(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        self._journal = OffsetJournal(self, TopicSpec("", 1, 1, "", single=True))
        self._log.append([(key or b"", value) for key, value in records])

    def open(self, spec: TopicSpec, apply: Apply) -> MemoryLog:
        """The journal's log: in memory only."""
        self._log = _Written(spec, apply)
        return self._log

    def of_workers(self) -> list[str]:
        """Connectors whose offsets a worker was changing when it ended. The next worker goes on with that."""
        return sorted(i.connector for i in self._journal.all_pending() if i.origin.who != _TOOL.who)

    def of_imports(self) -> list[PlannedChange]:
        """What imports have left to do."""
        return [i for i in self._journal.all_pending() if i.origin.who == _TOOL.who]

    def begin(self, intents: Sequence[PlannedChange]) -> list[Record]:
        """The records that make a journal promise this."""
        return self._record(self._journal.begin(intent) for intent in intents)

    def done(self, intents: Sequence[PlannedChange]) -> list[Record]:
        """The records that say it has been done."""
        return self._record(self._journal.done(intent) for intent in intents)

    def _record(self, changes: Iterable[Coroutine[Any, Any, None]]) -> list[Record]:
        async def all_of_them() -> None:
            for change in changes:
                await change

        before = len(self._log.records)
        asyncio.run(all_of_them())
        return self._log.records[before:]


class _Written(MemoryLog):
    """Keeps what is written to it."""

    def __init__(self, spec: TopicSpec, apply: Apply) -> None:
        super().__init__(spec, apply)
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        self.records += records
        self._append(records)

    async def write_all(self, records: Sequence[Record]) -> None:
        self.append(records)


def removal(connector: str, group: str, before: Sequence[OffsetEntry]) -> PlannedChange:
    """The intent of removing offsets, as they were, from a sink's group."""
    gone = tuple((partition, None) for partition, _ in before)
    return PlannedChange(connector, OffsetAction.ALTER, gone, tuple(before), group, origin=_TOOL)
