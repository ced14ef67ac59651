"""The slot's idempotent producers: one per set of settings and purpose, shared by the tasks that use it.

A producer costs half a megabyte, three threads and five file descriptors, so tasks share them. Records and offsets have
different producers, so that an offset commit never waits for records.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.kafka.clients import open_clients
from runtime.kafka.clients.addresses import check_resolvable
from runtime.kafka.clients.client_log import ClientLog
from runtime.kafka.clients.logins import LOGIN, certificates, credentials
from runtime.kafka.clients.raised import raised_error
from runtime.kafka.clients.settings import PRODUCER_FIXED
from runtime.kafka.denials import principal
from runtime.model.task_errors import ClientFailedError
from runtime.pipeline.produce.queue_share import SendQueue, Share

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_log = logging.getLogger(__name__)

_PARTS = 8  # a task may use this fraction (1/8) of the free room in a shared producer's queue
_REASON_TIMEOUT = 1.0  # seconds
_WAITED = 1.2  # times the wait for a topic that does not exist
_MIN_AGE = 10.0  # seconds; a failed producer is not replaced earlier
_AFTER_FENCING = 5.0  # seconds
_BY_ANOTHER = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")

PURGED = ("_PURGE_QUEUE", "_PURGE_INFLIGHT")
"""Errors of records that were discarded with their transaction or their producer: a consequence, never the reason."""

# Errors of records that were refused because their producer failed, not because of the records.
_OF_PRODUCER = (
    *PURGED, "_FATAL", "_FENCED", "_STATE", "_DESTROY", "_GAPLESS_GUARANTEE",
    "OUT_OF_ORDER_SEQUENCE_NUMBER", "DUPLICATE_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH",
    "INVALID_PRODUCER_ID_MAPPING", "PRODUCER_FENCED",
)  # fmt: skip
OF_TOPIC = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")
"""Errors of the destination, not of the record: Apache's producer retries or fails, and never skips the record."""

# Fatal errors that would occur in the next producer too.
_LASTING = (
    "CLUSTER_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION",
    "_UNSUPPORTED_FEATURE", "_AUTHENTICATION", "_SSL",
)  # fmt: skip


class Purpose(StrEnum):
    """The purpose of a producer."""

    RECORDS = "records"
    SINGLE_RECORDS = "single records"  # one request per record
    OFFSETS = "offsets"
    TRANSACTIONS = "transactions"


