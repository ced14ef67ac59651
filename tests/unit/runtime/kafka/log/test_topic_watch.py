"""Detection of a lost storage topic: by its id, and not after a single unusual answer."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from runtime.kafka.log.log import TopicSpec
from runtime.kafka.log.topic_watch import TopicWatch, _degraded

GONE = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
DENIED = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
AWAY = KafkaException(KafkaError(KafkaError._TIMED_OUT))


def watch_after(*answers: Any) -> TopicWatch:
    """The watch after these answers; a string is a topic id. After a request without an answer the client has to learn
    which brokers are alive."""
    left, now = list(answers), 0.0

    class Admin:
        refreshed = 0

        def list_topics(self, topic: str, timeout: float) -> None:
            self.refreshed += 1

        def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
            future: Future[Any] = Future()
            answer = left.pop(0)
            if isinstance(answer, str):
                partition = SimpleNamespace(id=0, replicas=[1, 2], isr=[1])
                future.set_result(SimpleNamespace(topic_id=answer, partitions=[partition]))
            else:
                future.set_exception(answer)
            return {"t": future}

    admin = Admin()
    watch = TopicWatch(admin, {"sasl.username": "me"}, [TopicSpec("t", 1, 1, "config.storage")], lambda: now)
    while left:
        now += 10
        watch.check()
    now = 0.0
    watch.check()
    assert admin.refreshed == answers.count(AWAY)
    return watch


def lost_after(*answers: Any) -> tuple[str, str]:
    """The lost topic and the missing right after these answers."""
    watch = watch_after(*answers)
    return watch.lost, watch.denied


def test_a_topic_with_the_same_id_is_unchanged() -> None:
    assert lost_after("id", "id", AWAY, "id", GONE, "id", GONE, "id") == ("", "")


def test_another_id_is_another_topic() -> None:
    assert "t was deleted and created again" in lost_after("id", "other")[0]


def test_a_topic_is_lost_when_it_is_missing_twice() -> None:
    assert "storage topic t was deleted while" in lost_after("id", GONE, GONE)[0]


def test_a_revoked_right_is_not_a_lost_topic() -> None:
    assert lost_after("id", DENIED, DENIED) == (
        "",
        "User:me is not authorized to DESCRIBE topic t: grant DESCRIBE on topic t",
    )
    assert lost_after("id", DENIED, "id") == ("", "")


def test_the_partition_with_the_fewest_replicas_in_sync_is_named() -> None:
    in_sync = [[1, 2, 3], [1, 2], [1], [1, 2]]
    partitions = [SimpleNamespace(id=number, replicas=[1, 2, 3], isr=isr) for number, isr in enumerate(in_sync)]
    assert _degraded(partitions) == "1 of 3 replicas of partition 2 are in sync"
    assert _degraded(partitions[:1]) == _degraded([]) == ""


def test_replicas_are_not_known_while_brokers_do_not_respond() -> None:
    assert watch_after("id").degraded == {"t": "1 of 2 replicas of partition 0 are in sync"}
    assert watch_after("id", AWAY).degraded == {}
