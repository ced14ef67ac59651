"""Plan of an import: the differences from the stored offsets, their text for --dry-run, and the records to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from runtime.herder.offsets.stored_offsets import PARTITION, TOPIC
from runtime.offsets_tool.codec import NONE, OffsetCodec, canonical
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.document import Document

_TOPIC = f'"{TOPIC}"'.encode()

Record = tuple[bytes, "bytes | None"]


@dataclass(frozen=True, slots=True)
class ImportChange:
    """A change of one offset. Partition and offsets are JSON; `null` is a missing offset."""

    connector: str
    partition: bytes
    offset: bytes
    before: bytes
    keys: tuple[bytes, ...]  # all stored keys of the partition, the latest first

    def __str__(self) -> str:
        verb = "remove" if self.offset == NONE else "set" if self.before == NONE else "change"
        return f"{verb} {self.connector} {_text(self.partition)} {_text(self.before)} -> {_text(self.offset)}"


def changes(document: Document, stored: Offsets) -> list[ImportChange]:
    changes = []
    for connector, wanted in document.items():
        known = stored.partitions(connector)
        for text, offset in wanted.offsets.items():
            before = known.offset(text)
            if not _same(before, offset):
                partition = wanted.spelled.get(text, text)
                changes.append(ImportChange(connector, partition, offset, before, known.keys(text)))
    return changes


def records(planned: Sequence[ImportChange], codec: OffsetCodec) -> Iterator[Record]:
    """The records of these changes. A partition keeps its latest key; records under other spellings are removed."""
    for change in planned:
        key, *others = change.keys or (codec.make_key(change.connector, change.partition),)
        yield key, None if change.offset == NONE else codec.make_value(change.offset)
        for other in others:
            yield other, None


def names_topic(partition: bytes) -> bool:
    """Whether a partition, as JSON, is a partition of a Kafka topic, as in offsets of sinks."""
    return _TOPIC in partition and orjson.loads(partition).keys() == {TOPIC, PARTITION}


def _same(before: bytes, after: bytes) -> bool:
    if before == after:
        return True
    return before != NONE and after != NONE and canonical(orjson.loads(before)) == canonical(orjson.loads(after))


def _text(json: bytes) -> str:
    return canonical(orjson.loads(json)).decode()
