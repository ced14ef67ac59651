"""Offsets of a source task: those committed before its start, and the writer of new ones; see live_offsets.py for
those that the task reads later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.kafka.denials import with_topic
from runtime.kafka.formats import canonical, compact, offset_key
from runtime.pipeline.produce.acks import Acks, Delivery, OffsetsByKey

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from runtime.model.task_spec import SourceOffset
    from runtime.pipeline.produce.producers import SlotProducer

_log = logging.getLogger(__name__)


class CommittedOffsets:
    """The offsets committed before a task's start, and the keys of its partitions in the offsets topic."""

    def __init__(self, connector: str, offsets: Sequence[SourceOffset]) -> None:
        self._connector = connector
        self.load(offsets)

    def load(self, offsets: Sequence[SourceOffset]) -> None:
        """Replace the offsets, before the task's start."""
        self._offsets = {canonical(known.partition): known.offset for known in offsets}
        self._keys = {canonical(known.partition): known.raw_key.encode() for known in offsets}

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The offset of a partition as committed before the task's start; None without one."""
        return self._offsets.get(canonical(partition))

    def key(self, partition: Mapping[str, Any] | None) -> bytes:
        """The key of a partition in the offsets topic: the existing one, or `["name",{partition}]`."""
        name = canonical(partition)
        key = self._keys.get(name)
        if key is None:
            key = self._keys[name] = offset_key(self._connector, partition)
        return key


class OffsetWriter:
    """Writes offsets to the offsets topic, one commit at a time, and optionally a copy to a second topic."""

    def __init__(self, take_producer: Callable[[], SlotProducer], topic: str, copy: str = "") -> None:
        """`take_producer` returns another producer after the last one has failed."""
        self._take_producer = take_producer
        self._producer = take_producer()
        self._topic = topic
        self._copy = OffsetsCopy(take_producer, copy) if copy else None
        self._acks = Acks()
        self._writing: OffsetsByKey = {}
        self._unsent: list[tuple[bytes, bytes | None]] = []
        self._delivery: Delivery | None = None
        self._refusal: KafkaError | None = None

    @property
    def busy(self) -> bool:
        """Whether a commit is pending."""
        return bool(self._writing)

    def write(self, offsets: OffsetsByKey) -> None:
        """Start a commit; only while none is pending."""
        self._producer = self._take_producer()
        self._unsent = [(key, None if offset is None else compact(offset)) for key, offset in offsets.items()]
        self._unsent.reverse()
        self._delivery = self._acks.begin({})
        self._writing = offsets
        self._send()

    def finished(self) -> bool:
        """Whether the commit has been acknowledged; True once per commit."""
        self._producer.poll(0)
        if self._delivery is not None:
            self._send()
        self._acks.take()
        if not self._writing or self._acks.pending:
            return False
        offsets, self._writing = self._writing, {}
        if self._copy is not None:
            self._copy.write(offsets)
        return True

    def _send(self) -> None:
        """Queue as many records as there is room for: all tasks of the slot share the queue."""
        from confluent_kafka import KafkaException

        while self._unsent:
            key, value = self._unsent[-1]
            try:
                self._producer.produce(self._topic, key=key, value=value, on_delivery=self._delivery)
            except BufferError:
                return
            except KafkaException as error:
                self._refusal = with_topic(error.args[0], self._topic)
                return
            self._unsent.pop()
        self._delivery = None  # its deallocation is the acknowledgement
        self._acks.seal()

    def failed(self) -> OffsetsByKey:
        """The offsets of a commit that has failed, once; empty otherwise."""
        error = self._refusal or self._acks.error
        if error is None:
            return {}
        _log.error("Offsets could not be written to %s, retrying: %s", self._topic, error.str())
        offsets, self._writing, self._acks = self._writing, {}, Acks()
        self._unsent, self._delivery, self._refusal = [], None, None
        return offsets


class OffsetsCopy:
    """A second topic to which offsets are written. Its errors are logged and delay no commit; unacknowledged offsets
    take a share of the producer's queue like a task's records."""

    def __init__(self, take_producer: Callable[[], SlotProducer], topic: str) -> None:
        self._take_producer, self._topic = take_producer, topic
        self._producer: SlotProducer | None = None
        self._acks = Acks()

    def open(self) -> SlotProducer:
        """The producer, which connects before the first commit if it is opened at the start of the task."""
        producer = self._take_producer()
        self._take_acks(producer)
        return producer

    def write(self, offsets: OffsetsByKey) -> None:
        """Send committed offsets, without waiting."""
        from confluent_kafka import KafkaException

        producer = self.open()
        records = [(key, None if offset is None else compact(offset)) for key, offset in offsets.items()]
        size = sum(len(key) + len(value or b"") for key, value in records)
        if self._acks.share is None or not self._acks.share.admits(size):
            _log.warning("No room to write a copy of the offsets to %s", self._topic)
            return
        delivery = self._acks.begin({}, size)
        self._acks.seal()
        try:
            for key, value in records:
                producer.produce(self._topic, key=key, value=value, on_delivery=delivery)
        except (BufferError, KafkaException) as error:
            _log.warning("A copy of the offsets was not written to %s: %s", self._topic, error)

    def _take_acks(self, producer: SlotProducer) -> None:
        self._acks.take()
        error = self._acks.error
        if error is not None:
            _log.warning("A copy of the offsets was not written to %s: %s", self._topic, error.str())
        if error is not None or producer is not self._producer:
            self._producer, self._acks = producer, Acks(share=producer.share())
