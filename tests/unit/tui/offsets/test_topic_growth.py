"""The growth of topics as the throughput of sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.unit.tui.screens.builders import connector
from tests.unit.tui.scripted import Scripted
from tui.client.client import Connect
from tui.errors import HeadraceError, Refused
from tui.offsets.brokers import Brokers, TopicPartition
from tui.offsets.topic_growth import PARTITIONS_INTERVAL, TopicGrowth
from tui.screens.services.source_topics import MAX_REQUESTS, OTHERS_INTERVAL, SourceTopics


class Topics(Brokers):
    """Brokers with these end offsets, which count requests."""

    def __init__(self, **ends: list[int]) -> None:
        super().__init__("", {})
        self.topics, self.requests = ends, 0

    def partitions(self, wanted: Callable[[str], bool]) -> list[TopicPartition]:
        self.requests += 1
        return [(name, number) for name, ends in self.topics.items() if wanted(name) for number in range(len(ends))]

    def ends_or_errors(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int | HeadraceError]:
        self.requests += 1
        return {(topic, number): self.topics[topic][number] for topic, number in places}


def test_only_growth_between_two_samples_counts() -> None:
    now = 1000.0
    growth, brokers = TopicGrowth(lambda: now), Topics(a=[500, 7], b=[10], other=[3])
    wanted = {"one": ("a",), "two": ("b", "gone")}
    assert growth.sample(brokers, wanted) == {"one": 0, "two": 0}
    brokers.topics |= {"a": [520, 8], "b": [11]}
    assert growth.sample(brokers, wanted) == {"one": 21, "two": 1}
    assert brokers.requests == 3, "the partitions are known; one request for all end offsets"
    now += PARTITIONS_INTERVAL
    brokers.topics |= {"a": [520, 9, 4000], "b": [0]}
    assert growth.sample(brokers, wanted) == {"one": 22, "two": 1}, "a new partition, and a topic created again"


async def test_topics_of_sources_are_requested_a_few_at_a_time_and_shared_ones_are_left_out() -> None:
    now = 1000.0
    sources = [connector(f"s{number}", topic=f"t{number // 2}") for number in range(6)]
    transport = Scripted(Refused("Topic tracking is disabled.", 403))
    topics = SourceTopics(Connect(transport), lambda: now)
    await topics.refresh(sources, ["s5"])
    assert transport.calls[0].path == "/connectors/s5/topics" and len(transport.calls) == MAX_REQUESTS
    await topics.refresh(sources, [])
    assert topics.own() == {}, "each topic is written by two sources"
    await topics.refresh(sources[1:], [])
    assert topics.own() == {"s1": ("t0",)} and len(transport.calls) == len(sources)
    now += OTHERS_INTERVAL
    transport.answers = [{"s1": {"topics": ["t0", "x"]}}]
    await topics.refresh(sources[1:2], [])
    assert topics.own() == {"s1": ("t0", "x")}
