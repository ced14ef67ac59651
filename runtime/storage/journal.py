"""What is being done to offsets, and what they were before: in a compacted topic of ours.

An intent is written before a change and removed after it: one that is found at a start is carried on. What the offsets
were before each change is kept in a ring of KEPT entries for each connector.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from runtime.kafka.log.log import TopicSpec
from runtime.storage.documents import Documents
from runtime.storage.port import LogOpener

MAX_HISTORY = 20
"""Changes of a connector that can be looked up and undone."""

OffsetEntry = tuple[
    "dict[str, Any] | None", "dict[str, Any] | None"
]  # partition, offset; None for an offset removes it

_INTENT, _HISTORY = "intent:", "history:"


class OffsetAction(StrEnum):
    """What is done to the offsets of a connector."""

    ALTER = "alter"
    RESET = "reset"
    CREATE = "create"  # with initial offsets (KIP-995)
    DELETE = "delete"  # the connector with its offsets


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """Who asked for a change, and why, as far as they said."""

    who: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change that is decided: everything that carrying it out, or taking it back, needs to know."""

    connector: str
    action: OffsetAction
    offsets: tuple[OffsetEntry, ...]
    before: tuple[OffsetEntry, ...]
    group: str | None = None  # of a sink; None for sources
    config: Mapping[str, str] | None = None  # of the connector, for where it has to be written (again)
    initial_state: str | None = None
    origin: ChangeOrigin = field(default_factory=ChangeOrigin)
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    time: int = field(default_factory=lambda: int(time.time() * 1000))  # milliseconds since 1970

    @property
    def wipes(self) -> bool:
        """Whether offsets that it does not name go too."""
        return self.action is not OffsetAction.ALTER


@dataclass(frozen=True, slots=True)
class PastChange:
    """The offsets of a connector before a change."""

    number: int  # counts the changes of this connector
    time: int
    action: OffsetAction
    origin: ChangeOrigin
    before: tuple[OffsetEntry, ...]
    after: tuple[OffsetEntry, ...]  # as the change named them


class OffsetJournal:
    """Intents and history. Event loop only."""

    def __init__(self, logs: LogOpener, spec: TopicSpec) -> None:
        self._documents = Documents(logs, spec)

    @property
    def documents(self) -> Documents:
        """The topic's documents; other stores keep theirs under keys of their own."""
        return self._documents

    async def begin(self, intent: PlannedChange) -> None:
        """From now on the change will happen, whoever dies."""
        await self._documents.put(_INTENT + intent.connector, asdict(intent))

    async def done(self, intent: PlannedChange) -> None:
        """The change is complete: add it to the history, only once even if this call is repeated."""
        number = self._last(intent.connector) + 1
        past = PastChange(number, intent.time, intent.action, intent.origin, intent.before, intent.offsets)
        if not any(replace(past, number=known.number) == known for known in self.history(intent.connector)[:1]):
            await self._documents.put(_place(intent.connector, number), asdict(past))
        await self.drop(intent)

    async def drop(self, intent: PlannedChange) -> None:
        """The change will not happen."""
        await self._documents.remove(_INTENT + intent.connector)

    def pending(self, connector: str) -> PlannedChange | None:
        """The change that was begun and not finished."""
        found = self._documents.get(_INTENT + connector)
        return None if found is None else _intent(found)

    def all_pending(self) -> list[PlannedChange]:
        keys = self._documents.keys(_INTENT)
        return [intent for key in keys if (intent := self.pending(key.removeprefix(_INTENT))) is not None]

    def history(self, connector: str) -> list[PastChange]:
        """Changes of a connector, newest first."""
        keys = (_place(connector, slot) for slot in range(MAX_HISTORY))
        found = [_past(document) for key in keys if (document := self._documents.get(key)) is not None]
        return sorted(found, key=lambda past: past.number, reverse=True)

    async def read_to_end(self) -> None:
        await self._documents.read_to_end()

    def _last(self, connector: str) -> int:
        return max((past.number for past in self.history(connector)), default=0)


def _place(connector: str, number: int) -> str:
    """Where the entry of a number lies: over the one KEPT changes ago."""
    return f"{_HISTORY}{number % MAX_HISTORY}:{connector}"


def _intent(d: Mapping[str, Any]) -> PlannedChange:
    more = {"action": OffsetAction(d["action"]), "origin": ChangeOrigin(**d["origin"])}
    return PlannedChange(**{**d, **more, "offsets": _entries(d["offsets"]), "before": _entries(d["before"])})


def _past(d: Mapping[str, Any]) -> PastChange:
    more = {"action": OffsetAction(d["action"]), "origin": ChangeOrigin(**d["origin"])}
    return PastChange(**{**d, **more, "before": _entries(d["before"]), "after": _entries(d["after"])})


def _entries(found: Any) -> tuple[OffsetEntry, ...]:
    return tuple((partition, offset) for partition, offset in found)
