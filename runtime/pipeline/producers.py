"""The slot's idempotent producers: one for each set of settings, shared by the tasks that use it.

A producer costs half a megabyte, three threads and five file descriptors, so tasks do not have one each.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.kafka.clients import PRODUCER_FIXED
from runtime.pipeline.client_log import ClientLog

if TYPE_CHECKING:
    from confluent_kafka import Producer


class _Entry:
    """A producer, and what it reports."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from confluent_kafka import Producer

        self.log = ClientLog("producer")
        # Success is told without a call per record: see acks.py.
        always = {"delivery.report.only.error": True, **self.log.settings}
        self.producer = Producer({**PRODUCER_FIXED, **settings, **always})


class Producers:
    """All producers of a slot. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def take(self, settings: Mapping[str, Any], owner: str | None = None) -> Producer:
        """The shared producer with these settings, or one that `owner` has to itself; a new one after a fatal error."""
        key = json.dumps([owner, settings], sort_keys=True, default=str)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.log.dead:
                entry = self._entries[key] = _Entry(settings)
            return entry.producer

    def drop(self, owner: str) -> None:
        """Forget the producers that `owner` had to itself; what they have not sent yet is not sent any more."""
        with self._lock:
            for key in [key for key in self._entries if json.loads(key)[0] == owner]:
                del self._entries[key]
