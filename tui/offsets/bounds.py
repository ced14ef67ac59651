"""Where topics begin and end, to say what a typed offset of a sink would come to; what lies beyond is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tui.offsets.brokers import Brokers, TopicPartition
from tui.offsets.changes import OffsetChange
from tui.offsets.lag import Lag

Json = Any
RESET = "a consumer there starts by auto.offset.reset"


class Bounds(NamedTuple):
    """`places` have a beginning and an end; of `topics` all partitions are known."""

    places: Mapping[TopicPartition, tuple[int, int]] = {}
    topics: frozenset[str] = frozenset()

    def remark(self, partition: Json, offset: Json) -> str:
        """What is odd about it; nothing where it lies within its topic, or nobody knows."""
        at, goal = topic_partition(partition), sink_position(offset)
        if at is None or goal is None:
            return ""
        if at not in self.places:
            return self._unknown(at)
        begin, end = self.places[at]
        if goal > end:
            return f"past the end {end:,}: {RESET}"
        return f"before the beginning {begin:,}: {RESET}" if goal < begin else ""

    def _unknown(self, at: TopicPartition) -> str:
        topic, number = at
        if topic not in self.topics:
            return ""
        has_any = any(known == topic for known, _ in self.places)
        return f"the topic {topic} has no partition {number}" if has_any else f"the brokers have no topic {topic}"

    def remarked(self, made: Iterable[OffsetChange]) -> tuple[OffsetChange, ...]:
        return tuple(
            replace(change, remark=self.remark(change.partition, change.after) or change.remark) for change in made
        )


NO_BOUNDS = Bounds()


def topic_partition(partition: Json) -> TopicPartition | None:
    """None for what is no partition of a topic."""
    try:
        return str(partition["kafka_topic"]), int(partition["kafka_partition"])
    except (KeyError, TypeError, ValueError):
        return None


def sink_position(offset: Json) -> int | None:
    try:
        return int(offset["kafka_offset"])
    except (KeyError, TypeError, ValueError):
        return None


def is_negative(offset: Json) -> bool:
    """A sink's offset that no broker takes."""
    return (found := sink_position(offset)) is not None and found < 0


def of_brokers(topics: Iterable[str], brokers: Brokers) -> Bounds:
    """Blocks; HeadraceError where they cannot be asked."""
    wanted = frozenset(topics)
    if not wanted:
        return NO_BOUNDS
    there = brokers.partitions(lambda topic: topic in wanted)
    begins, ends = brokers.beginnings(there), brokers.ends(there)
    return Bounds({at: (begins[at], ends[at]) for at in there}, wanted)


def of_lags(partitions: Sequence[Json], lags: Mapping[str, Lag]) -> Bounds:
    """Where only the worker tells: the ends of what it has committed."""
    from tui.offsets.partitions import key

    found = {}
    for partition in partitions:
        at, lag = topic_partition(partition), lags.get(key(partition))
        if at is not None and lag is not None and lag.end is not None:
            found[at] = (0, lag.end)
    return Bounds(found)


def topics_of(made: Iterable[OffsetChange]) -> set[str]:
    return {at[0] for change in made if (at := topic_partition(change.partition)) is not None}
