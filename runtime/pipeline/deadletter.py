"""The dead letter topic of a sink: records that failed, as they were read, with headers that tell why (KIP-298)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.pipeline.acks import Acks
from runtime.pipeline.trace import java_name, message_of, trace_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

    from runtime.pipeline.control import Control
    from runtime.pipeline.error_counts import Counts
    from runtime.pipeline.tolerance import Failure
    from runtime.task_spec import TaskSpec

_log = logging.getLogger(__name__)

_TOPIC = "errors.deadletterqueue.topic.name"
_REPLICAS = "errors.deadletterqueue.topic.replication.factor"
_CONTEXT = "errors.deadletterqueue.context.headers.enable"
_PREFIX = "__connect.errors."
_REQUEST = 30.0  # seconds for what creates the topic
_FULL_WAIT = 0.05  # seconds between two tries at a full queue


def dead_letter_topic(config: Mapping[str, str]) -> str:
    """The topic's name; empty when there is to be none."""
    return config.get(_TOPIC, "").strip()


class Letter:
    """A record on its way to the dead letter topic."""

    def __init__(self, letters: DeadLetters) -> None:
        self._letters = letters
        self.acks = Acks()

    def done(self) -> bool:
        """Whether Kafka has answered."""
        self.acks.take()
        return not self.acks.pending or self.acks.error is not None

    def result(self, timeout: float | None = None) -> None:
        """Wait for the answer: TimeoutError when there is none in time, ConnectError when it is a refusal."""
        self._letters.await_answer(self, timeout)


class DeadLetters:
    """Writes to one dead letter topic. All calls come from the task's thread."""

    def __init__(self, spec: TaskSpec, producer: Producer, control: Control) -> None:
        self._spec, self._producer, self._control = spec, producer, control
        config = spec.settings
        self._topic = dead_letter_topic(config)
        self._replicas = int(config.get(_REPLICAS, "3"))
        self._letters: list[Letter] = []
        self.counts: Counts | None = None

    def ensure_topic(self) -> None:
        """Create the topic when it is missing; ConnectError when that fails."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        settings = self._spec.admin or self._spec.producer
        admin: Any = AdminClient({**settings, "log_level": 2})
        try:
            if self._topic in admin.list_topics(timeout=_REQUEST).topics:
                return
            new = NewTopic(self._topic, num_partitions=1, replication_factor=self._replicas)
            admin.create_topics([new], request_timeout=_REQUEST)[self._topic].result()
            _log.info("Created the dead letter topic %s", self._topic)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            raise ConnectError(f"Could not initialize dead letter queue with topic={self._topic}") from ConnectError(
                error.args[0].str()
            )

    def report(self, failure: Failure) -> Letter:
        """Send the failed record; its offset is committed only after the answer."""
        message = failure.record
        headers = [*(message.headers() or ()), *context_headers(self._spec, failure)]
        fields: dict[str, Any] = {"key": message.key(), "value": message.value(), "headers": headers}
        if (timestamp := message.timestamp())[0]:
            fields["timestamp"] = timestamp[1]
        letter = Letter(self)
        self._send(letter, fields)
        self._letters.append(letter)
        self._producer.poll(0)
        return letter

    def settle(self, timeout: float) -> bool:
        """Wait until Kafka has answered for all; False when it has not in time. Refusals are logged and counted."""
        deadline = time.monotonic() + timeout
        for letter in self._letters:
            while not letter.done():
                if time.monotonic() > deadline or self._control.revoked:
                    return False
                self._producer.poll(_FULL_WAIT)
            if letter.acks.error is not None:
                self._refused(letter.acks.error)
        self._letters.clear()
        return True

    def await_answer(self, letter: Letter, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not letter.done():
            self._control.check()
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"No answer for a record in {self._topic} within {timeout} s")
            self._producer.poll(_FULL_WAIT)
        if letter.acks.error is not None:
            raise ConnectError(f"Could not produce message to dead letter queue. topic={self._topic}")

    def _send(self, letter: Letter, fields: dict[str, Any]) -> None:
        from confluent_kafka import KafkaException

        delivery = letter.acks.begin({})
        while True:
            self._control.check()
            try:
                self._producer.produce(self._topic, on_delivery=delivery, **fields)
                break
            except BufferError:
                self._producer.poll(_FULL_WAIT)
            except KafkaException as error:
                self._refused(error.args[0])
                break
        letter.acks.seal()

    def _refused(self, error: KafkaError) -> None:
        if self.counts is not None:
            self.counts.not_put_aside()
        _log.error("Could not produce message to dead letter queue. topic=%s: %s", self._topic, error.str())


def context_headers(spec: TaskSpec, failure: Failure) -> list[tuple[str, bytes | None]]:
    """What the headers of a dead letter tell of it (KIP-298); none where they are not enabled."""
    if spec.settings.get(_CONTEXT, "false").strip().lower() != "true":
        return []
    message, error = failure.record, failure.error
    told = {
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
        for name, value in told.items()
    ]
