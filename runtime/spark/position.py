"""Spark's stream offset: the source offset of each source partition, and how many records it stands for.

The number of records makes a batch exact even where several records have the same offset. As JSON:

    {"partitions": [{"partition": {…}, "offset": {…}, "records": 1200}, …]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.kafka.formats import canonical, compact


class PartitionProgress(NamedTuple):
    """A source partition, its offset, and the number of records up to it since the query's first start."""

    partition: Partition | None
    offset: Offset | None
    records: int


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """The progress in each source partition, by its canonical text. Immutable."""

    partitions: Mapping[str, PartitionProgress] = field(default_factory=dict)

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> StreamPosition:
        """The position of an offset from Spark's checkpoint. ConnectError if another data source wrote it."""
        try:
            read = [(item["partition"], item["offset"], int(item["records"])) for item in offset["partitions"]]
        except (KeyError, TypeError, ValueError):
            text = json.dumps(offset)[:100]
            raise ConnectError(
                f"The checkpoint has the offset {text}, which another data source wrote: use a checkpointLocation for "
                "this query only"
            ) from None
        return cls({canonical(item[0]): PartitionProgress(*item) for item in read})

    def stored(self) -> StreamPosition:
        """The position as it is read from the checkpoint. DataError for an offset that cannot be stored."""
        return StreamPosition.of(json.loads(compact(self.json())))

    def json(self) -> dict[str, Any]:
        """The offset for Spark. Equal positions have equal texts."""
        return {"partitions": [progress._asdict() for _, progress in sorted(self.partitions.items())]}

    def after(self, steps: Iterable[Mapping[str, PartitionProgress]]) -> StreamPosition:
        """The position after these steps, whose progress counts their own records only."""
        partitions = dict(self.partitions)
        for step in steps:
            for name, progress in step.items():
                before = partitions[name].records if name in partitions else 0
                partitions[name] = progress._replace(records=before + progress.records)
        return StreamPosition(partitions)

    def offset(self, partition: Partition | None) -> Offset | None:
        """The offset of a source partition; None without one."""
        progress = self.partitions.get(canonical(partition))
        return None if progress is None else progress.offset

    def offsets(self, partitions: Iterable[Partition]) -> list[Offset | None]:
        """The offset of each of these source partitions, in their order."""
        return [self.offset(partition) for partition in partitions]

    def records(self, name: str) -> int:
        """The number of records of a source partition, by its canonical text."""
        progress = self.partitions.get(name)
        return 0 if progress is None else progress.records
