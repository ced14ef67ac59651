"""Marks by which records of a source are recognized in a later run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runtime.api.data.record import SourceRecord
from runtime.api.task import Offset
from runtime.kafka.formats import canonical
from runtime.plugin_kit.conformance.case import Config, SourceCase
from runtime.plugin_kit.conformance.connector_run import SourceRun


class Mark(NamedTuple):
    """Source partition and offset of a record, and a digest of its key and value. All are text."""

    partition: str
    offset: str
    content: str


def mark(record: SourceRecord) -> Mark:
    """The mark of a record."""
    content = hashlib.sha1(repr((record.key, record.value)).encode("utf-8", "replace"), usedforsecurity=False)
    return Mark(canonical(record.source_partition), canonical(record.source_offset), content.hexdigest())


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """The records that a task produces if nothing happens. `stable`: two runs produced equal keys and values; else they
    are random or contain the time, and records are recognized by their offsets only."""

    records: Sequence[SourceRecord]
    stable: bool

    @classmethod
    def of(cls, case: SourceCase, task: Config) -> ReferenceRun:
        """Runs the task twice."""
        with SourceRun(case.connector, task) as run:
            records = run.read(case.records)
        with SourceRun(case.connector, task) as run:
            again = run.read(len(records))
        return cls(records, [mark(r) for r in again[: len(records)]] == [mark(r) for r in records])

    @property
    def has_offsets(self) -> bool:
        """Whether the records have offsets from which a task can resume."""
        return all(r.source_partition is not None and r.source_offset is not None for r in self.records)

    def known(self, mark_of_record: Mark) -> Mark:
        """The mark as far as it is equal in every run."""
        return mark_of_record if self.stable else mark_of_record._replace(content="")

    def marks(self, records: Iterable[SourceRecord]) -> Counter[Mark]:
        """How often each mark occurs among these records."""
        return Counter(self.known(mark(record)) for record in records)


def committed(records: Sequence[SourceRecord]) -> dict[str, Offset]:
    """The last offset of each partition, by the text of the partition."""
    return {
        canonical(record.source_partition): record.source_offset
        for record in records
        if record.source_partition is not None and record.source_offset is not None
    }
