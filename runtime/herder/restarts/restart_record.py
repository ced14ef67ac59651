"""What is stored about the automatic restarts of one connector or task, as a document of the journal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from runtime.storage.documents import Documents

MAX_HISTORY = 10
"""How many restarts of each connector and task are kept."""

MAX_ERROR = 300
"""Characters of an error that are kept."""

_PREFIX = "restarts:"


@dataclass(frozen=True, slots=True)
class PastRestart:
    """A failure, and the restart that follows it. Times are milliseconds since 1970."""

    time: int
    attempt: int  # counted from 1; 0: no restart follows
    error: str
    restarted: int | None = None  # None: not restarted, or not yet


@dataclass(frozen=True, slots=True)
class RestartRecord:
    """The restarts of one connector or task in a row, and the last ones before."""

    config: str  # a digest: a new configuration has all attempts again
    attempts: int = 0
    due: int | None = None  # time of the restart that is waiting, in milliseconds since 1970
    ended: bool = False  # no further restart follows
    history: tuple[PastRestart, ...] = field(default=())  # newest first

    def failed(self, now: int, error: str, due: int | None) -> RestartRecord:
        """With another failure; `due` is None if no restart follows."""
        attempts = self.attempts + (due is not None)
        past = PastRestart(now, attempts if due is not None else 0, error[:MAX_ERROR])
        history = (past, *self.history)[:MAX_HISTORY]
        return replace(self, attempts=attempts, due=due, ended=due is None, history=history)

    def restarted(self, now: int) -> RestartRecord:
        """With the restart that was waiting."""
        history = (replace(self.history[0], restarted=now), *self.history[1:])
        return replace(self, due=None, history=history)

    def cancelled(self) -> RestartRecord:
        """Without the restart that was waiting, which is not carried out."""
        return replace(self, due=None)

    def again(self, config: str) -> RestartRecord:
        """With all attempts again."""
        return replace(self, config=config, attempts=0, due=None, ended=False)


def digest(config: Mapping[str, str]) -> str:
    """A digest of a connector's configuration."""
    return hashlib.sha256(json.dumps(dict(config), sort_keys=True).encode()).hexdigest()[:16]


class RestartRecords:
    """The records of all connectors and tasks. Event loop only."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._units: dict[str, set[int]] = {}  # by connector: thousands may be deleted at once
        documents.follow(_PREFIX, self._noted)

    def _noted(self, key: str, exists: bool) -> None:
        text, _, name = key.removeprefix(_PREFIX).partition(":")
        try:
            unit = int(text)
        except ValueError:  # written by another program
            return
        if exists:
            self._units.setdefault(name, set()).add(unit)
        elif units := self._units.get(name):
            units.discard(unit)
            if not units:
                del self._units[name]

    def has(self, name: str) -> bool:
        """Whether the connector or a task of it has ever failed."""
        return name in self._units

    def get(self, name: str, unit: int) -> RestartRecord | None:
        """The record of a connector (unit protocol.CONNECTOR) or task; None if it has never failed."""
        document = self._documents.get(_key(name, unit))
        return None if document is None else _record(document)

    def of(self, name: str) -> Iterator[tuple[int, RestartRecord]]:
        """The records of a connector and its tasks, by unit."""
        for unit in sorted(self._units.get(name, ())):
            if (record := self.get(name, unit)) is not None:
                yield unit, record

    async def put(self, name: str, unit: int, record: RestartRecord) -> None:
        """Store a record. Raises KafkaProblem."""
        await self._documents.put(_key(name, unit), asdict(record))

    async def remove(self, name: str) -> None:
        """Remove all records of a connector. Raises KafkaProblem."""
        if keys := [_key(name, unit) for unit, _ in self.of(name)]:
            await self._documents.remove(*keys)


def _key(name: str, unit: int) -> str:
    return f"{_PREFIX}{unit}:{name}"


def _record(d: Mapping[str, Any]) -> RestartRecord:
    return RestartRecord(**{**d, "history": tuple(PastRestart(**past) for past in d["history"])})
