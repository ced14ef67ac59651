"""Logs connection errors of Kafka clients at a limited rate, not with every attempt of every client."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_log = logging.getLogger(__name__)

LOG_INTERVAL = 60.0  # seconds after which the same kind of error is logged again


class LogThrottle:
    """Allows one log line per kind of error in LOG_INTERVAL, and counts the others. Thread-safe.

    Shared by the whole slot: in an outage each of its hundreds of clients reports the same several times a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Reentrant: the garbage collector may close a client inside, which reports its errors here.
        self._lock = threading.RLock()
        self._logged: dict[tuple[str, ...], tuple[float, int]] = {}

    def allow(self, *kind: str) -> int | None:
        """None if a line must not be logged now; otherwise the number of lines of this kind suppressed since the
        last."""
        now = self._clock()
        with self._lock:
            at, suppressed = self._logged.get(kind, (now - LOG_INTERVAL, 0))
            if now - at < LOG_INTERVAL:
                self._logged[kind] = at, suppressed + 1
                return None
            self._logged[kind] = now, 0
            return suppressed


_throttle = LogThrottle()


class ClientLog:
    """The error callback of one client. Fatal errors are not reported here: poll() raises them."""

    def __init__(self, client: str, throttle: LogThrottle | None = None) -> None:
        self._client = client
        self._throttle = throttle or _throttle

    def __call__(self, error: KafkaError) -> None:
        if (suppressed := self._throttle.allow(self._client, error.name())) is not None:
            more = f" (and {suppressed} more like this)" if suppressed else ""
            _log.warning("The %s retries: %s%s", self._client, error.str(), more)

    @property
    def settings(self) -> dict[str, Any]:
        """Client settings: this callback, and only critical lines on standard error."""
        return {"error_cb": self, "log_level": 2}
