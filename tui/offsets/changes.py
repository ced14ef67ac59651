"""Changes of offsets: the differences between two lists of offsets, and conflicts with changes by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from tui.formatting import counted
from tui.model import Offset
from tui.offsets import partitions

Json = Any


class ChangeKind(Enum):
    ALTER = "alter"
    RESET = "reset"
    NEW = "new"


class Effect(NamedTuple):
    """The effect of moving a sink, in records read again or skipped."""

    reread: int
    skipped: int

    @classmethod
    def between(cls, committed: int | None, goal: int, begin: int, end: int) -> Effect:
        """Of a move to `goal` in a partition with these bounds; without a committed offset, from its beginning."""
        now = min(max(begin if committed is None else committed, begin), end)
        return cls(max(now - goal, 0), max(goal - now, 0))

    def __str__(self) -> str:
        if self.reread:
            return f"{self.reread:,} read again"
        return f"{self.skipped:,} skipped" if self.skipped else "stays"

    @property
    def total(self) -> str:
        """`1 record read again, 20 skipped`."""
        return f"{counted(self.reread, 'record')} read again, {self.skipped:,} skipped"


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """The change of one partition from `before` (None if it has no offset) to `after` (None for a reset)."""

    kind: ChangeKind
    partition: Json
    before: Json
    after: Json
    effect: Effect | None = field(default=None, compare=False)  # None if unknown
    remark: str = field(default="", compare=False)  # a warning, such as an offset past the end

    @property
    def entry(self) -> dict[str, Json]:
        """The entry of the PATCH body."""
        return {"partition": self.partition, "offset": self.after}

    @property
    def step(self) -> str:
        """The distance that a number moves: `−8`, `+1,200`; empty if the offsets are not single numbers."""
        return distance(self.before, self.after)


def distance(before: Json, after: Json) -> str:
    """How far a number moved: `−8`, `+1,200`; empty if the offsets are not single numbers."""
    first, second = _number(before), _number(after)
    if first is None or second is None:
        return ""
    return f"{second - first:+,}".replace("-", "−")


def _number(offset: Json) -> int | None:
    """The number of an offset with a single field; None for other offsets."""
    if not isinstance(offset, dict) or len(offset) != 1:
        return None
    (value,) = offset.values()
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= partitions.MAX_DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def same_offset(first: Json, other: Json) -> bool:
    """Whether two offsets are equal; a sink's number may be text, and 1 is not true."""
    if isinstance(first, dict) and isinstance(other, dict) and first.keys() == other.keys() == {"kafka_offset"}:
        numbers = _number(first), _number(other)
        if None not in numbers:
            return numbers[0] == numbers[1]
    return partitions.compact(first) == partitions.compact(other) or (
        isinstance(first, dict)
        and isinstance(other, dict)
        and first.keys() == other.keys()
        and all(same_offset(first[name], other[name]) for name in first)
    )


def changes(base: Sequence[Offset], wanted: Sequence[Offset]) -> list[OffsetChange]:
    """The changes from `base` to `wanted`, in the order of `wanted`. Partitions missing there do not change."""
    before = {partitions.key(entry.partition): entry.offset for entry in base}
    changes = []
    for entry in wanted:
        key = partitions.key(entry.partition)
        old = before.get(key)
        if entry.offset is None:
            if old is not None:
                changes.append(OffsetChange(ChangeKind.RESET, entry.partition, old, None))
        elif old is None:
            changes.append(OffsetChange(ChangeKind.NEW, entry.partition, None, entry.offset))
        elif not same_offset(old, entry.offset):
            changes.append(OffsetChange(ChangeKind.ALTER, entry.partition, old, entry.offset))
    return changes


def left_out(base: Sequence[Offset], wanted: Sequence[Offset]) -> list[Offset]:
    """Offsets of `base` that `wanted` does not mention, and that therefore do not change."""
    keys = {partitions.key(entry.partition) for entry in wanted}
    return [entry for entry in base if partitions.key(entry.partition) not in keys]


class OffsetConflict(NamedTuple):
    """A partition whose offset has changed since the change was computed."""

    partition: Json
    was: Json
    now: Json


def conflicts(
    base: Sequence[Offset], now: Sequence[Offset], changes: Sequence[OffsetChange], ran: bool
) -> list[OffsetConflict]:
    """Partitions of `made` that someone else changed between `base` and `now`. If the connector `ran` in between, it
    advanced by itself: an offset that moved forward is not a conflict, one that moved back or vanished is."""
    before = {partitions.key(entry.partition): entry.offset for entry in base}
    after = {partitions.key(entry.partition): entry.offset for entry in now}
    conflicts = []
    for change in changes:
        key = partitions.key(change.partition)
        was, seen = before.get(key), after.get(key)
        if not same_offset(was, seen) and not (ran and _advanced(was, seen)):
            conflicts.append(OffsetConflict(change.partition, was, seen))
    return conflicts


def _advanced(was: Json, now: Json) -> bool:
    """Whether a running connector may have advanced to this offset by itself."""
    if was is None:
        return True
    if not isinstance(was, dict) or not isinstance(now, dict):
        return False
    numbers = [(value, now.get(name)) for name, value in was.items() if isinstance(value, int)]
    return all(isinstance(number, int) and number >= value for value, number in numbers)
