"""What an import would do: checked against what is stored, shown as a diff, turned into records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtime.offsets_tool.codec import Codec, canonical
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.document import Document

Record = tuple[bytes, "bytes | None"]

_NONE = b"null"


@dataclass(frozen=True, slots=True)
class Change:
    """An offset that will be another one."""

    connector: str
    partition: dict[str, Any] | None
    offset: dict[str, Any] | None
    before: bytes  # JSON
    after: bytes

    def __str__(self) -> str:
        verb = "remove" if self.offset is None else "set" if self.before == _NONE else "change"
        line = f"{verb} {self.connector} {canonical(self.partition).decode()} {self.before.decode()}"
        return f"{line} -> {self.after.decode()}"


def changes(document: Document, stored: Offsets) -> list[Change]:
    """What differs from what is stored; of a partition named twice the last entry counts."""
    found = []
    for connector, entries in document.items():
        wanted = {canonical(partition): (partition, offset) for partition, offset in entries}
        for text, (partition, offset) in wanted.items():
            before, after = stored.offset(connector, text), canonical(offset)
            if not _same(before, after):
                found.append(Change(connector, partition, offset, before, after))
    return found


def records(planned: list[Change], stored: Offsets, codec: Codec) -> Iterator[Record]:
    """The records that bring it about. A partition keeps the youngest spelling of its key, the others are removed."""
    for change in planned:
        known = stored.keys(change.connector, canonical(change.partition))
        key, *others = known or [codec.make_key(change.connector, change.partition)]
        yield key, None if change.offset is None else codec.make_value(change.offset)
        yield from ((other, None) for other in others)


def _same(before: bytes, after: bytes) -> bool:
    import json

    return before == after or canonical(json.loads(before)) == after
