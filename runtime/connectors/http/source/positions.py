"""The offsets of a task by source partition: those that were committed before, and those reached since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from runtime.api.task import Offset, OffsetReader, Partition
from runtime.connectors.http.source.traversal import Traversal

_NOTHING = Traversal().offset()


class StreamPositions:
    """Offsets that were reached are remembered: they may not be committed yet when a partition is read again."""

    def __init__(self, reader: OffsetReader, add: Callable[[Sequence[tuple[Partition, Offset]]], None]) -> None:
        """`add` commits offsets that no record has."""
        self._reader, self._add = reader, add
        self._known: dict[bytes, Offset | None] = {}
        self._moved: dict[bytes, tuple[Partition, Offset]] = {}

    def apart(self) -> StreamPositions:
        """A copy whose offsets are not committed."""
        made = StreamPositions(self._reader, lambda offsets: None)
        made._known.update(self._known)
        return made

    def load(self, partitions: Sequence[Partition]) -> None:
        """Reads the committed offsets of partitions that are not known yet, all in one request."""
        unknown = {key: partition for partition in partitions if (key := _key(partition)) not in self._known}
        if unknown:
            offsets = self._reader.offsets(list(unknown.values()))
            self._known.update(zip(unknown, offsets, strict=True))

    def offset(self, partition: Partition) -> Offset | None:
        """The last offset of a partition; None if it has none."""
        self.load([partition])
        return self._known[_key(partition)]

    def reached(self, partition: Partition, offset: Offset) -> None:
        """An offset that a record has."""
        key = _key(partition)
        self._known[key] = offset
        self._moved.pop(key, None)

    def moved(self, partition: Partition, offset: Offset) -> None:
        """An offset that no record has, committed with the records polled so far."""
        if (self.offset(partition) or _NOTHING) != offset:
            self.reached(partition, offset)
            self._moved[_key(partition)] = (partition, offset)

    def commit(self) -> None:
        """Requests the commit of offsets that no record has."""
        if self._moved:
            self._add(list(self._moved.values()))
            self._moved = {}


def _key(partition: Mapping[str, Any]) -> bytes:
    """A digest, since the partitions of many parents are kept: together with an offset it takes half a kilobyte."""
    return hashlib.blake2b(orjson.dumps(partition, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()
