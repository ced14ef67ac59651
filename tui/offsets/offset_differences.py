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
    there: Json

    @property
    def kind(self) -> str:
        if self.here is None:
            return "only there"
        if self.there is None:
            return "only here"
        return "equal" if same_offset(self.here, self.there) else "unequal"

    @property
    def differs(self) -> bool:
        return self.kind != "equal"

    @property
    def texts(self) -> tuple[str, str, str]:
        """The partition, the offset here, and the offset there with its distance."""
        here, there = (NO_OFFSET if one is None else partitions.offset_cell(one) for one in (self.here, self.there))
        step = distance(self.here, self.there) if self.differs else ""
        return partitions.shown(self.partition), here, f"{there} ({step})" if step else there

    def as_json(self) -> Json:
        return self._asdict()


def compared(here: Sequence[Offset], there: Sequence[Offset]) -> list[OffsetDifference]:
    """All partitions of both sides; those that differ first."""
    others = {partitions.key(entry.partition): entry.offset for entry in there}
    found = [
        OffsetDifference(one.partition, one.offset, others.pop(partitions.key(one.partition), None)) for one in here
    ]
    found += [
        OffsetDifference(one.partition, None, one.offset) for one in there if partitions.key(one.partition) in others
    ]
    return sorted(found, key=lambda one: not one.differs)


def summary(some: Sequence[OffsetDifference]) -> str:
    """`2 unequal, 1 only here, 5 equal`; `none` without offsets."""
    counts = Counter(one.kind for one in some)
    kinds = ("unequal", "only here", "only there", "equal")
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in kinds if counts[kind]) or "none"
