"""One idempotent producer for all storage topics, and the thread that serves its delivery reports."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from runtime.kafka.clients import open_clients
from runtime.kafka.clients.client_log import QuotaDelays
from runtime.kafka.clients.logins import certificates
from runtime.kafka.clients.raised import raised_error
from runtime.kafka.denials import TOO_LARGE, is_denial, not_authorized, too_large, with_topic
from runtime.kafka.errors import BrokerUnavailable, EndpointUnavailable, KafkaProblem

_log = logging.getLogger(__name__)

_ABANDONED = ("_PURGE_QUEUE", "_PURGE_INFLIGHT", "_FATAL")  # records of a producer that failed

_IDLE = 0.1  # seconds until the thread looks for a new producer
_LAST_REPORTS = 10.0  # seconds for a failed producer to report its unsent records

Delivered = Callable[[KafkaProblem | None, int, int], None]  # error, partition, offset


class Writer:
    """Writes records in the order of the calls, and retries without limit while Kafka is unavailable."""

    def __init__(self, settings: Mapping[str, Any], on_trouble: Callable[[], None]) -> None:
        self.quota = QuotaDelays("producer for the storage topics")
        self._settings = {
            **settings,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0,
            "message.timeout.ms": 0,
            "partitioner": "murmur2_random",
            "error_cb": self._on_error,
            "throttle_cb": self.quota,
            "log_level": 2,
        }
        self._on_trouble = on_trouble
        self._lock = threading.Lock()
        self._producer: Any = None
        self._broken = False
        self._certificates = certificates(settings)  # of the producer
        self._failure: Any = None  # of the producer that failed last
        self._fatal: Any = None  # of the producer that is being polled
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="storage-writer", daemon=True)

    def start(self) -> None:
        """Create the producer, which fetches its id from the cluster; that may take half a second. Without a token yet
        the first record creates it."""
        with self._lock, suppress(EndpointUnavailable):
            self._current()

    def send(self, topic: str, key: bytes, value: bytes | None, delivered: Delivered) -> None:
        """Queue a record; `delivered` is called on the writer's thread. BrokerUnavailable if the queue is full."""

        from confluent_kafka import KafkaException

        size = len(key) + len(value or b"")

        def report(error: Any, message: Any) -> None:
            if error is None:
                delivered(None, message.partition(), message.offset())
                return
            try:
                refusal = self._refusal(topic, error, size)
            except SystemError as e:
                self._failure = self._fatal = raised_error(e)
                refusal = self._refusal(topic, error, size)
            delivered(refusal, -1, -1)

        try:
            with self._lock:  # so that the producer is not closed meanwhile
                self._current().produce(topic, value=value, key=key, on_delivery=report)
        except KafkaException as e:
            delivered(self._refusal(topic, e.args[0], size), -1, -1)
        except BufferError:
            raise BrokerUnavailable(f"too many records are waiting for Kafka (topic {topic})") from None

    def _refusal(self, topic: str, error: Any, size: int) -> KafkaProblem:
        """`size` of the record in bytes. An idempotent producer without WRITE on any topic fails as a whole, and purges
        its records."""
        reason = self._failure or error if error.name() in _ABANDONED else error
        if is_denial(reason):
            return not_authorized(self._settings, "WRITE", f"topic {topic}")
        if error.name() == TOO_LARGE:
            return too_large(self._settings, topic, size)
        return KafkaProblem(f"a record for topic {topic} was refused: {with_topic(reason, topic).str()}")

    def close(self, timeout: float) -> None:
        """Wait at most `timeout` seconds for pending records. Blocks."""
        if (producer := self._producer) is not None:
            left = open_clients.flush(producer, timeout)
            if left:
                _log.warning("%d records for the storage topics were not written before the worker ended", left)
                producer.purge()
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=5)

    def _current(self) -> Any:
        from confluent_kafka import Producer

        if self._producer is None or self._broken:
            self._broken = False
            self._certificates = certificates(self._settings)
            self._producer = open_clients.opened(Producer, self._settings)
            if self._thread.ident is None:
                self._thread.start()
        return self._producer

    def _poll(self) -> None:
        while not self._closing.is_set():
            if (producer := self._producer) is not None:
                self._serve(producer)
                self._renew(producer)
            else:
                self._closing.wait(_IDLE)
        self._drop(self._producer)

    def _serve(self, producer: Any) -> None:
        """Fatal errors are raised here, not passed to the error callback. An idempotent producer that lost its
        sequence cannot recover: its remaining records are reported as refused, and the next record gets a new
        producer."""
        from confluent_kafka import KafkaException

        open_clients.log_in_again(producer)
        try:
            producer.poll(0.1)
        except (KafkaException, SystemError) as error:
            self._fatal, error.__traceback__ = raised_error(error), None  # as in open_clients.flush()
        if self._fatal is not None:
            self._failure, self._fatal, self._broken = self._fatal, None, True
            _log.error("The producer for the storage topics failed and is replaced: %s", self._failure.str())
            self._on_trouble()
            open_clients.flush(producer, _LAST_REPORTS)
            self._drop(producer)

    def _renew(self, producer: Any) -> None:
        """Drop an idle producer that has old certificates; the next record gets another one."""
        if self._certificates != certificates(self._settings):
            with self._lock:
                is_idle = self._producer is producer and not len(producer)
                if is_idle:
                    self._producer = None
            if is_idle:
                open_clients.close(producer)

    def _drop(self, producer: Any) -> None:
        with self._lock:
            if self._producer is producer:
                self._producer = None
        open_clients.close(producer)

    def _on_error(self, error: Any) -> None:
        self._on_trouble()