class SlotProducer:
    """One client of the slot. Thread-safe; any task's thread may serve another task's delivery reports."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        purpose: Purpose = Purpose.RECORDS,
        shared: bool = True,
        each_reported: bool = False,
    ) -> None:
        """`each_reported`: the callback of a message is called also when Kafka has stored the message.
        ClientConfigError if no bootstrap server exists."""
        from confluent_kafka import Producer

        self._settings, self._certificates = settings, certificates(settings)
        configured = {**PRODUCER_FIXED, **settings}
        check_resolvable(str(configured["bootstrap.servers"]))
        self.log = ClientLog("producer", reaching=configured)
        # Success is usually reported without a call per record: see acks.py.
        always = {"delivery.report.only.error": not each_reported, **self.log.settings}
        if purpose is not Purpose.OFFSETS:
            always |= _UNLIMITED
        if purpose is Purpose.SINGLE_RECORDS:
            always["batch.num.messages"] = 1
        self.client: Any = open_clients.opened(Producer, {**configured, **always}, self)
        self._queue = SendQueue(int(configured["queue.buffering.max.kbytes"]) * 1024, _PARTS if shared else 1)
        self._purpose, self._created = purpose, time.monotonic()
        own = {key: value for key, value in settings.items() if not key.startswith("transaction")}
        self._probe, self._reached = open_clients.KeptAdmin({**own, **self.log.settings}), False
        self.fatal: KafkaError | None = None
        self.produce = self.client.produce

    def responds(self, topic: str) -> bool:
        """Whether a bootstrap server responds, or has responded since the client was created. `topic`: see
        open_clients.responds()."""
        if not self._reached and open_clients.responds(self._probe, topic):
            self._reached = True
            self._probe.close()
        return self._reached

    @property
    def outdated(self) -> bool:
        """Whether the next task needs another producer: this one has failed, or its certificates are old."""
        return self.fatal is not None or self._certificates != certificates(self._settings)

    def share(self) -> Share:
        """A share of the queue for a new task."""
        return Share(self._queue)

    def poll(self, timeout: float) -> None:
        """Serve delivery reports, including other tasks'. Stores a fatal error in `fatal`; the client raises the error
        in the thread that polls first. A refusal of all brokers is fatal, too, as for Java's producer.

        A poll ends with the fatal error; the client's flush() may first call for reports while the error is pending,
        which fails them (open_clients.flush())."""
        from confluent_kafka import KafkaException

        open_clients.log_in_again(self.client)
        try:
            self.client.poll(timeout)
        except (KafkaException, SystemError) as e:
            if not (error := raised_error(e)).fatal():
                raise
            self._failed(error)
        if self.fatal is None and self.log.refusal is not None:
            self._failed(self.log.refusal)

    def _failed(self, error: KafkaError) -> None:
        self.fatal = error
        _log.error("The producer of %s failed and is replaced: %s", self._purpose, described(error))

    def blames_record(self, error: KafkaError) -> bool:
        """Whether a record was refused because of the record or its destination, not because of its producer."""
        return self.fatal is None and error.name() not in _OF_PRODUCER

    def may_skip(self, error: KafkaError) -> bool:
        """Whether a refused record may be skipped if errors are tolerated."""
        return self.blames_record(error) and error.name() not in OF_TOPIC

    def lost_topic(self, error: KafkaError, age: float) -> bool:
        """Whether a record was refused because its topic was deleted, perhaps to be created again. For a topic that has
        never existed the client waits; that wait is over in a task of this age, in seconds."""
        waited = float(self._settings.get("topic.metadata.propagation.max.ms", 30_000)) / 1000
        return error.name() in OF_TOPIC and age > waited * _WAITED

    def failure(self, error: KafkaError) -> Exception:
        """The exception that ends a task whose record was returned with this error because of the producer."""
        if self.fatal is None:
            self._await_reason(_REASON_TIMEOUT if error.name() == "_FATAL" else 0)
        reason = self.fatal or error
        if reason.name() in _LASTING:
            return ConnectError(f"The producer cannot continue: {described(reason)}{self._missing_right(reason)}")
        delay = restart_delay(reason, time.monotonic() - self._created)
        return ClientFailedError(f"its producer failed: {described(reason)}", delay)

    def _missing_right(self, reason: KafkaError) -> str:
        """Since Kafka 2.8 WRITE on one topic suffices for the id of a producer."""
        if reason.name() != "CLUSTER_AUTHORIZATION_FAILED":
            return ""
        denied = f"{principal(self._settings)} is not authorized to WRITE any topic"
        return f"; {denied}: grant WRITE on the topics of the connector"

    def _await_reason(self, timeout: float) -> None:
        """The client refuses records with `_FATAL` a moment before the event with the reason is in its queue."""
        deadline = time.monotonic() + timeout
        self.poll(0)
        while self.fatal is None and (left := deadline - time.monotonic()) > 0:
            self.poll(left)


# Each task's Share bounds the queue; the client's own limit would block all tasks at once.
_UNLIMITED = {"queue.buffering.max.messages": 0, "queue.buffering.max.kbytes": 2**31 - 1}


def restart_delay(error: KafkaError, age: float) -> float:
    """Seconds until a task starts again with another producer, after one that has failed at this age. The owner of a
    producer that has fenced this one may be about to stop the task: a start would fence that producer in turn."""
    least = _AFTER_FENCING if error.name() in _BY_ANOTHER else 0.0
    return max(least, _MIN_AGE - age)


def described(error: KafkaError) -> str:
    """The name and message of an error."""
    return f"{error.name()}: {error.str()}"


class Producers:
    """All producers of a slot. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._producers: dict[str, SlotProducer] = {}
        self._singly: set[str] = set()

    def take(
        self,
        settings: Mapping[str, Any],
        owner: str | None = None,
        purpose: Purpose = Purpose.RECORDS,
        each_reported: bool = False,
    ) -> SlotProducer:
        """The producer with these settings, shared or for `owner` alone; a new one after a fatal error. The credentials
        of a login may have changed since the settings were made."""
        own = () if LOGIN not in settings else credentials(settings)
        alike = {key: value for key, value in settings.items() if key not in own}
        key = json.dumps([owner, purpose, each_reported, alike], sort_keys=True, default=str)
        with self._lock:
            producer = former = self._producers.get(
                key
            )  # if replaced, `former` is closed without the lock, as in drop()
            if producer is None or producer.outdated:
                producer = self._producers[key] = SlotProducer(settings, purpose, owner is None, each_reported)
        del former
        return producer

    def drop(self, owner: str) -> None:
        """Remove the producers for `owner` alone; their unsent records are discarded."""
        with self._lock:
            dropped = [self._producers.pop(key) for key in list(self._producers) if json.loads(key)[0] == owner]
        for producer in dropped:  # its unsent records reference the task, which references it
            open_clients.close_later(producer.client)

    def send_singly(self, owner: str) -> None:
        """From its next start on, the owner sends each record of a transaction in a separate request."""
        self._singly.add(owner)

    def sends_singly(self, owner: str) -> bool:
        """Whether the owner sends each record of a transaction in a separate request."""
        return owner in self._singly
