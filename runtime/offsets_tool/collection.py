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

from runtime.offsets_tool.codec import NONE, MalformedOffset, OffsetCodec, canonical, report_ignored
from runtime.offsets_tool.partitions import Line, Partitions

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
            found = NONE if value is None else value
            if not plain and value is not None:
                try:
                    found = self._codec.value(value)
                except MalformedOffset as e:
                    report_ignored(key, e)
                    continue
            packed = _pack(timestamp + 1, offset) + found  # very old records have no timestamp: -1
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
        """The partitions of one connector."""
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
