"""Offset records sorted out: the youngest of each partition, or all of them. Compact: a million fit in 500 MB.

Records are kept as they came, key and value; what a key says is looked at when its connector's turn comes.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson

from runtime.kafka.formats import compact
from runtime.offsets_tool.codec import Codec, Malformed, canonical, kept

Line = tuple[bytes, bytes]  # partition and offset, as JSON

NONE = b"null"

_AGE = struct.Struct(">QQ")  # timestamp and offset: spellings of a partition lie in different Kafka partitions
_pack, _SIZE = _AGE.pack, _AGE.size


class Offsets:
    """What is stored for each connector. `connectors` limits it to these; `history` keeps what was overwritten too."""

    def __init__(self, codec: Codec, connectors: Collection[str] | None = None, *, history: bool = False) -> None:
        self._codec, self._connectors, self._keep_history = codec, connectors, history
        self._youngest: dict[bytes, bytes] = {}  # key: age and value
        self._history: dict[bytes, list[bytes]] = {}
        self._sinks: dict[str, dict[bytes, bytes]] = {}  # by canonical partition
        self._names: dict[str, list[bytes]] | None = None  # the keys of each connector

    def wants(self, connector: str) -> bool:
        return self._connectors is None or connector in self._connectors

    def take(self, key: bytes | None, value: bytes | None, timestamp: int = 0, offset: int = 0) -> None:
        """A record; those of one key in the order they were written in. What no worker would have written is named
        and skipped. A million calls: nothing more than needed."""
        found = NONE if value is None else value
        if value is not None and not _is_plain(value):
            try:
                found = self._codec.value(value)
            except Malformed as e:
                _ignored(key, e)
                return
        packed = _pack(timestamp + 1, offset) + found  # very old records have none: -1
        if self._keep_history:
            self._history.setdefault(key or b"", []).append(packed)
        else:
            self._youngest[key or b""] = packed

    def put(self, connector: str, partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> None:
        """An offset that is no record: of a sink."""
        if self.wants(connector):
            self._sinks.setdefault(connector, {})[canonical(partition)] = canonical(offset)

    def connectors(self) -> list[str]:
        """Those that there are records of."""
        return sorted({*self._keys(), *self._sinks})

    def lines(self, connector: str) -> Iterator[Line]:
        """Partitions with their offsets, in order; with `history`, every record there was, removals (null) too."""
        return chain(
            self._all(connector) if self._history else self._latest(connector),
            self._sinks.get(connector, {}).items(),
        )

    def partitions(self, connector: str) -> Partitions:
        """What is known of a connector, to be asked for single partitions."""
        keys = self._keys().get(connector, [])
        return Partitions(connector, self._codec, self._youngest, keys, self._sinks.get(connector, {}))

    def _latest(self, connector: str) -> Iterator[Line]:
        partitions, records, text_of = self.partitions(connector), self._youngest, self._texts(connector)
        first, more, start = partitions.first, partitions.more, len(partitions.head)
        for text in sorted(first):
            key = partitions.youngest(text) if more else first[text]
            offset = records[key][_SIZE:]
            if offset != NONE:
                yield (key[start:-1] if key is text else text_of(key)), offset

    def _all(self, connector: str) -> Iterator[Line]:
        """Partition by partition, the oldest record first."""
        partitions, text_of = self.partitions(connector), self._texts(connector)
        for text in sorted(partitions.first):
            found = [(packed, key) for key in partitions.spellings(text) for packed in self._history[key]]
            for packed, key in sorted(found, key=lambda one: one[0][:_SIZE]):
                yield text_of(key), packed[_SIZE:]

    def _keys(self) -> Mapping[str, list[bytes]]:
        """Found out once, after the last record."""
        if self._names is None:
            self._names = {}
            for token, keys in self._by_token().items():
                name = str(orjson.loads(token))
                if self.wants(name):
                    self._names.setdefault(name, []).extend(keys)
        return self._names

    def _by_token(self) -> Mapping[bytes, list[bytes]]:
        """Keys by their connector's name as JSON; of plain keys that is what comes first."""
        found: dict[bytes, list[bytes]] = {}
        for key in self._history or self._youngest:
            token = key[1 : key.find(b'",{') + 1]
            known = found.get(token)
            if known is not None:
                known.append(key)
                continue
            if len(token) < 2 or not key.startswith(b'["') or b"\\" in token:
                try:
                    token = compact(self._codec.key(key)[0])
                except Malformed as e:
                    _ignored(key, e)
                    continue
            found.setdefault(token, []).append(key)
        return found

    def _texts(self, connector: str) -> Callable[[bytes], bytes]:
        """What gives a key's partition as JSON, in the order that it has there."""
        head = b"[%b," % compact(connector)
        start = len(head)

        def text(key: bytes) -> bytes:
            if key.startswith(head) and key.endswith(b"}]") and b"\n" not in key:
                return key[start:-1]
            return compact(self._codec.key(key)[1])

        return text


