"""Offsets are not committed for a topic that was created again."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from runtime.model.task_errors import TaskLostError
from runtime.pipeline.sink.assigned_topics import TopicIds, without_note
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


@pytest.mark.parametrize(
    ("committed_for", "now", "deleted"),
    [
        ("one/a", "one/b", True),
        ("one/a", "one/a", False),
        ("one/a", "other/b", False),  # copied to another cluster with its metadata
        ("one/a", None, False),  # the brokers do not respond
        ("one/AAAAAAAAAAAAAAAAAAAAAA", "one/b", False),  # brokers were upgraded to 2.8
        ("one/a", "one/AAAAAAAAAAAAAAAAAAAAAA", False),  # a broker before 2.8 responds
    ],
)
def test_a_commit_notes_the_topic_that_it_is_for(committed_for: str, now: str | None, deleted: bool) -> None:
    ids, later = TopicIds(lambda topics: {"t": committed_for}), TopicIds(lambda topics: {"t": now} if now else {})
    ids.assigned(["t"])
    later.assigned(["t"])
    note = ids.note("t")
    assert later.is_of_deleted("t", note) is deleted
    assert without_note(note) == ""
    assert not later.is_of_deleted("t", "of the task")
    assert without_note("of the task") == "of the task"
    if now is None:
        assert later.changed({"t": "one/b"}) == {"t"}, "the next check notices it"


def test_offsets_do_not_tell_ids_of_a_cluster_that_does_not_respond() -> None:
    ids = TopicIds(lambda topics: {})
    assert not ids.is_of_deleted("copied", "headrace.topic=one/a")
    assert ids.changed({"copied": "other/b"}) == set(), "copied to another cluster with its metadata"
    assert ids.note("copied") == "headrace.topic=other/b"
    assert ids.changed({"copied": "other/c"}) == {"copied"}
    assert not ids.is_of_deleted("t", "headrace.topic=one/a")
    assert not ids.is_of_deleted("t", "headrace.topic=one/b"), "of another partition: which one is deleted is unknown"


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
