"""The record with which a sink fails, found from its committed offsets, and the file for records that are skipped.

A worker reads and converts records in batches, and commits the offset of a batch only when all of it was put. After a
failure the committed offset is therefore that of the first record of the failed batch. The record at fault is the one
that a Headrace worker reports, or else the first that cannot be decoded as the sink's converters do.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tui import private_file
from tui.offsets.brokers import TopicPartition
from tui.topics.byte_views import plain_bytes
from tui.topics.decoding import DecodedRecord, RecordDecoder
from tui.topics.page_scan import ReadLimits
from tui.topics.reader import TopicReader
from tui.topics.records import TopicRecord

Json = Any
MAX_RECORDS = 5_000  # read of each partition: the batch of a Headrace worker
BATCH = 500  # max.poll.records of the consumers of other workers
MAX_PARTITIONS = 64  # whose records are read


class FailingPartition(NamedTuple):
    """A partition with records that the sink has not processed. `records` begin at its committed offset; `fault` is
    the offset of the record at fault, and `why` how it is known; None if it is not known."""

    topic: str
    partition: int
    records: tuple[DecodedRecord, ...]
    fault: int | None = None
    why: str = ""

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def first(self) -> TopicRecord:
        return self.records[0].record

    @property
    def shown(self) -> DecodedRecord:
        """The record at fault, or else the first that was not processed."""
        return self.records[self.before_fault]

    @property
    def before_fault(self) -> int:
        """The number of records before the record at fault, which were not processed either."""
        return next((place for place, each in enumerate(self.records) if each.record.offset == self.fault), 0)


def failing_partitions(
    reader: TopicReader,
    decoder: RecordDecoder,
    topics: Sequence[str],
    committed: Mapping[TopicPartition, int],
    reported: Mapping[TopicPartition, int],
    batch: int,
) -> list[FailingPartition]:
    """The partitions with lag, those with a record at fault first. `committed` are the sink's offsets, `reported` the
    offsets of the last failed record by partition, `batch` the most records of a failed batch. Blocks. Raises
    HeadraceError."""
    partitions: list[FailingPartition] = []
    for topic in topics:
        earliest, latest = reader.bounds(topic)
        starts = {number: max(committed.get((topic, number), 0), first) for number, first in earliest.items()}
        for number, start in starts.items():
            if start < latest[number] and len(partitions) < MAX_PARTITIONS:
                page = reader.newer(topic, ReadLimits(MAX_RECORDS), {number: start}, None, number)
                if records := tuple(map(decoder.decoded, page.records)):
                    fault, why = _fault(records, reported.get((topic, number)), batch)
                    partitions.append(FailingPartition(topic, number, records, fault, why))
    return sorted(partitions, key=lambda each: (each.fault is None, each.topic, each.partition))


def _fault(records: Sequence[DecodedRecord], reported: int | None, batch: int) -> tuple[int | None, str]:
    if any(each.record.offset == reported for each in records):
        return reported, "reported by the worker"
    for each in records[:batch]:
        for part, decoded in (("key", each.key), ("value", each.value)):
            if decoded.note.startswith("not decoded by "):
                return each.record.offset, f"{part} {decoded.note}"
    return None, ""


def last_failures(response: Json) -> dict[TopicPartition, int]:
    """The offset of the newest failed record by partition, from `GET /connectors/NAME/errors` of Headrace workers."""
    places: dict[TopicPartition, int] = {}
    for failure in (response or {}).get("last") or ():
        topic, partition, offset = (failure.get(key) for key in ("topic", "partition", "offset"))
        if isinstance(topic, str) and type(partition) is int and type(offset) is int:
            places.setdefault((topic, partition), offset)
    return places


def saved_line(connector: str, record: TopicRecord) -> str:
    """A record as a line of JSON; bytes other than UTF-8 become `{"base64": …}`, so that nothing is lost."""
    document = {
        "connector": connector,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": plain_bytes(record.key),
        "value": plain_bytes(record.value),
        "headers": [[name, plain_bytes(value)] for name, value in record.headers],
    }
    return json.dumps(document, ensure_ascii=False) + "\n"


def default_file(folder: Path, connector: str) -> Path:
    """The file for skipped records of a connector in the console's folder."""
    safe = "".join(char if char.isalnum() or char in "._-" else "_" for char in connector)[:100]
    return folder / "skipped" / f"{safe}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"


def discard(file: Path) -> None:
    """Removes the file of records that were not skipped after all."""
    with suppress(OSError):
        file.unlink()


def save(file: Path, connector: str, records: Sequence[TopicRecord]) -> None:
    """Writes the records to a file that only the user can read. Raises OSError, FileExistsError among them: records
    that were saved before are never overwritten."""
    if file.exists():
        raise FileExistsError(17, "the file exists")
    private_file.store(file, "".join(saved_line(connector, record) for record in records))
