"""Bounds of topics: the effect of typed offsets of a sink, and warnings about those outside, which are allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tui.offsets.brokers import Brokers, TopicPartition
from tui.offsets.changes import Effect, OffsetChange
from tui.offsets.lag import Lag

Json = Any
OUT_OF_RANGE = "a consumer there applies auto.offset.reset"


class Bounds(NamedTuple):
    """Beginning and end offsets by partition; for each of `topics` all partitions are known."""

    places: Mapping[TopicPartition, tuple[int, int]] = {}
    topics: frozenset[str] = frozenset()

    def remark(self, partition: Json, offset: Json) -> str:
        """A warning about an offset outside its topic; empty if it lies inside or the bounds are unknown."""
        at, goal = topic_partition(partition), sink_position(offset)
        if at is None or goal is None:
            return ""
        if at not in self.places:
            return self._unknown(at)
        begin, end = self.places[at]
        if goal > end:
            return f"past the end {end:,}: {OUT_OF_RANGE}"
        return f"before the beginning {begin:,}: {OUT_OF_RANGE}" if goal < begin else ""

    def _unknown(self, at: TopicPartition) -> str:
        topic, number = at
        if topic not in self.topics:
            return ""
        has_any = any(known == topic for known, _ in self.places)
        return f"the topic {topic} has no partition {number}" if has_any else f"the topic {topic} does not exist"

    def remarked(self, changes: Iterable[OffsetChange]) -> tuple[OffsetChange, ...]:
        """The changes with their effects in records, and with warnings about offsets out of bounds."""
        return tuple(map(self._remarked, changes))

    def _remarked(self, change: OffsetChange) -> OffsetChange:
        remark = self.remark(change.partition, change.after)
        if remark or change.effect is not None:
            return replace(change, remark=remark or change.remark)
        return replace(change, effect=self._effect(change))

    def _effect(self, change: OffsetChange) -> Effect | None:
        """None if a bound is unknown: without the brokers, beginnings are."""
        at, goal = topic_partition(change.partition), sink_position(change.after)
        if at is None or goal is None or at not in self.places or at[0] not in self.topics:
            return None
        return Effect.between(sink_position(change.before), goal, *self.places[at])


NO_BOUNDS = Bounds()


def topic_partition(partition: Json) -> TopicPartition | None:
    """Topic and partition of a sink's partition; None for any other JSON."""
    try:
        return str(partition["kafka_topic"]), int(partition["kafka_partition"])
    except (KeyError, TypeError, ValueError):
        return None


def sink_position(offset: Json) -> int | None:
    """The number in a sink's offset; None for any other JSON."""
    try:
        return int(offset["kafka_offset"])
    except (KeyError, TypeError, ValueError):
        return None


def refusal(offset: Json) -> str:
    """The reason why workers refuse a sink's offset; empty for a valid one, and for offsets of sources."""
    if not isinstance(offset, dict) or "kafka_offset" not in offset:
        return ""
    if isinstance(offset["kafka_offset"], bool | float) or (position := sink_position(offset)) is None:
        return "kafka_offset must be a whole number"
    if position < 0:
        return "an offset cannot be negative"
    return "kafka_offset does not fit in 64 bits" if position >= 2**63 else ""


def of_brokers(topics: Iterable[str], brokers: Brokers) -> Bounds:
    """Bounds from the brokers. Blocks. Raises HeadraceError if they cannot be reached."""
    wanted = frozenset(topics)
    if not wanted:
        return NO_BOUNDS
    existing = brokers.partitions(lambda topic: topic in wanted)
    begins, ends = brokers.beginnings(existing), brokers.ends(existing)
    return Bounds({at: (begins[at], ends[at]) for at in existing}, wanted)


def of_lags(partitions: Sequence[Json], lags: Mapping[str, Lag]) -> Bounds:
    """Bounds from the lags that a Headrace worker reports: only the ends, of partitions with a committed offset."""
    from tui.offsets.partitions import key

    bounds = {}
    for partition in partitions:
        at, lag = topic_partition(partition), lags.get(key(partition))
        if at is not None and lag is not None and lag.end is not None:
            bounds[at] = (0, lag.end)
    return Bounds(bounds)


def topics_of(changes: Iterable[OffsetChange]) -> set[str]:
    """Topics of the changed partitions of a sink."""
    return {at[0] for change in changes if (at := topic_partition(change.partition)) is not None}
