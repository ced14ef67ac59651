"""Tracks the acknowledgement of a source's batches, and so the offsets that may be committed.

No function is called per record. The client keeps a reference to a message's `on_delivery` until the message's
delivery report has been served, so a callback object that only the messages of one batch refer to is deallocated with
the last report of that batch: the deallocation is the acknowledgement. Failures do call it
(`delivery.report.only.error`). A call per record takes 0.4 µs, a quarter of the total cost of a record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from runtime.kafka.denials import with_topic

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

    from runtime.pipeline.produce.queue_share import Share

OffsetsByKey = Mapping[bytes, Mapping[str, Any] | None]
"""Source offsets by their key in the offsets topic."""


class Delivery:
    """The `on_delivery` of every message of a batch. Drop all references to it once the batch has been queued."""

    __slots__ = ("batch",)

    def __init__(self, batch: InFlight) -> None:
        self.batch = batch

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.batch.acks.failed(self.batch, error, message, self)

    def __del__(self) -> None:
        self.batch.reported()

    def alone(self) -> DeliveryAlone:
        """The callback of a message of the batch that is sent again separately."""
        return DeliveryAlone(self)


class BatchMember(Protocol):
    """The `on_delivery` of one message or of all messages of a batch; keeps the batch unacknowledged."""

    @property
    def batch(self) -> InFlight: ...

    def alone(self) -> DeliveryAlone: ...


class DeliveryAlone:
    """The `on_delivery` of a message that is sent again separately; its batch stays unacknowledged until then."""

    __slots__ = ("_delivery",)

    def __init__(self, delivery: BatchMember) -> None:
        self._delivery = delivery

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed(error, message)

    def failed(self, error: KafkaError, message: Message) -> bool:
        """The message will never be delivered. Returns whether it is skipped."""
        batch = self._delivery.batch
        return batch.acks.failed(batch, error, message)

    def original(self, message: Message) -> dict[str, Any]:
        """The sent message: delivery reports have neither headers nor timestamps."""
        batch, key, value = self._delivery.batch, message.key(), message.value()
        kept = [fields for part in batch.kept for fields in part]
        batch.kept = [kept]
        for number, fields in enumerate(kept):
            if fields["value"] == value and fields.get("key") == key:
                return kept.pop(number)
        return {"key": key, "value": value}


class InFlight:
    """A batch, and the offsets that may be committed once it is acknowledged."""

    __slots__ = ("acks", "delivered", "error", "kept", "offsets", "sealed", "size")

    def __init__(self, acks: Acks, offsets: OffsetsByKey, size: int) -> None:
        self.acks, self.offsets, self.size = acks, offsets, size
        self.sealed = False
        self.delivered = False
        self.error: KafkaError | None = None
        self.kept: list[
            Sequence[dict[str, Any]]
        ] = []  # messages with headers or timestamps, until they are acknowledged

    def reported(self) -> None:
        """Called when the last message has been reported, even if the task has ended meanwhile."""
        self.delivered = True
        if self.acks.share is not None:
            self.acks.share.release(self.size)


class Acks:
    """The batches of a task in polling order. Delivery reports may arrive on any thread; all other calls are made on
    the task's."""

    def __init__(
        self,
        tolerates: Callable[[KafkaError], bool] | None = None,
        share: Share | None = None,
        resends: bool = False,
    ) -> None:
        """`tolerates` selects refused messages for take_refused(); any other refusal fails the batch. `share` is the
        batches' part of a producer's queue. `resends`: the caller uses take_oversized()."""
        self._batches: deque[InFlight] = deque()
        self._refused: deque[KafkaError] = deque()
        self._oversized: deque[tuple[Message, DeliveryAlone]] = deque()
        self._tolerates, self._resends = tolerates, resends
        self.share = share

    def begin(self, offsets: OffsetsByKey, size: int = 0) -> Delivery:
        """Start a batch of `size` bytes. Once it is sealed and all its messages are acknowledged, `offsets` may be
        committed."""
        if self.share is not None:
            self.share.take(size)
        batch = InFlight(self, offsets, size)
        self._batches.append(batch)
        return Delivery(batch)

    def keep(self, messages: Sequence[dict[str, Any]]) -> None:
        """Keeps messages of the newest batch with headers or timestamps, in case they have to be sent again."""
        self._batches[-1].kept.append(messages)

    def add(self, size: int) -> InFlight:
        """The newest batch, not sealed yet, grows by `size` bytes."""
        batch = self._batches[-1]
        batch.size += size
        if self.share is not None:
            self.share.take(size)
        return batch

    def failed(self, batch: InFlight, error: KafkaError, message: Message, delivery: BatchMember | None = None) -> bool:
        """A message was refused. If a request is too large, the broker refuses all of its messages, so each is sent
        again separately, with a callback from `delivery`. Returns whether the message is skipped."""
        try:
            if delivery is not None and self._resends and error.name() == "MSG_SIZE_TOO_LARGE":
                self._oversized.append((message, delivery.alone()))
                return False
            error = with_topic(error, message.topic())
            if self._tolerates is not None and self._tolerates(error):
                self._refused.append(error)
                return True
        except BaseException:  # the callback is deallocated after this call, which would acknowledge the message
            batch.error = error
            raise
        if batch.error is None:
            batch.error = error
        return False

    def seal(self) -> None:
        """The newest batch has been queued completely."""
        self._batches[-1].sealed = True

    def drop_unsealed(self) -> None:
        """Remove a batch that was not queued completely."""
        if self._batches and not self._batches[-1].sealed:
            self._batches.pop()

    def take(self) -> dict[bytes, Mapping[str, Any] | None]:
        """Offsets that have become committable: those of the batches before the oldest unacknowledged one."""
        ready: dict[bytes, Mapping[str, Any] | None] = {}
        batches = self._batches
        while batches and batches[0].sealed and batches[0].delivered and batches[0].error is None:
            ready.update(batches.popleft().offsets)
        return ready

    def take_refused(self) -> Iterator[KafkaError]:
        """The error of each refused message, once, whichever thread served its delivery report."""
        while self._refused:
            yield self._refused.popleft()

    def take_oversized(self) -> Iterator[tuple[Message, DeliveryAlone]]:
        """Messages to send again in separate requests, each once."""
        while self._oversized:
            yield self._oversized.popleft()

    @property
    def error(self) -> KafkaError | None:
        """The error of the oldest batch that will never be acknowledged."""
        return next((batch.error for batch in self._batches if batch.error is not None), None)

    @property
    def pending(self) -> bool:
        """Whether any batch is unacknowledged."""
        return bool(self._batches)

    @property
    def unacknowledged(self) -> tuple[InFlight, ...]:
        """The batches that are not acknowledged yet."""
        return tuple(self._batches)

    @property
    def left(self) -> int:
        """The number of unacknowledged batches."""
        return len(self._batches)
