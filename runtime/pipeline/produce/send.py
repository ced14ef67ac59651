"""Queues batches in a producer, within the task's share of the producer's queue."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import length_hint
from typing import TYPE_CHECKING, Any, Protocol

from runtime.api.data.columns import ConstantColumn
from runtime.api.errors import ConnectError
from runtime.kafka.denials import is_denial, principal, with_topic
from runtime.model.task_errors import TaskLostError
from runtime.pipeline.produce.acks import Delivery
from runtime.pipeline.produce.message_columns import MessageColumns
from runtime.pipeline.produce.producers import OF_TOPIC, described
from runtime.pipeline.task.control import StoppedError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

    from runtime.pipeline.produce.acks import Acks
    from runtime.pipeline.produce.producers import SlotProducer
    from runtime.pipeline.produce.queue_share import Share
    from runtime.pipeline.task.control import TaskControl


class Skippable(Protocol):
    """The callback of one message that is also called when the message is skipped."""

    def __call__(self, error: KafkaError | None, message: Message) -> None: ...

    def skipped(self) -> None:
        """The message was refused, and is skipped."""


_FULL_WAIT = 0.05  # seconds between two checks of a full queue
_MISSING, _MISSING_DELAY = 30.0, 0.5  # seconds for which a topic may be missing, and between two attempts
_METADATA_TIMEOUT = 1.0  # seconds
_LOST_TOPIC_WAIT = 1.0  # seconds until a task whose topic was deleted starts again
_OVERHEAD = 64  # minimum of bytes that the client needs for a message


def send_failure(error: KafkaError, settings: Mapping[str, Any]) -> ConnectError:
    """The exception that fails a source task if Kafka refuses a record. `settings` are the producer's."""
    failure = ConnectError("Unrecoverable exception from producer send callback")
    denied = f" is not granted to {principal(settings)}" if is_denial(error) else ""
    failure.__cause__ = ConnectError(f"{described(error)}{denied}")
    return failure


def lost_topic(error: KafkaError) -> TaskLostError:
    """The exception that ends a source task whose topic was deleted. It starts again, and waits for the topic."""
    return TaskLostError(f"its topic was deleted: {described(error)}", _LOST_TOPIC_WAIT)


def size_of(messages: Sequence[dict[str, Any]], content: int | None = None) -> int:
    """Bytes that messages take in a producer's queue. `content`: bytes of their keys and values, where known."""
    if content is None:
        content = sum([len(message["value"] or b"") + len(message.get("key") or b"") for message in messages])
        headers = [header for message in messages for header in message.get("headers") or ()]
        content += sum([len(name) + len(data or b"") for name, data in headers])
    return _OVERHEAD * len(messages) + content


def content_of(size: int, messages: int) -> int:
    """Bytes of keys, values and headers alone, of messages of which size_of() is `size`."""
    return size - _OVERHEAD * messages


class Sender:
    """Puts a task's messages into the queue of a producer. While the queue is full, the task waits for its own
    acknowledgements; a stopping task waits for at most `stop_timeout` seconds."""

    def __init__(
        self,
        producer: SlotProducer,
        share: Share,
        control: TaskControl,
        stop_timeout: float,
        refused: Callable[[KafkaError], None],
        meanwhile: Callable[[], None],
        take_single: Callable[[], SlotProducer] | None = None,
    ) -> None:
        """`refused` is called for each message that the client will never accept, and raises if that fails the task.
        `meanwhile` is called repeatedly while the task waits. `take_single` returns the producer for messages that
        serve() sends one by one."""
        self._refused, self._meanwhile = refused, meanwhile
        self._producer, self._share = producer, share
        self._control = control
        self._stop_timeout = stop_timeout
        self._take_single = take_single
        self._single: SlotProducer | None = None

    def admit(self, size: int) -> None:
        """Wait until the task may send `size` bytes."""
        give_up = None
        while not self._share.admits(size):
            self._control.check()
            give_up = self.wait(give_up)
            self._meanwhile()

    def send(
        self,
        topic: str,
        messages: Sequence[dict[str, Any]],
        delivery: Delivery,
        each: Sequence[Skippable] | None = None,
    ) -> None:
        """Queue messages, waiting for room where necessary. `each`: the callback of each message, if they have their
        own."""
        from confluent_kafka import KafkaException

        self._control.check()
        columns = messages if type(messages) is MessageColumns else MessageColumns.of(messages)
        callbacks: Sequence[Delivery | Skippable] = ConstantColumn(delivery, len(columns)) if each is None else each
        values = iter(list(columns.values))
        # The client's batch call takes half as long again: it looks up six names in a dictionary for each message.
        calls = map(self._producer.produce, repeat(topic), *columns.arguments(values, callbacks))
        while True:
            try:
                deque(calls, maxlen=0)
                break
            except (BufferError, KafkaException):
                index = len(columns) - length_hint(values) - 1
            # Not in the except block: the client leaks the errors of refused messages, with their context, whose
            # traceback would keep `callbacks` alive.
            self._send_again(topic, columns[index], callbacks[index])
        self._producer.poll(0)

    def _send_again(self, topic: str, message: dict[str, Any], reported: Delivery | Skippable) -> None:
        """A message for which there was no room, or which the client refuses."""
        from confluent_kafka import KafkaException

        give_up, until = None, time.monotonic() + _MISSING
        while True:
            try:
                self._producer.produce(topic, on_delivery=reported, **message)
                return
            except BufferError:
                refusal = None
            except KafkaException as error:
                refusal = error.args[0]
            if refusal is not None:
                if time.monotonic() >= until or not self._may_exist(refusal, topic, message):
                    self._skip(refusal, topic, reported)
                    return
                self._control.wait(_MISSING_DELAY)
                self._meanwhile()
            self._control.check()
            give_up = self.wait(give_up)

    def _may_exist(self, error: KafkaError, topic: str, message: Mapping[str, Any]) -> bool:
        """Whether a topic that was missing exists now, or may be created again. The client refuses records until it has
        asked the brokers, which it does every few minutes."""
        from confluent_kafka import KafkaException

        if error.name() not in OF_TOPIC:
            return False
        try:
            response = self._producer.client.list_topics(topic, timeout=_METADATA_TIMEOUT).topics.get(topic)
        except KafkaException:  # no response
            return True
        partitions = {} if response is None or response.error is not None else response.partitions
        return not partitions or message.get("partition", -1) in (-1, *partitions)

    def _skip(self, error: KafkaError, topic: str, reported: Delivery | Skippable) -> None:
        """The client will never accept a message: skip it, unless that fails the task."""
        self._refused(with_topic(error, topic))
        if not isinstance(reported, Delivery):
            reported.skipped()

    def serve(self, acks: Acks) -> None:
        """Resend messages whose request was too large, in order, each in its own request."""
        from confluent_kafka import KafkaException

        for message, delivery in acks.take_oversized():
            self._control.check()
            if self._single is None or self._single.fatal is not None:
                assert self._take_single is not None
                self._single = self._take_single()
            fields = {**delivery.original(message), "partition": message.partition()}
            try:
                self._single.produce(str(message.topic()), on_delivery=delivery, **fields)
            except KafkaException as error:
                delivery(error.args[0], message)
        if self._single is not None:
            self._single.poll(0)

    def wait(self, give_up: float | None) -> float | None:
        """Serve delivery reports until there may be room again; StoppedError if a stopping task has waited too long."""
        self._producer.poll(_FULL_WAIT)
        if not self._control.stopping:
            return None
        now = time.monotonic()
        if give_up is None:
            return now + self._stop_timeout
        if now > give_up:
            raise StoppedError
        return give_up
