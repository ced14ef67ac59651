"""The journal of offset changes: unfinished changes and the history, in Headrace's own compacted topic.

A planned change is written before the first offset is changed and removed after the last. A worker that finds a planned
change at its start finishes it. The offsets before each change are kept in a ring of MAX_HISTORY entries for each
connector, also of the last MAX_DELETED ones that were deleted with their offsets. Some classes have the same names as
the console's classes for the same data.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from runtime.kafka.log.log import TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.documents import Documents
from runtime.storage.history_ring import CHECK_EVERY, MAX_DELETED, HistoryRing
from runtime.storage.port import LogOpener
from runtime.system.loop_turns import LoopTurns

OffsetEntry = tuple[
    "dict[str, Any] | None", "dict[str, Any] | None"
]  # partition, offset; None for an offset removes it

_INTENT = "intent:"


class OffsetAction(StrEnum):
    """The kind of a change."""

    ALTER = "alter"
    RESET = "reset"
    CREATE = "create"  # with initial offsets (KIP-995)
    DELETE = "delete"  # the connector with its offsets
    HALT = "halt"  # the connector is STOPPED until its deletion begins, and continues as before if that does not happen


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """The user and the reason of a change; empty if the request does not give them."""

    who: str = ""
    why: str = ""


NO_ORIGIN = ChangeOrigin()


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change to carry out, with the data needed to finish it or to roll it back."""

    connector: str
    action: OffsetAction
    offsets: tuple[OffsetEntry, ...]
    before: tuple[OffsetEntry, ...]
    group: str | None = None  # of a sink; None for sources
    config: Mapping[str, str] | None = None  # of the connector, to create or restore it
    initial_state: str | None = None
    tasks: tuple[Mapping[str, str], ...] = ()  # task configs before the connector was stopped, to restore them
    origin: ChangeOrigin = field(default_factory=ChangeOrigin)
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    time: int = field(default_factory=lambda: int(time.time() * 1000))  # milliseconds since 1970

    @property
    def follows(self) -> int | None:
        """The number of the last completed change when this one was begun, if it is known."""
        number, is_numbered, _ = self.id.partition("-")
        return int(number) if is_numbered else None


@dataclass(frozen=True, slots=True)
class PastChange:
    """A completed change, with the offsets before it."""

    number: int  # counts the changes of this connector
    time: int
    action: OffsetAction
    origin: ChangeOrigin
    before: tuple[OffsetEntry, ...]
    after: tuple[OffsetEntry, ...]  # as the change named them


class OffsetJournal:
    """Planned changes and history. Event loop only; every method that writes raises BrokerUnavailable."""

    def __init__(
        self, logs: LogOpener, spec: TopicSpec, leader: TransactionalWriter | None = None,
        max_deleted: int = MAX_DELETED, check_every: int = CHECK_EVERY,
    ) -> None:  # fmt: skip
        """`leader` writes as in ConfigStore, so that Kafka refuses the records of a former leader (WriterFenced)."""
        self._documents, self._leader = Documents(logs, spec), leader
        self._ring = HistoryRing(self._documents, "history:", max_deleted, check_every)

    @property
    def documents(self) -> Documents:
        """The documents of the topic; other stores keep documents with other keys in the same topic."""
        return self._documents

    def numbered(self, intent: PlannedChange) -> PlannedChange:
        """The change, which knows the last completed one from now on (`follows`). The number is a part of the id, since
        earlier versions, which may lead the group during an upgrade, refuse a document with another field."""
        return replace(intent, id=f"{self.latest(intent.connector)[0]}-{intent.id}")

    async def begin(self, intent: PlannedChange) -> None:
        """Write a planned change: from now on it will be finished, even if the worker dies."""
        await self._documents.put(_INTENT + intent.connector, _document(intent), self._leader)

    async def done(self, intent: PlannedChange) -> None:
        """Move a completed change to the history; repeated calls add it only once."""
        if not self._is_last(intent):
            number = self.latest(intent.connector)[0] + 1
            past = _document(_done(intent, number))
            await self._documents.put(self._ring.key(intent.connector, number), past, self._leader)
            if intent.action is OffsetAction.DELETE:
                await self._ring.deleted(self._leader)
        await self.drop(intent)

    async def drop(self, intent: PlannedChange) -> None:
        """Remove a planned change that will not be carried out."""
        await self._documents.remove(_INTENT + intent.connector, writer=self._leader)

    def pending(self, connector: str) -> PlannedChange | None:
        """The unfinished change of a connector, if any."""
        document = self._documents.get(_INTENT + connector)
        return None if document is None else _intent(document)

    def is_pending(self, intent: PlannedChange) -> bool:
        """Whether this change is the unfinished one of its connector."""
        return bool(self._documents.fields(_INTENT + intent.connector).get("id") == intent.id)

    def is_outdated(self, intent: PlannedChange) -> bool:
        """Whether a later change was completed before this one was written."""
        last, _ = self.latest(intent.connector)
        return intent.follows is not None and last > intent.follows and not self._is_last(intent)

    def _is_last(self, intent: PlannedChange) -> bool:
        """Whether this change is the last one in the history."""
        last, time_of_last = self.latest(intent.connector)
        return time_of_last == intent.time and self._past(self._ring.key(intent.connector, last)) == _done(intent, last)

    def all_pending(self) -> list[PlannedChange]:
        """Unfinished changes of all connectors."""
        keys = self._documents.keys(_INTENT)
        return [intent for key in keys if (intent := self.pending(key.removeprefix(_INTENT))) is not None]

    async def history(self, connector: str) -> list[PastChange]:
        """Completed changes of a connector, newest first, without those that are completed meanwhile."""
        turns, entries, (newest, _) = LoopTurns(), [], self.latest(connector)
        for key in self._ring.keys(connector):
            if (past := self._past(key)) is not None and past.number <= newest:
                entries.append(past)
            await turns.next()
        return sorted(entries, key=lambda past: past.number, reverse=True)

    def latest(self, connector: str) -> tuple[int, int]:
        """Number and time of the last completed change of a connector; zeros without one."""
        slots = map(self._documents.fields, self._ring.keys(connector))
        return max((int(fields.get("number", 0)), int(fields.get("time", 0))) for fields in slots)

    async def read_to_end(self) -> None:
        """Apply every record that is in the topic now."""
        await self._documents.read_to_end()

    def _past(self, key: str) -> PastChange | None:
        document = self._documents.get(key)
        return None if document is None else _past(document)


def _done(intent: PlannedChange, number: int) -> PastChange:
    return PastChange(number, intent.time, intent.action, intent.origin, intent.before, intent.offsets)


def _document(change: PlannedChange | PastChange) -> dict[str, Any]:
    """A change as JSON. asdict() would copy every offset, which takes seconds for 100,000."""
    return {**{f.name: getattr(change, f.name) for f in fields(change)}, "origin": asdict(change.origin)}


def _intent(d: Mapping[str, Any]) -> PlannedChange:
    more = {"action": OffsetAction(d["action"]), "origin": ChangeOrigin(**d["origin"])}
    entries = {"offsets": _entries(d["offsets"]), "before": _entries(d["before"])}
    return PlannedChange(**{**d, **more, **entries, "tasks": tuple(d.get("tasks", ()))})


def _past(d: Mapping[str, Any]) -> PastChange:
    more = {"action": OffsetAction(d["action"]), "origin": ChangeOrigin(**d["origin"])}
    return PastChange(**{**d, **more, "before": _entries(d["before"]), "after": _entries(d["after"])})


def _entries(entries: Any) -> tuple[OffsetEntry, ...]:
    return tuple((partition, offset) for partition, offset in entries)