class Partitions:
    """The partitions of one connector, and in which spellings (JSON's key order differs between writers) they are
    stored. Most have one: `first` has it by the key's canonical text, `more` the others."""

    def __init__(
        self,
        connector: str,
        codec: Codec,
        records: Mapping[bytes, bytes],
        keys: Sequence[bytes],
        sink: Mapping[bytes, bytes],
    ) -> None:
        self._records, self._sink = records, sink
        self.head = b"[%b," % compact(connector)
        self.first: dict[bytes, bytes] = {}
        self.more: dict[bytes, list[bytes]] = {}
        for key in keys:
            try:
                text = _canonical_key(key) or self.whole(canonical(codec.key(key)[1]))
            except Malformed as e:
                _ignored(key, e)
                continue
            if self.first.setdefault(text, key) is not key:
                self.more.setdefault(text, []).append(key)

    def whole(self, partition: bytes) -> bytes:
        """The canonical key of a canonical partition."""
        return b"%b%b]" % (self.head, partition)

    def spellings(self, text: bytes) -> list[bytes]:
        """Every key of a partition, in no order."""
        return [self.first[text], *self.more.get(text, ())] if text in self.first else []

    def youngest(self, text: bytes) -> bytes:
        """Of the keys of a partition, by its canonical key, the one that was written last."""
        if text not in self.more:
            return self.first[text]
        return max(self.spellings(text), key=lambda key: self._records[key][:_SIZE])

    def keys(self, partition: bytes) -> tuple[bytes, ...]:
        """Every key of a partition, the youngest first."""
        found = self.spellings(self.whole(partition))
        return tuple(sorted(found, key=lambda key: self._records[key][:_SIZE], reverse=True))

    def offset(self, partition: bytes) -> bytes:
        """The offset of a partition, `null` for none."""
        text = self.whole(partition)
        if text in self.first:
            return self._records[self.youngest(text)][_SIZE:]
        return self._sink.get(partition, NONE)


def _is_plain(value: bytes) -> bool:
    """Whether a value is the offset itself, as nearly all are."""
    try:
        parsed = orjson.loads(value)
    except ValueError:
        return False
    return type(parsed) is dict and "schema" not in parsed


def _canonical_key(key: bytes) -> bytes | None:
    """The key with its maps in order, the very same object where they are; None when it needs a closer look: it is
    wrapped, wrong, or comes back from a fast parser as something else (numbers that are too long are rounded)."""
    try:
        parsed = orjson.loads(key)
        ordered = orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS)
    except ValueError:
        return None
    if type(parsed) is not list or len(parsed) != 2 or type(parsed[1]) is not dict:
        return None
    if ordered == key:
        return key
    return kept(ordered) if orjson.dumps(parsed) == key else None


def _ignored(key: bytes | None, why: Malformed) -> None:
    print(f"headrace offsets: ignoring the record with key {key!r}: {why}", file=sys.stderr)
