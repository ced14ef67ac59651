"""The connection errors of Kafka clients: logged at a limited rate, and told apart by whether trying again can help;
the delays by quotas of the brokers."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.kafka.clients import open_clients
from runtime.kafka.clients.logins import LOGIN
from runtime.kafka.clients.refusals import explain

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, ThrottleEvent

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


_LEAST_DELAY = 1.0  # seconds; shorter ones are usual where clients have quotas


class QuotaDelays:
    """The callback of one client for the delays by quotas, which otherwise look like brokers that do not respond."""

    def __init__(
        self, client: str, throttle: LogThrottle | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._throttle, self._clock = client, throttle or _throttle, clock
        self._last = (0.0, float("-inf"))  # the delay, and when it was reported

    def __call__(self, event: ThrottleEvent) -> None:
        if event.throttle_time < _LEAST_DELAY:
            return
        self._last = event.throttle_time, self._clock()
        if self._throttle.allow(self._client, "quota") is not None:
            _log.warning("The %s waits: %s", self._client, str(self))

    def __str__(self) -> str:
        """The delay of the last minute; empty without one."""
        delay, at = self._last
        return f"a quota of the brokers delays requests by {delay:.1f} s" if self._clock() - at < LOG_INTERVAL else ""


_ATTEMPT = 0.5  # seconds for one request
_PATIENCE = 10.0
"""Seconds for which a login of the worker may be refused: its password may just have been changed at the brokers, and
not yet in the file from which the worker has it."""
_RECENT = 10.0  # seconds; an older refusal is not the reason why all brokers are unreachable now


class ClientLog:
    """The error callback of one client. Fatal errors are not reported here: poll() raises them."""

    def __init__(
        self,
        client: str,
        throttle: LogThrottle | None = None,
        clock: Callable[[], float] = time.monotonic,
        reaching: Mapping[str, Any] | None = None,
        patient: bool = True,
    ) -> None:
        """`reaching`: the client's settings, by which a refusal is explained. `patient`: a login of the worker may be
        refused for a while."""
        self._reaching = reaching or {}
        self._client, self._clock = client, clock
        self._throttle = throttle or _throttle
        self._refused: tuple[float, KafkaError] | None = None
        self._refused_since = 0.0
        self._patience = _PATIENCE if patient and LOGIN in self._reaching else 0.0
        self.last = ""
        """The last error of a connection."""
        self.refusal: KafkaError | None = None
        """Why the client can reach no broker: the credentials or a certificate were refused. Java's clients give up
        then; this client tries the same again without end."""

    def __call__(self, error: KafkaError) -> None:
        if (suppressed := self._throttle.allow(self._client, error.name())) is not None:
            more = f" (and {suppressed} more like this)" if suppressed else ""
            _log.warning("The %s retries: %s%s", self._client, error.str(), more)
        if error.name() != "_ALL_BROKERS_DOWN":
            self.last = error.str()
        now = self._clock()
        if _is_refusal(error):
            if self._refused is None or now - self._refused[0] >= _RECENT:
                self._refused_since = now
            self._refused = now, error
        elif error.name() == "_ALL_BROKERS_DOWN" and self._refused is not None:
            at, refused = self._refused
            if now - at < _RECENT and now - self._refused_since >= self._patience:
                self.refusal = type(refused)(refused.code(), explain(refused.str(), self._reaching))

    @property
    def settings(self) -> dict[str, Any]:
        """Client settings: the callbacks, and only critical lines on standard error."""
        return {"error_cb": self, "throttle_cb": QuotaDelays(self._client), "log_level": 2}


def _is_refusal(error: KafkaError) -> bool:
    """Whether a broker or this client refused the other's identity. A broker that stops during the handshake is
    reported as `_SSL`, too, with "Disconnected"."""
    text = error.str()
    if error.name() == "_TRANSPORT":  # for certificates that have expired, and those of the client
        return "certificate verify failed" in text or "SSL alert number" in text
    return error.name() == "_AUTHENTICATION" or (error.name() == "_SSL" and "Disconnected" not in text)


def refusal_of(settings: Mapping[str, Any], timeout: float = 5.0) -> str | None:
    """Why all brokers refuse a client with these settings (of librdkafka); None if one accepts it, or does not respond
    within `timeout` seconds. Other clients than librdkafka report a refusal as a time-out. Blocks."""
    from confluent_kafka import KafkaException

    log = ClientLog("client", reaching=settings, patient=False)
    until = time.monotonic() + timeout
    with open_clients.producer({**settings, **log.settings}) as client:
        while log.refusal is None and time.monotonic() < until:
            with contextlib.suppress(KafkaException):
                client.list_topics(timeout=_ATTEMPT)
                return None
            client.poll(0)
    return None if log.refusal is None else log.refusal.str()
