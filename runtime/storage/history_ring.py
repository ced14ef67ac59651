"""The entries of histories, and a limit on those of deleted connectors, which would grow without end where connectors
come and go."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.documents import Documents
from runtime.system.loop_turns import LoopTurns

MAX_HISTORY = 20
"""How many changes of each connector are kept, to be listed and undone."""

MAX_DELETED = 1000
"""Deleted connectors that have a history."""

CHECK_EVERY = 100
"""Deletions between two checks of this limit, which look at all entries."""

_DELETE = "delete"


class HistoryRing:
    """One history, whose entries are documents with the keys `<prefix><place>:<connector>` and the fields `number`,
    `time` and `action`. Event loop only."""

    def __init__(
        self, documents: Documents, prefix: str, max_deleted: int = MAX_DELETED, check_every: int = CHECK_EVERY
    ) -> None:
        self._documents, self._prefix = documents, prefix
        self._max_deleted, self._check_every = max_deleted, check_every
        self._deletions = itertools.count()

    def key(self, connector: str, number: int) -> str:
        """The document key of an entry, which replaces the entry of MAX_HISTORY changes ago."""
        return f"{self._prefix}{number % MAX_HISTORY}:{connector}"

    def keys(self, connector: str) -> Iterator[str]:
        """The keys that entries of the connector may have."""
        return (self.key(connector, number) for number in range(MAX_HISTORY))

    def connectors(self) -> list[str]:
        """All connectors with a history, sorted."""
        return sorted({key.removeprefix(self._prefix).partition(":")[2] for key in self._documents.keys(self._prefix)})

    async def deleted(self, writer: TransactionalWriter | None = None) -> None:
        """A deletion has been added. Removes the histories of the connectors that were deleted first, beyond the limit,
        if a check is due. Raises BrokerUnavailable."""
        if next(self._deletions) % self._check_every:
            return
        turns, keys = LoopTurns(), defaultdict[str, list[str]](list)
        newest: dict[str, tuple[int, int, str]] = {}
        for key in self._documents.keys(self._prefix):
            await turns.next()
            name, fields = key.removeprefix(self._prefix).partition(":")[2], self._documents.fields(key)
            keys[name].append(key)
            entry = int(fields.get("number", 0)), int(fields.get("time", 0)), str(fields.get("action", ""))
            newest[name] = max(newest.get(name, (0, 0, "")), entry)
        ended = sorted((at, name) for name, (_, at, action) in newest.items() if action == _DELETE)
        oldest = [key for _, name in ended[: -self._max_deleted or None] for key in keys[name]]
        if oldest:  # at once: a request waits for it
            await self._documents.remove(*oldest, writer=writer)
