"""What Kafka clients report of their connections, told once in a while and not with every try of every client."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_log = logging.getLogger(__name__)

LOG_INTERVAL = 60.0  # seconds after which the same kind of trouble is told again


class LogThrottle:
    """Says yes to a kind of trouble once a minute, and how often it was not told since. Thread-safe.

    One for the whole slot: in an outage each of its hundreds of clients reports the same, several times a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[tuple[str, ...], tuple[float, int]] = {}

    def wants(self, *kind: str) -> int | None:
        """None: not now. Otherwise how many of this kind were left out since the last one."""
        now = self._clock()
        with self._lock:
            at, left_out = self._told.get(kind, (now - LOG_INTERVAL, 0))
            if now - at < LOG_INTERVAL:
                self._told[kind] = at, left_out + 1
                return None
            self._told[kind] = now, 0
            return left_out


_throttle = LogThrottle()


class ClientLog:
    """The error callback of one client. Fatal errors are not reported here: poll() raises them."""

    def __init__(self, client: str, teller: LogThrottle | None = None) -> None:
        self._client = client
        self._throttle = teller or _throttle

    def __call__(self, error: KafkaError) -> None:
        if (left_out := self._throttle.wants(self._client, error.name())) is not None:
            more = f" (and {left_out} more like this)" if left_out else ""
            _log.warning("The %s will try again: %s%s", self._client, error.str(), more)

    @property
    def settings(self) -> dict[str, Any]:
        """Client settings: this callback, and no lines on standard error but critical ones."""
        return {"error_cb": self, "log_level": 2}
