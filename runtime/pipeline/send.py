"""Handing batches to a producer, waiting while its queue is full."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.pipeline.control import StoppedError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

    from runtime.pipeline.acks import Delivery
    from runtime.pipeline.control import Control

_FULL_WAIT = 0.05  # seconds between two tries at a full queue


def send_failure(error: KafkaError) -> ConnectError:
    """What a source task fails with when Kafka does not take a record."""
    failure = ConnectError("Unrecoverable exception from producer send callback")
    failure.__cause__ = ConnectError(f"{error.name()}: {error.str()}")
    return failure


class Sender:
    """The way of a task's messages into the slot's producer. While the broker is away send() waits; when the task
    is stopped meanwhile it goes on waiting for `patience` seconds."""

    def __init__(
        self, producer: Producer, control: Control, patience: float, refused: Callable[[KafkaError], None]
    ) -> None:
        """`refused` is told of every message that the client will never take; it raises when that is too much."""
        self._refused = refused
        self._producer = producer
        self._control = control
        self._patience = patience

    def send(self, topic: str, messages: list[dict[str, Any]], delivery: Delivery) -> None:
        """All in one call: messages without headers and timestamps."""
        give_up = None
        while True:
            self._control.check()
            messages = self._queue(topic, messages, delivery)
            if not messages:
                self._producer.poll(0)
                return
            give_up = self._wait(give_up)

    def send_each(self, topic: str, messages: list[dict[str, Any]], delivery: Delivery) -> None:
        """One by one: the client's batch call knows neither headers nor timestamps."""
        from confluent_kafka import KafkaException

        self._control.check()
        give_up = None
        produce = self._producer.produce
        for message in messages:
            while True:
                try:
                    produce(topic, on_delivery=delivery, **message)
                    break
                except BufferError:
                    self._control.check()
                    give_up = self._wait(give_up)
                except KafkaException as error:
                    self._refused(error.args[0])
                    break
        self._producer.poll(0)

    def _queue(self, topic: str, messages: list[dict[str, Any]], delivery: Delivery) -> list[dict[str, Any]]:
        """Those for which there was no room."""
        from confluent_kafka import KafkaError

        try:
            queued = self._producer.produce_batch(topic, messages, on_delivery=delivery)
        except BufferError:
            return messages
        left: list[dict[str, Any]] = []
        if queued < len(messages):
            for message in messages:
                error = message.pop("_error", None)
                if error is None:
                    continue
                if error.code() == KafkaError._QUEUE_FULL:
                    left.append(message)
                else:
                    self._refused(error)
        return left

    def _wait(self, give_up: float | None) -> float | None:
        """Serve reports until there may be room again; StoppedError when the stopping task's patience is over."""
        self._producer.poll(_FULL_WAIT)
        if not self._control.stopping:
            return None
        now = time.monotonic()
        if give_up is None:
            return now + self._patience
        if now > give_up:
            raise StoppedError
        return give_up
