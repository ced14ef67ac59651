"""Partitions: the stored partitions of one connector.

A partition may be stored under several keys, called spellings, since the order of keys in JSON differs between writers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runtime.kafka.formats import compact
from runtime.offsets_tool.codec import NONE, MalformedOffset, OffsetCodec, are_canonical, canonical, report_ignored

AGE = 16
"""Bytes before a stored value: its timestamp and offset, which order records of different Kafka partitions."""

Line = tuple[bytes, bytes]
"""Partition and offset, as JSON."""

_BATCH = 2_000  # keys checked at once


class Partitions:
    """Partitions of one connector. Nearly all keys are canonical (`_plain`); `_odd` has the other keys, by canonical
    key."""

    def __init__(
        self,
        connector: str,
        codec: OffsetCodec,
        records: Mapping[bytes, bytes],
        keys: Sequence[bytes],
        sink: Mapping[bytes, bytes],
    ) -> None:
        """`records` has the latest value of each key, after its age; `keys` are sorted."""
        self._codec, self._records, self._sink = codec, records, sink
        self._head = b"[%b," % compact(connector)
        self._plain: list[bytes] = []
        self._odd: dict[bytes, list[bytes]] = {}
        for start in range(0, len(keys), _BATCH):
            block = keys[start : start + _BATCH]
            if are_canonical(block):
                self._plain += block
            else:
                self._sort_in(block)

    def latest(self) -> Iterator[list[Line]]:
        """Partitions with their offsets, in order, in batches, without removed ones."""
        if self._odd:
            yield list(self._latest_of_spellings())
            return
        start, records = len(self._head), self._records
        for at in range(0, len(self._plain), _BATCH):
            keys = self._plain[at : at + _BATCH]
            yield [(k[start:-1], offset) for k in keys if (offset := records[k][AGE:]) != NONE]

    def all(self, history: Mapping[bytes, Sequence[bytes]]) -> Iterator[Line]:
        """Every record, by partition, the oldest first."""
        for text in self._texts():
            found = [(packed, key) for key in self._spellings(text) for packed in history[key]]
            for packed, key in sorted(found, key=lambda one: one[0][:AGE]):
                yield self._partition(key), packed[AGE:]

    def keys(self, partition: bytes) -> tuple[bytes, ...]:
        """Every key of a canonical partition, the latest first."""
        return tuple(sorted(self._spellings(self._whole(partition)), key=self._age, reverse=True))

    def offset(self, partition: bytes) -> bytes:
        """The offset of a canonical partition, `null` for none."""
        spellings = self._spellings(self._whole(partition))
        if spellings:
            return self._records[max(spellings, key=self._age)][AGE:]
        return self._sink.get(partition, NONE)

    def _latest_of_spellings(self) -> Iterator[Line]:
        for text in self._texts():
            key = max(self._spellings(text), key=self._age)
            offset = self._records[key][AGE:]
            if offset != NONE:
                yield self._partition(key), offset

    def _sort_in(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            try:
                text = self._whole(canonical(self._codec.key(key)[1]))
            except MalformedOffset as e:
                report_ignored(key, e)
                continue
            if text == key:
                self._plain.append(key)
            else:
                self._odd.setdefault(text, []).append(key)

    def _texts(self) -> list[bytes]:
        return sorted({*self._plain, *self._odd})

    def _spellings(self, text: bytes) -> list[bytes]:
        """Every key of a partition, in any order."""
        odd = self._odd.get(text, [])
        return [text, *odd] if text in self._records else odd

    def _partition(self, key: bytes) -> bytes:
        """The partition of a key in its original spelling."""
        if key.startswith(self._head) and key.endswith(b"}]") and b"\n" not in key:
            return key[len(self._head) : -1]
        return compact(self._codec.key(key)[1])

    def _whole(self, partition: bytes) -> bytes:
        """The canonical key of a canonical partition."""
        return b"%b%b]" % (self._head, partition)

    def _age(self, key: bytes) -> bytes:
        return self._records[key][:AGE]
