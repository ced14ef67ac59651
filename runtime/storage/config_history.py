"""The history of configs in Headrace's own topic: the last changes of each connector, also of deleted ones.

An entry is written before its change, so that a worker that dies between the two never leaves a change without its
past; it may leave an entry without its change. Configs are stored as in the config topic: with references to secrets
(`${…}`), and with passwords that a config contains.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from runtime.storage.documents import Documents
from runtime.storage.history_ring import CHECK_EVERY, MAX_DELETED, HistoryRing
from runtime.storage.journal import NO_ORIGIN, ChangeOrigin

REQUEST_ORIGIN: ContextVar[ChangeOrigin] = ContextVar("REQUEST_ORIGIN", default=NO_ORIGIN)
"""The user and the reason of the request that is being carried out."""


class ConfigAction(StrEnum):
    """The kind of a change."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class PastConfig:
    """A change of a config. `before` is None for a creation, `after` for a deletion; `state` is the target state before
    the change, empty for a creation."""

    number: int  # counts the changes of this connector
    time: int  # milliseconds since 1970
    action: ConfigAction
    origin: ChangeOrigin
    state: str
    before: Mapping[str, str] | None
    after: Mapping[str, str] | None


class ConfigHistory:
    """Keeps the last changes of each connector, and of some deleted ones. Event loop only."""

    def __init__(self, documents: Documents, max_deleted: int = MAX_DELETED, check_every: int = CHECK_EVERY) -> None:
        self._documents, self._ring = documents, HistoryRing(documents, "config-history:", max_deleted, check_every)

    async def add(
        self, name: str, before: Mapping[str, str] | None, after: Mapping[str, str] | None, state: str
    ) -> None:
        """Record a change that follows; nothing for a change without an effect. Raises BrokerUnavailable."""
        if before == after:
            return
        action = (
            ConfigAction.CREATE if before is None else ConfigAction.DELETE if after is None else ConfigAction.UPDATE
        )
        number = max((past.number for past in self.of(name)), default=0) + 1
        past = PastConfig(number, int(time.time() * 1000), action, REQUEST_ORIGIN.get(), state, before, after)
        document = {**asdict(past), "action": action.value}
        await self._documents.put(self._ring.key(name, number), document)
        if action is ConfigAction.DELETE:
            await self._ring.deleted()

    def of(self, name: str) -> list[PastConfig]:
        """The changes of a connector, newest first."""
        documents = map(self._documents.get, self._ring.keys(name))
        entries = [_past(document) for document in documents if document is not None]
        return sorted(entries, key=lambda past: past.number, reverse=True)

    def names(self) -> list[str]:
        """All connectors with a history, sorted."""
        return self._ring.connectors()


def _past(d: Mapping[str, Any]) -> PastConfig:
    more = {"action": ConfigAction(d["action"]), "origin": ChangeOrigin(**d["origin"])}
    return PastConfig(**{**d, **more})
