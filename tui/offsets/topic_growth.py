"""Records written by sources whose worker does not report them: the growth of their topics, from the brokers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from tui.errors import HeadraceError
from tui.offsets.brokers import Brokers, TopicPartition

MAX_PARTITIONS = 2_000  # of one request for end offsets
PARTITIONS_INTERVAL = 60.0  # seconds between two requests for the partitions of the topics


class _Growth(NamedTuple):
    """The end offsets of a source's topics, and the records counted so far."""

    ends: Mapping[TopicPartition, int] = {}
    written: int = 0

    def until(self, ends: Mapping[TopicPartition, int]) -> _Growth:
        """A partition that was not there before, or whose topic was created again, has not grown yet."""
        grown = sum(max(0, end - self.ends.get(at, end)) for at, end in ends.items())
        return _Growth(ends, self.written + grown)


class TopicGrowth:
    """Counts records by the end offsets of topics: records of other producers and markers of transactions count too."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._partitions: dict[str, list[int]] = {}
        self._read_at = 0.0
        self._sources: dict[str, _Growth] = {}

    def sample(self, brokers: Brokers, topics: Mapping[str, Collection[str]]) -> dict[str, int | HeadraceError]:
        """The records written since the first sample, or the error of one of its topics, by the name of the source;
        `topics` has the topics of each. One request reads all end offsets; sources beyond MAX_PARTITIONS are left out.
        Blocks. Raises HeadraceError if the partitions cannot be read."""
        self._read_partitions(
            brokers, {topic for topics_of_connector in topics.values() for topic in topics_of_connector}
        )
        places: dict[str, list[TopicPartition]] = {}
        count = 0
        for source, topics_of_connector in topics.items():
            own = [(topic, number) for topic in topics_of_connector for number in self._partitions.get(topic, ())]
            if own and count + len(own) <= MAX_PARTITIONS:
                places[source] = own
                count += len(own)
        ends = brokers.ends_or_errors([at for own in places.values() for at in own])
        return {source: self._grown(source, {at: ends[at] for at in own}) for source, own in places.items()}

    def _grown(self, source: str, responses: Mapping[TopicPartition, int | HeadraceError]) -> int | HeadraceError:
        ends = {}
        for at, end in responses.items():
            if isinstance(end, HeadraceError):
                return end
            ends[at] = end
        self._sources[source] = self._sources.get(source, _Growth()).until(ends)
        return self._sources[source].written

    def _read_partitions(self, brokers: Brokers, wanted: set[str]) -> None:
        if self._clock() - self._read_at < PARTITIONS_INTERVAL and self._partitions.keys() >= wanted:
            return
        numbers_by_topic: dict[str, list[int]] = {topic: [] for topic in {*wanted, *self._partitions}}
        for topic, number in brokers.partitions(lambda name: name in numbers_by_topic):
            numbers_by_topic[topic].append(number)
        self._partitions, self._read_at = numbers_by_topic, self._clock()

    def forget(self, existing: Collection[str]) -> None:
        """Forgets sources that no longer exist."""
        self._sources = {name: growth for name, growth in self._sources.items() if name in existing}
