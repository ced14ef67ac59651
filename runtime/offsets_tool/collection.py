"""Offsets: the stored offset records, the latest of each key or all of them. A million records take at most 500 MB.

Keys and values are kept as bytes; a key is parsed when the partitions of its connector are requested.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson

from runtime.kafka.formats import compact
from runtime.offsets_tool.codec import NONE, MalformedOffset, OffsetCodec, are_canonical, canonical, report_ignored

# Partitions: the stored partitions of one connector.
#
# A partition may be stored under several keys, called spellings, since the order of keys in JSON differs between
# writers.
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
            versions = [(packed, key) for key in self._spellings(text) for packed in history[key]]
            for packed, key in sorted(versions, key=lambda version: version[0][:AGE]):
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


Record = tuple[bytes | None, bytes | None, int, int]
"""Key, value, timestamp and offset."""

_pack = struct.Struct(">QQ").pack  # timestamp and offset


class Offsets:
    """The stored offsets, of these `connectors` only if given; with `history`, overwritten ones too."""

    def __init__(self, codec: OffsetCodec, connectors: Collection[str] | None = None, *, history: bool = False) -> None:
        self._codec, self._connectors, self._keep_history = codec, connectors, history
        self._latest: dict[bytes, bytes] = {}  # by key: age and value
        self._history: dict[bytes, list[bytes]] = {}
        self._sinks: dict[str, dict[bytes, bytes]] = {}  # by canonical partition
        self._names: dict[str, list[bytes]] | None = None  # the keys of each connector

    def wants(self, connector: str) -> bool:
        return self._connectors is None or connector in self._connectors

    def take(self, records: Sequence[Record]) -> None:
        """Adds records; those of one key must be in the order of the topic. Malformed ones are reported and skipped."""
        plain = self._codec.are_plain([record[1] for record in records if record[1] is not None])
        latest = self._latest
        for key, value, timestamp, offset in records:
            stored = NONE if value is None else value
            if not plain and value is not None:
                try:
                    stored = self._codec.value(value)
                except MalformedOffset as e:
                    report_ignored(key, e)
                    continue
            packed = _pack(timestamp + 1, offset) + stored  # very old records have no timestamp: -1
            latest[key or b""] = packed
            if self._keep_history:
                self._history.setdefault(key or b"", []).append(packed)

    def put(self, connector: str, partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> None:
        """Adds the offset of a sink, which has no record."""
        if self.wants(connector):
            self._sinks.setdefault(connector, {})[canonical(partition)] = canonical(offset)

    def connectors(self) -> list[str]:
        """Names of connectors that have offsets, sorted."""
        return sorted({*self._keys(), *self._sinks})

    def lines(self, connector: str) -> Iterator[list[Line]]:
        """Partitions with their offsets, in order, in batches; with `history` every record, also removals (null)."""
        partitions = self.partitions(connector)
        stored = [list(partitions.all(self._history))] if self._keep_history else partitions.latest()
        return chain(stored, [list(self._sinks.get(connector, {}).items())])

    def partitions(self, connector: str) -> Partitions:
        keys = self._keys().get(connector, [])
        return Partitions(connector, self._codec, self._latest, keys, self._sinks.get(connector, {}))

    def _keys(self) -> Mapping[str, list[bytes]]:
        """The keys of each connector, computed once, after the last record. Sorting groups them by connector."""
        if self._names is None:
            self._names, at = {}, 0
            keys = sorted(self._latest)
            while at < len(keys):
                name, end = self._range(keys, at)
                if name is not None and self.wants(name):
                    self._names.setdefault(name, []).extend(keys[at:end])
                at = end
        return self._names

    def _range(self, keys: Sequence[bytes], at: int) -> tuple[str | None, int]:
        """The connector of the key at `at`, and the end of the range of keys with the same connector."""
        key = keys[at]
        end = key.find(b'",') + 1
        if key.startswith(b'["') and end and b"\\" not in key[:end]:
            try:
                return str(orjson.loads(key[1:end])), bisect_left(keys, key[:end] + b"-", at)  # after the comma
            except ValueError:
                pass  # reported below
        try:
            return self._codec.key(key)[0], at + 1
        except MalformedOffset as e:
            report_ignored(key, e)
            return None, at + 1
