"""Offset records sorted out: the youngest of each partition, or all of them. Compact: a million fit in 500 MB."""

from __future__ import annotations

import struct
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from runtime.offsets_tool.codec import Codec, Malformed, canonical

Line = tuple[bytes, bytes]  # partition and offset, as JSON

_AGE = struct.Struct(">qq")  # timestamp and offset: spellings of a partition lie in different Kafka partitions
_NO_AGE = (0, 0)
_TOMBSTONE = b"null"


class Offsets:
    """What is stored for each connector. `connectors` limits it to these; `history` keeps what was overwritten too;
    `keys` keeps the records' keys, for writing."""

    def __init__(
        self, codec: Codec, connectors: Collection[str] | None = None, *, history: bool = False, keys: bool = False
    ) -> None:
        self._codec, self._connectors, self._keep_history, self._keep_keys = codec, connectors, history, keys
        self._youngest: dict[str, dict[bytes, bytes]] = {}
        self._history: dict[str, list[Line]] = {}
        self._keys: dict[tuple[str, bytes], dict[bytes, tuple[int, int]]] = {}
        self.skipped = 0

    def wants(self, connector: str) -> bool:
        return self._connectors is None or connector in self._connectors

    def take(self, key: bytes | None, value: bytes | None, age: tuple[int, int] = _NO_AGE) -> None:
        """A record, in the order they were written in; what no worker would have written is named and skipped."""
        try:
            name, partition = self._codec.key(key or b"")
            offset = _TOMBSTONE if value is None else self._codec.value(value)
        except Malformed as e:
            self.skipped += 1
            print(f"headrace offsets: ignoring the record with key {key!r}: {e}", file=sys.stderr)
            return
        if not self.wants(name):
            return
        if self._keep_history:
            self._history.setdefault(name, []).append((partition, offset))
            return
        if self._keep_keys:
            self._keys.setdefault((name, partition), {})[key or b""] = age
        known = self._youngest.setdefault(name, {})
        before = known.get(partition)
        if before is None or _AGE.unpack_from(before) <= age:
            known[partition] = _AGE.pack(*age) + offset

    def put(self, connector: str, partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> None:
        """An offset that is no record: of a sink."""
        if self.wants(connector):
            self._youngest.setdefault(connector, {})[canonical(partition)] = _AGE.pack(*_NO_AGE) + canonical(offset)

    def connectors(self) -> list[str]:
        """Those that have something to show."""
        return sorted(name for name in {*self._youngest, *self._history} if next(self.lines(name), None) is not None)

    def lines(self, connector: str) -> Iterator[Line]:
        """Partitions with their offsets; with `history`, every record there was, removals (null) too."""
        if self._keep_history:
            yield from self._history.get(connector, ())
        for partition, packed in self._youngest.get(connector, {}).items():
            if packed[_AGE.size :] != _TOMBSTONE:
                yield partition, packed[_AGE.size :]

    def offset(self, connector: str, partition: bytes) -> bytes:
        """The offset of a partition, `null` for none."""
        packed = self._youngest.get(connector, {}).get(partition)
        return _TOMBSTONE if packed is None else packed[_AGE.size :]

    def keys(self, connector: str, partition: bytes) -> list[bytes]:
        """Every spelling of the partition's key that was met, the youngest first."""
        found = self._keys.get((connector, partition), {})
        return sorted(found, key=lambda key: found[key], reverse=True)
