"""The dead letter topic of a sink: failed records as they were read, with the failure in headers (KIP-298)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.api.data.record import stamp_of
from runtime.api.errors import ConnectError
from runtime.kafka.clients.open_clients import admin_client
from runtime.kafka.denials import denial, is_denial
from runtime.kafka.errors import is_transient
from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.producers import described
from runtime.pipeline.produce.send import Sender, size_of
from runtime.pipeline.task.failure import java_name, message_of, trace_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.produce.acks import Delivery, InFlight
    from runtime.pipeline.produce.producers import SlotProducer
    from runtime.pipeline.task.control import TaskControl
    from runtime.pipeline.task.error_counts import Counts
    from runtime.pipeline.task.failure import Failure

_log = logging.getLogger(__name__)

_TOPIC = "errors.deadletterqueue.topic.name"
_REPLICAS = "errors.deadletterqueue.topic.replication.factor"
_CONTEXT = "errors.deadletterqueue.context.headers.enable"
_PREFIX = "__connect.errors."
_REQUEST_TIMEOUT = 30.0  # seconds for the requests that create the topic
_RETRY_DELAY = 1.0  # seconds between two attempts to create the topic
_WAIT = 0.05  # seconds of one wait for delivery reports
_BATCH_BYTES = 32 * 1024  # bytes of letters that are acknowledged together


def dead_letter_topic(config: Mapping[str, str]) -> str:
    """The name of the dead letter topic; empty if there is none."""
    return config.get(_TOPIC, "").strip()


class PendingLetter:
    """A record that is being written to the dead letter topic."""

    __slots__ = ("_batch", "_letters")

    def __init__(self, letters: DeadLetters, batch: InFlight) -> None:
        self._letters, self._batch = letters, batch

    def done(self) -> bool:
        """Whether Kafka has answered."""
        return self._letters.answered(self._batch)

    def result(self, timeout: float | None = None) -> None:
        """Wait for the response. TimeoutError after `timeout` seconds, ConnectError if Kafka refuses the record."""
        self._letters.await_response(self._batch, timeout)


class DeadLetters:
    """Writes to one dead letter topic. Letters may be sent, and waited for, on any thread; no thread waits for Kafka
    while it holds the lock.

    Letters are acknowledged in batches, and unacknowledged letters take a share of the producer's queue: a task whose
    records fail faster than Kafka accepts letters has to wait. A refused letter fails the task, and the offset of its
    record is not committed.
    """

    def __init__(self, spec: TaskSpec, producer: SlotProducer, control: TaskControl) -> None:
        self._spec, self._producer, self._control = spec, producer, control
        config = spec.settings
        self._topic = dead_letter_topic(config)
        self._replicas = int(config.get(_REPLICAS, "3"))
        self._lock = threading.RLock()  # guards the acknowledgements and the open batch
        self._share = producer.share()
        self._acks = Acks(producer.blames_record, self._share)
        self._sender = Sender(producer, self._share, control, spec.flush_timeout, self._refused, self._take_acks)
        self._delivery: Delivery | None = None  # the batch to which letters are added
        self._refusal: KafkaError | None = None
        self.counts: Counts | None = None

    def ensure_topic(self) -> None:
        """Create the topic if it is missing. ConnectError if that fails. Returns early when the task stops."""
        while not self._control.stopping:
            error = self._create()
            if error is None:
                return
            if not is_transient(error):
                failure = ConnectError(f"Could not initialize dead letter queue with topic={self._topic}")
                raise failure from self._cause(error, "CREATE", self._spec.admin or self._spec.producer)
            _log.warning("Dead letter topic %s could not be created, retrying: %s", self._topic, error.str())
            self._control.wait(_RETRY_DELAY)

    def _create(self) -> KafkaError | None:
        """The error that prevented the creation, or None if the topic exists now."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.cimpl import NewTopic

        try:
            with admin_client(self._spec.admin or self._spec.producer) as admin:
                if self._topic in admin.list_topics(timeout=_REQUEST_TIMEOUT).topics:
                    return None
                new = NewTopic(self._topic, num_partitions=1, replication_factor=self._replicas)
                admin.create_topics([new], request_timeout=_REQUEST_TIMEOUT)[self._topic].result()
        except KafkaException as e:
            error: KafkaError = e.args[0]
            return None if error.code() == KafkaError.TOPIC_ALREADY_EXISTS else error
        _log.info("Created the dead letter topic %s", self._topic)
        return None

    def report(self, failure: Failure) -> PendingLetter:
        """Send the failed record; its offset is committed only after Kafka's response. check() raises any error."""
        message = failure.record
        headers = [*(message.headers() or ()), *context_headers(self._spec, failure)]
        fields: dict[str, Any] = {"key": message.key(), "value": message.value(), "headers": headers}
        if (timestamp := stamp_of(message.timestamp()[1])) is not None:
            fields["timestamp"] = timestamp
        size = size_of([fields])
        give_up: float | None = None
        while (batch := self._send(fields, size)) is None:
            self._control.check()
            give_up = self._sender.wait(give_up)
        return PendingLetter(self, batch)

    def _send(self, fields: dict[str, Any], size: int) -> InFlight | None:
        """Queue a letter; None if the task holds too much of the queue."""
        with self._lock:
            self._take_acks()
            if not self._share.admits(size):
                self._seal()
                return None
            if self._delivery is None:
                self._delivery = self._acks.begin({})
            batch = self._acks.add(size)
            self._sender.send(self._topic, [fields], self._delivery)
            if batch.size > _BATCH_BYTES:
                self._seal()
            return batch

    def check(self) -> None:
        """Raises the error that ends the task if Kafka has refused a letter or the producer has lost letters."""
        if self._acks.pending:
            self._producer.poll(0)
        with self._lock:
            self._take_acks()
            refusal, error = self._refusal, self._acks.error or (self._producer.fatal if self._acks.pending else None)
        if refusal is not None:
            raise self._failure(refusal)
        if error is not None:
            raise self._producer.failure(error)

    def settle(self, timeout: float) -> bool:
        """Wait until Kafka has answered for all letters sent so far; False after `timeout` seconds. Raises as check()
        does."""
        self._seal()
        with self._lock:
            sent = self._acks.unacknowledged
        deadline = time.monotonic() + timeout
        self.check()
        while not all(batch.delivered for batch in sent):
            if time.monotonic() > deadline or self._control.revoked:
                return False
            self._producer.poll(_WAIT)
            self.check()
        return True

    def answered(self, batch: InFlight) -> bool:
        """Whether Kafka has answered for all letters of a batch; closes the batch for further letters."""
        if not batch.sealed:
            self._seal()
        self._producer.poll(0)
        return batch.delivered

    def await_response(self, batch: InFlight, timeout: float | None) -> None:
        """Wait until Kafka has answered for all letters of a batch. TimeoutError after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        give_up: float | None = None
        while not self.answered(batch):
            self._control.check()
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"No acknowledgement of a record in {self._topic} within {timeout} s")
            give_up = self._sender.wait(give_up)
        self.check()

    def _seal(self) -> None:
        with self._lock:
            if self._delivery is not None:
                self._delivery = None  # its deallocation is the acknowledgement
                self._acks.seal()
            self._take_acks()

    def _take_acks(self) -> None:
        with self._lock:
            self._acks.take()
            for error in self._acks.take_refused():
                self._refused(error)

    def _refused(self, error: KafkaError) -> None:
        first, self._refusal = self._refusal is None, self._refusal or error
        if not self._producer.blames_record(error):
            return
        if self.counts is not None:
            self.counts.not_put_aside()
        if first:
            _log.error("Could not produce message to dead letter queue. topic=%s: %s", self._topic, described(error))

    def _failure(self, error: KafkaError) -> Exception:
        if not self._producer.blames_record(error):
            return self._producer.failure(error)
        failure = ConnectError(f"Could not produce message to dead letter queue. topic={self._topic}")
        failure.__cause__ = self._cause(error, "WRITE", self._spec.producer)
        return failure

    def _cause(self, error: KafkaError, operation: str, settings: Mapping[str, Any]) -> ConnectError:
        denied = f"; {denial(settings, operation, f'topic {self._topic}')}" if is_denial(error) else ""
        return ConnectError(f"{described(error)}{denied}")


def context_headers(spec: TaskSpec, failure: Failure) -> list[tuple[str, bytes | None]]:
    """The headers that describe the failure (KIP-298); none if they are not enabled."""
    if spec.settings.get(_CONTEXT, "false").strip().lower() != "true":
        return []
    message, error = failure.record, failure.error
    fields = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "connector.name": spec.connector,
        "task.id": spec.task,
        "stage": failure.stage.value,
        "class.name": failure.plugin,
        "exception.class.name": java_name(error),
        "exception.message": message_of(error) or None,
        "exception.stacktrace": trace_of(error),
    }
    return [
        (_PREFIX + name, None if value is None else str(value).encode("utf-8", "replace"))
        for name, value in fields.items()
    ]
