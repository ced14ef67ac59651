"""The offsets of a connector in two clusters, partition by partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.changes import distance, same_offset

Json = Any
NO_OFFSET = "(none)"


class OffsetDifference(NamedTuple):
    """One partition; `here` and `there` are its offsets, None without one."""

    partition: Json
    here: Json
    other: Json

    @property
    def kind(self) -> str:
        if self.here is None:
            return "only there"
        if self.other is None:
            return "only here"
        return "equal" if same_offset(self.here, self.other) else "unequal"

    @property
    def differs(self) -> bool:
        return self.kind != "equal"

    @property
    def texts(self) -> tuple[str, str, str]:
        """The partition, the offset here, and the offset there with its distance."""
        here, theirs = (
            NO_OFFSET if offset is None else partitions.offset_cell(offset) for offset in (self.here, self.other)
        )
        step = distance(self.here, self.other) if self.differs else ""
        return partitions.shown(self.partition), here, f"{theirs} ({step})" if step else theirs

    def as_json(self) -> Json:
        return self._asdict()


def compared(here: Sequence[Offset], entries: Sequence[Offset]) -> list[OffsetDifference]:
    """All partitions of both sides; those that differ first."""
    others = {partitions.key(entry.partition): entry.offset for entry in entries}
    differences = [
        OffsetDifference(entry.partition, entry.offset, others.pop(partitions.key(entry.partition), None))
        for entry in here
    ]
    differences += [
        OffsetDifference(entry.partition, None, entry.offset)
        for entry in entries
        if partitions.key(entry.partition) in others
    ]
    return sorted(differences, key=lambda difference: not difference.differs)


def summary(differences: Sequence[OffsetDifference]) -> str:
    """`2 unequal, 1 only here, 5 equal`; `none` without offsets."""
    counts = Counter(difference.kind for difference in differences)
    kinds = ("unequal", "only here", "only there", "equal")
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in kinds if counts[kind]) or "none"
