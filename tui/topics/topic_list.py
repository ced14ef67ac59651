"""The topics of a cluster with their partitions and offsets, from the brokers. Requests block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tui.offsets.brokers import Brokers, TopicPartition

OFFSETS_AT_ONCE = 2_000  # partitions whose offsets one request asks for


class TopicSummary(NamedTuple):
    """A topic; the offsets are by partition, empty until they have been read."""

    name: str
    partitions: tuple[int, ...]
    earliest: Mapping[int, int] = {}
    latest: Mapping[int, int] = {}

    @property
    def is_internal(self) -> bool:
        """Whether its name marks it as internal, as that of `__consumer_offsets`."""
        return self.name.startswith("_")

    @property
    def is_read(self) -> bool:
        return bool(self.latest)

    @property
    def records(self) -> int:
        """Records between the earliest and latest offsets; compaction and transactions leave fewer."""
        return sum(self.latest[number] - self.earliest[number] for number in self.latest)


def topics(brokers: Brokers, wanted: Callable[[str], bool]) -> dict[str, TopicSummary]:
    """The topics that `wanted` accepts, by name, without their offsets. Raises HeadraceError."""
    partitions_by_topic: dict[str, list[int]] = {}
    for topic, number in brokers.partitions(wanted):
        partitions_by_topic.setdefault(topic, []).append(number)
    return {name: TopicSummary(name, tuple(numbers)) for name, numbers in sorted(partitions_by_topic.items())}


def with_offsets(brokers: Brokers, topics: Iterable[TopicSummary]) -> dict[str, TopicSummary]:
    """The topics with the first and last offsets of their partitions, by name. Raises HeadraceError."""
    chosen = list(topics)
    places = [(topic.name, number) for topic in chosen for number in topic.partitions]
    earliest, latest = dict[TopicPartition, int](), dict[TopicPartition, int]()
    for at in range(0, len(places), OFFSETS_AT_ONCE):
        part = places[at : at + OFFSETS_AT_ONCE]
        earliest |= brokers.beginnings(part)
        latest |= brokers.ends(part)

    def of(topic: TopicSummary, offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
        return {number: offsets[topic.name, number] for number in topic.partitions}

    return {topic.name: topic._replace(earliest=of(topic, earliest), latest=of(topic, latest)) for topic in chosen}
