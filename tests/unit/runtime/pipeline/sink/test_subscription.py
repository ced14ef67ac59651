"""Topics of sinks: their requests to the cluster, shared and separate."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from runtime.pipeline.sink.subscription import Subscription
from runtime.pipeline.sink.topic_lists import TopicLists
from tests.support.clock import Clock


class Metadata:
    def __init__(self, *topics: str) -> None:
        self.topics = dict.fromkeys(topics, self)
        self.error = None


class Cluster:
    """Records the requests of consumers and their subscriptions."""

    def __init__(self, *topics: str) -> None:
        self.topics = list(topics)
        self.all_asked = self.one_asked = self.ids_asked = 0
        self.away = False
        self.subscribed: list[list[str]] = []
        self.creations: dict[str, int] = {}
        self.checked: list[Mapping[str, str | None]] = []

    def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
        if self.away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        if topic is not None:
            self.one_asked += 1
            return Metadata(*([topic] if topic in self.topics else []))
        self.all_asked += 1
        return Metadata(*self.topics)

    def subscribe(self, topics: list[str], **callbacks: object) -> None:
        self.subscribed.append(topics)

    def ids(self, settings: object, topics: Collection[str]) -> dict[str, str | None] | None:
        self.ids_asked += 1
        ids = {topic: f"id {self.creations.get(topic, 1)}" if topic in self.topics else None for topic in topics}
        return None if self.away else ids

    def unsubscribe(self) -> None:
        self.subscribed.append([])


def sinks(
    number: int,
    cluster: Any,
    clock: Clock,
    regex: str = "",
    *named: str,
    lists: TopicLists | None = None,
    **settings: Any,
) -> list[Any]:
    whom = {"bootstrap.servers": "here", **{name.replace("_", "."): value for name, value in settings.items()}}
    lists = lists or TopicLists(clock)
    return [
        Subscription(
            cluster,
            {**whom, "group.id": f"g{n}"},
            named,
            regex,
            {},
            cluster.checked.append,
            lists,
            cluster.ids,
            clock,
        )
        for n in range(number)
    ]


def run(tasks: list[Subscription], clock: Clock, seconds: int) -> None:
    for _ in range(seconds * 2):
        for task in tasks:
            task.update()
        clock.now += 0.5


def test_sinks_of_a_slot_share_infrequent_requests_for_all_topics() -> None:
    clock, cluster = Clock(1000.0), Cluster("a-1", "b")
    tasks = sinks(100, cluster, clock, "a-.*")
    run(tasks, clock, 120)
    assert cluster.all_asked <= 6
    assert cluster.subscribed == [["a-1"]] * 100
    cluster.topics.append("a-2")
    run(tasks, clock, 32)
    assert cluster.subscribed[100:] == [["a-1", "a-2"]] * 100


def test_a_pattern_is_applied_at_the_interval_of_metadata_max_age() -> None:
    clock, cluster = Clock(1000.0), Cluster("a-1")
    tasks = sinks(3, cluster, clock, "a-.*", metadata_max_age_ms=300_000)
    run(tasks, clock, 299)
    assert cluster.all_asked == 1
    cluster.topics.append("a-2")
    run(tasks, clock, 5)
    assert cluster.all_asked == 2 and cluster.subscribed[3:] == [["a-1", "a-2"]] * 3


def test_a_pattern_that_matches_nothing_yet_is_applied_more_often() -> None:
    clock, cluster = Clock(1000.0), Cluster("b")
    tasks = sinks(2, cluster, clock, "a-.*")
    run(tasks, clock, 60)
    assert 10 <= cluster.all_asked <= 13
    cluster.topics.append("a-1")
    run(tasks, clock, 7)
    assert cluster.subscribed[-2:] == [["a-1"]] * 2


def test_a_missing_named_topic_is_requested_alone() -> None:
    clock, cluster = Clock(1000.0), Cluster("x")
    (task,) = sinks(1, cluster, clock, "", "x", "y")
    run([task], clock, 60)
    assert cluster.all_asked == 1 and 55 <= cluster.one_asked <= 65
    cluster.topics.append("y")
    run([task], clock, 2)
    assert cluster.subscribed == [["x", "y"]] * 2
    asked = cluster.one_asked
    run([task], clock, 60)
    assert (cluster.all_asked, cluster.one_asked) == (1, asked)


def test_a_topic_that_is_newer_than_the_list_is_subscribed_to_once() -> None:
    clock, cluster = Clock(1000.0), Cluster("x")
    lists = TopicLists(clock)
    sinks(1, cluster, clock, "", "x", lists=lists)[0].update()
    cluster.topics.append("y")
    run(sinks(1, cluster, clock, "", "y", lists=lists), clock, 3)
    assert cluster.all_asked == 1 and cluster.subscribed == [["x"], ["y"]]


def test_a_deleted_topic_is_left_and_read_again_when_it_is_created_again() -> None:
    clock, cluster = Clock(), Cluster("x", "y")
    (task,) = sinks(1, cluster, clock, "", "x", "y")
    run([task], clock, 60)
    assert cluster.subscribed == [["x", "y"]] and 10 <= cluster.ids_asked <= 12
    cluster.away = True
    run([task], clock, 35)
    assert cluster.subscribed == [["x", "y"]], "a cluster that does not respond has deleted nothing"
    cluster.away = False
    cluster.topics.remove("y")
    run([task], clock, 32)
    assert cluster.subscribed[1:] == [["x"]]
    cluster.topics.remove("x")
    run([task], clock, 6)
    assert cluster.subscribed[2:] == [[]]
    cluster.topics += ["x", "y"]
    run([task], clock, 2)
    assert cluster.subscribed[3:] == [["x", "y"]]


@pytest.mark.parametrize("regex, named", [("", ["x", "y"]), ("x|y", [])])
def test_the_ids_of_topics_are_reported_of_which_one_was_created_again(regex: str, named: list[str]) -> None:
    clock, cluster = Clock(1000.0), Cluster("x", "y")
    (task,) = sinks(1, cluster, clock, regex, *named)
    run([task], clock, 60)
    cluster.creations["y"] = 2
    run([task], clock, 60)
    assert cluster.checked[0] == {"x": "id 1", "y": "id 1"} and cluster.checked[-1] == {"x": "id 1", "y": "id 2"}
    assert cluster.subscribed == [["x", "y"]]


def test_named_topics_are_subscribed_to_while_the_cluster_is_silent() -> None:
    clock, cluster = Clock(1000.0), Cluster("x")
    cluster.away = True
    tasks = sinks(2, cluster, clock, "", "x")
    run(tasks, clock, 3)
    assert cluster.subscribed == [["x"]] * 2
    cluster.away = False
    run(tasks, clock, 7)
    assert cluster.one_asked == 2


def test_users_with_different_rights_do_not_share_a_list() -> None:
    lists, mine, other = TopicLists(), Cluster("mine"), Cluster("other")
    clusters: list[Any] = [mine, other]
    whom = [{"bootstrap.servers": "here", "sasl.username": name} for name in ("me", "you")]
    found = [lists.names(cluster, settings, 60) for cluster, settings in zip(clusters, whom, strict=True)]
    assert found == [frozenset({"mine"}), frozenset({"other"})]


def test_sinks_that_start_at_once_share_one_request() -> None:
    lists, answer = TopicLists(), threading.Event()
    found: list[frozenset[str] | None] = []

    class Slow(Cluster):
        def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
            answer.wait(10)
            return super().list_topics(topic, timeout)

    cluster: Any = Slow("a")

    def ask() -> None:
        found.append(lists.names(cluster, {"bootstrap.servers": "here"}, 1.0))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    answer.set()
    for thread in threads:
        thread.join(10)
    assert found == [frozenset({"a"})] * 8 and cluster.all_asked == 1
