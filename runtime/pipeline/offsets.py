"""A source task's offsets: what was committed before it started, and the writing of new ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.kafka.formats import canonical, compact, offset_key
from runtime.pipeline.acks import Acks, Delivery, OffsetsByKey

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

    from runtime.task_spec import SourceOffset

_log = logging.getLogger(__name__)


class CommittedOffsets:
    """The OffsetReader of a task, and the keys that its partitions have in the offsets topic."""

    def __init__(self, connector: str, offsets: Sequence[SourceOffset]) -> None:
        self._connector = connector
        self._offsets = {canonical(known.partition): known.offset for known in offsets}
        self._keys = {canonical(known.partition): known.raw_key.encode() for known in offsets}

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._offsets.get(canonical(partition))

    def key(self, partition: Mapping[str, Any] | None) -> bytes:
        """The bytes that the partition has had so far; otherwise `["name",{partition}]`."""
        name = canonical(partition)
        key = self._keys.get(name)
        if key is None:
            key = self._keys[name] = offset_key(self._connector, partition)
        return key


class OffsetWriter:
    """Writes offsets to the offsets topic, one commit at a time, and then to a second one where there is one."""

    def __init__(self, producer: Producer, topic: str, copy: str = "") -> None:
        self._producer = producer
        self._topic = topic
        self._copy = copy
        self._acks = Acks()
        self._writing: OffsetsByKey = {}
        self._unsent: list[tuple[bytes, bytes | None]] = []
        self._delivery: Delivery | None = None

    @property
    def busy(self) -> bool:
        """A commit is on its way."""
        return bool(self._writing)

    def write(self, offsets: OffsetsByKey) -> None:
        """Start a commit; not while one is on its way."""
        self._unsent = [(key, None if offset is None else compact(offset)) for key, offset in offsets.items()]
        self._unsent.reverse()
        self._delivery = self._acks.begin({})
        self._writing = offsets
        self._send()

    def finished(self) -> bool:
        """True once when the commit has been acknowledged."""
        self._producer.poll(0)  # it may be another one than that of the records
        if self._delivery is not None:
            self._send()
        self._acks.take()
        if not self._writing or self._acks.pending:
            return False
        offsets, self._writing = self._writing, {}
        if self._copy:
            self._write_copy(offsets)
        return True

    def _send(self) -> None:
        """As many as there is room for: the queue is that of all tasks of the slot."""
        while self._unsent:
            key, value = self._unsent[-1]
            try:
                self._producer.produce(self._topic, key=key, value=value, on_delivery=self._delivery)
            except BufferError:
                return
            self._unsent.pop()
        self._delivery = None  # its death is the acknowledgement
        self._acks.seal()

    def _write_copy(self, offsets: OffsetsByKey) -> None:
        """The topic that counts has them: what becomes of the copy is logged, and delays nothing."""
        for key, offset in offsets.items():
            value = None if offset is None else compact(offset)
            try:
                self._producer.produce(self._copy, key=key, value=value, on_delivery=self._copied)
            except BufferError:
                _log.warning("No room to write a copy of the offsets to %s", self._copy)
                return

    def _copied(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            _log.warning("A copy of an offset was not written to %s: %s", self._copy, error.str())

    def failed(self) -> OffsetsByKey:
        """What the commit was to write, once, when it cannot be written any more."""
        error = self._acks.error
        if error is None:
            return {}
        _log.error("Offsets could not be written to %s, they are tried again: %s", self._topic, error.str())
        offsets, self._writing, self._acks = self._writing, {}, Acks()
        self._unsent, self._delivery = [], None
        return offsets
