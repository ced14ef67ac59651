"""Offset records sorted out: the youngest of each key, or all of them. Compact: a million fit in 500 MB.

Records are kept as they came, key and value; what a key says is looked at when its connector's turn comes.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson

from runtime.offsets_tool.codec import NONE, MalformedRecord, OffsetCodec, canonical, ignored
from runtime.offsets_tool.partitions import Line, Partitions

Record = tuple[bytes | None, bytes | None, int, int]
"""Key, value, timestamp and offset."""

_pack = struct.Struct(">QQ").pack  # timestamp and offset


class Offsets:
    """What is stored for each connector. `connectors` limits it to these; `history` keeps what was overwritten too."""

    def __init__(self, codec: OffsetCodec, connectors: Collection[str] | None = None, *, history: bool = False) -> None:
        self._codec, self._connectors, self._keep_history = codec, connectors, history
        self._youngest: dict[bytes, bytes] = {}  # key: age and value
        self._history: dict[bytes, list[bytes]] = {}
        self._sinks: dict[str, dict[bytes, bytes]] = {}  # by canonical partition
        self._names: dict[str, list[bytes]] | None = None  # the keys of each connector

    def wants(self, connector: str) -> bool:
        return self._connectors is None or connector in self._connectors

    def take(self, records: Sequence[Record]) -> None:
        """Records; those of one key in the order they were written in. What no worker would have written is named and
        skipped. A million of them: nothing more for each than needed."""
        plain = self._codec.are_plain([record[1] for record in records if record[1] is not None])
        youngest = self._youngest
        for key, value, timestamp, offset in records:
            found = NONE if value is None else value
            if not plain and value is not None:
                try:
                    found = self._codec.value(value)
                except MalformedRecord as e:
                    ignored(key, e)
                    continue
            packed = _pack(timestamp + 1, offset) + found  # very old records have no timestamp: -1
            youngest[key or b""] = packed
            if self._keep_history:
                self._history.setdefault(key or b"", []).append(packed)

    def put(self, connector: str, partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> None:
        """An offset that is no record: of a sink."""
        if self.wants(connector):
            self._sinks.setdefault(connector, {})[canonical(partition)] = canonical(offset)

    def connectors(self) -> list[str]:
        """Those that there are records of."""
        return sorted({*self._keys(), *self._sinks})

    def lines(self, connector: str) -> Iterator[list[Line]]:
        """Partitions with their offsets, in order, many at a time; with `history`, every record there was, removals
        (null) too."""
        partitions = self.partitions(connector)
        stored = [list(partitions.all(self._history))] if self._keep_history else partitions.latest()
        return chain(stored, [list(self._sinks.get(connector, {}).items())])

    def partitions(self, connector: str) -> Partitions:
        """What is known of a connector, to be asked for single partitions."""
        keys = self._keys().get(connector, [])
        return Partitions(connector, self._codec, self._youngest, keys, self._sinks.get(connector, {}))

    def _keys(self) -> Mapping[str, list[bytes]]:
        """Found out once, after the last record. In order, so that the keys of a connector lie side by side."""
        if self._names is None:
            self._names, at = {}, 0
            keys = sorted(self._youngest)
            while at < len(keys):
                name, end = self._stretch(keys, at)
                if name is not None and self.wants(name):
                    self._names.setdefault(name, []).extend(keys[at:end])
                at = end
        return self._names

    def _stretch(self, keys: Sequence[bytes], at: int) -> tuple[str | None, int]:
        """The connector of a key, and where the keys end that begin with the same letters up to the partition."""
        key = keys[at]
        end = key.find(b'",') + 1
        if key.startswith(b'["') and end and b"\\" not in key[:end]:
            try:
                return str(orjson.loads(key[1:end])), bisect_left(keys, key[:end] + b"-", at)  # after the comma
            except ValueError:
                pass  # said below
        try:
            return self._codec.key(key)[0], at + 1
        except MalformedRecord as e:
            ignored(key, e)
            return None, at + 1
