"""The slot's idempotent producers: one for each set of settings, shared by the tasks that use it.

A producer costs half a megabyte, three threads and five file descriptors, so tasks do not have one each.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

_log = logging.getLogger(__name__)

_DEFAULTS: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "partitioner": "murmur2_random",  # Java's; librdkafka's own would spread keys differently
    "message.timeout.ms": 0,  # wait for the broker for ever, as Java does
    "linger.ms": 5,
    "queue.buffering.max.messages": 200_000,
    "queue.buffering.max.kbytes": 65_536,
}


class _Entry:
    """A producer, and whether it can still be used."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from confluent_kafka import Producer

        self.dead = False
        self._told = ""
        self.producer = Producer(
            {
                **_DEFAULTS,
                **settings,
                "delivery.report.only.error": True,  # success is told without a call per record: see acks.py
                "error_cb": self._error,
                "logger": logging.getLogger("librdkafka.producer"),
            }
        )

    def _error(self, error: KafkaError) -> None:
        if error.fatal():
            self.dead = True
            _log.error("The producer cannot go on: %s", error.str())
        elif error.str() != self._told:  # every try tells the same again while a broker is away
            self._told = error.str()
            _log.warning("The producer will try again: %s", error.str())


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
            if entry is None or entry.dead:
                entry = self._entries[key] = _Entry(settings)
            return entry.producer

    def drop(self, owner: str) -> None:
        """Forget the producers that `owner` had to itself; what they have not sent yet is not sent any more."""
        with self._lock:
            for key in [key for key in self._entries if json.loads(key)[0] == owner]:
                del self._entries[key]
