"""Offsets are not committed for a topic that was created again."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from runtime.model.task_errors import TaskLostError
from runtime.pipeline.sink.topic_lists import TopicIds
from runtime.pipeline.topic_ids import identity, slot_topic_ids
from tests.support.broker import KafkaBroker


class Cluster:
    """Answers with ids of the test."""

    def __init__(self) -> None:
        self.ids = {"a": "1", "b": "2"}
        self.asked: list[set[str]] = []

    def __call__(self, topics: Collection[str]) -> dict[str, str]:
        self.asked.append(set(topics))
        return {topic: found for topic, found in self.ids.items() if topic in topics}


def test_offsets_of_another_topic_of_the_same_name_end_the_task() -> None:
    cluster = Cluster()
    ids = TopicIds(cluster)
    ids.assigned(["a", "b"])
    ids.assigned(["a"])  # another partition
    assert cluster.asked == [{"a", "b"}]
    assert ids.may_commit(["a", "b"])
    cluster.ids["b"] = "3"
    assert ids.may_commit(["a"])
    with pytest.raises(TaskLostError, match="topic b was deleted and created again"):
        ids.may_commit(["a", "b"])
    ids.keep(["a"])
    ids.assigned(["b"])
    assert ids.may_commit(["a", "b"])


def test_nothing_is_committed_while_the_id_is_not_known() -> None:
    cluster = Cluster()
    ids = TopicIds(cluster)
    ids.assigned(["a"])
    del cluster.ids["a"]
    assert not ids.may_commit(["a"])
    cluster.ids["a"] = "1"
    assert ids.may_commit(["a"])


def test_requests_for_ids_authenticate_as_the_consumer() -> None:
    login = {
        "bootstrap.servers": "b:1",
        "sasl.mechanism": "OAUTHBEARER",
        "headrace.oauth": "{}",
        "headrace.login": "worker.",
    }
    assert identity({**login, "group.id": "g", "fetch.min.bytes": 1})[1] == login


def test_ids_come_from_the_brokers(broker: KafkaBroker, topic: str) -> None:
    ask = slot_topic_ids.asker({"bootstrap.servers": broker.bootstrap, "group.id": "not used"}, patient=True)
    found = ask([topic, "missing"])
    assert list(found) == [topic]
    assert ask([topic]) == found
