"""KIP-875, sentence by sentence (tests/contract/kips.md), with our worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SINK, STRINGS, Connect
from tests.support.kafka import topics
from tests.support.waiting import wait_until

ALTERED = "The offsets for this connector have been altered successfully"
RESET = "The offsets for this connector have been reset successfully"
MAYBE = "if this connector manages offsets externally, they will need to be manually"
A, B = {"counter": "a"}, {"counter": "b"}


def new_source(connect: Connect, cls: str, **config: str) -> str:
    """The name of a new STOPPED source that has never run."""
    name = unique("src")
    whole = {"connector.class": f"headrace_test_plugins.{cls}", "topic": "t", **STRINGS, **config}
    connect.create(name, whole, initial_state="STOPPED")
    wait_until(lambda: connect.states(name) == ("STOPPED", []))
    return name


def sink(connect: Connect, broker: KafkaBroker, calls: Path) -> tuple[str, str]:
    """The names of a new STOPPED sink that has never run, and of its topic of two partitions."""
    name, topic = unique("snk"), broker.create_topic(partitions=2)
    config = {"connector.class": "headrace_test_plugins.RecordingSinkConnector", "gate": "x", "calls": str(calls)}
    connect.create(name, {**config, "topics": topic, **STRINGS}, initial_state="STOPPED")
    wait_until(lambda: connect.states(name) == ("STOPPED", []))
    return name, topic


def patch(connect: Connect, name: str, *entries: tuple[Any, Any]) -> tuple[int, Any]:
    body = {"offsets": [{"partition": p, "offset": o} for p, o in entries]}
    return connect.request("PATCH", f"/connectors/{name}/offsets", body)


def lines(calls: Path) -> list[Any]:
    return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []


def at(topic: str, partition: int) -> dict[str, Any]:
    return {"kafka_topic": topic, "kafka_partition": partition}


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_requests_fail_with_404_if_the_connector_does_not_exist(connect: Connect, method: str) -> None:
    body = {"offsets": [{"partition": A, "offset": {"n": 1}}]} if method == "PATCH" else None
    status, answer = connect.request(method, "/connectors/nobody/offsets", body)
    assert (status, answer["message"]) == (404, "Connector nobody not found")


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_requests_fail_with_400_if_the_connector_is_not_stopped(connect: Connect, method: str) -> None:
    name = unique("src")
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": unique("t"), **STRINGS}
    connect.create(name, config, initial_state="PAUSED")
    body = {"offsets": [{"partition": A, "offset": {"n": 1}}]} if method == "PATCH" else None
    status, answer = connect.request(method, f"/connectors/{name}/offsets", body)
    assert status == 400
    assert "must be in the STOPPED state" in answer["message"]
    connect.ask("DELETE", f"/connectors/{name}")


def test_requests_are_rejected_while_there_are_tasks(connect: Connect, broker: KafkaBroker) -> None:
    """A stop removes the task configs first. A change waits until the tasks have ended, so that their last commit
    cannot follow the change."""
    name, topic = unique("src"), broker.create_topic()
    partition = {"counter": topic}
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, **STRINGS}
    connect.create(name, config)
    wait_until(lambda: connect.offsets(name), 60)
    assert connect.ask("GET", f"/connectors/{name}/tasks") != []
    assert patch(connect, name, (partition, {"n": -5}))[0] == 400
    connect.put(name, "stop")
    assert connect.ask("GET", f"/connectors/{name}/tasks") == []
    assert patch(connect, name, (partition, {"n": -5}))[0] == 200
    assert connect.states(name) == ("STOPPED", [])
    assert connect.offsets(name) == [{"partition": partition, "offset": {"n": -5}}]
    connect.ask("DELETE", f"/connectors/{name}?offsets=true")


def test_success_has_a_message_and_resets_are_idempotent(connect: Connect, tmp_path: Path) -> None:
    name = new_source(connect, "RecordingSourceConnector", calls=str(tmp_path / "calls"))
    assert patch(connect, name, (A, {"n": 1})) == (200, {"message": ALTERED})
    for _ in range(3):
        assert connect.ask("DELETE", f"/connectors/{name}/offsets") == {"message": RESET}
    assert connect.offsets(name) == []


def test_the_hook_gets_all_partitions_and_null_for_those_that_are_reset(connect: Connect, tmp_path: Path) -> None:
    name = new_source(connect, "RecordingSourceConnector", calls=str(tmp_path / "calls"))
    patch(connect, name, (A, {"n": 1}), (B, {"n": 2}))
    patch(connect, name, (A, None), (B, {"n": 3}))
    connect.ask("DELETE", f"/connectors/{name}/offsets")
    assert lines(tmp_path / "calls") == [
        [[A, {"n": 1}], [B, {"n": 2}]],
        [[A, None], [B, {"n": 3}]],
        [[B, None]],
    ]


def test_the_hook_may_be_called_before_start(connect: Connect, tmp_path: Path) -> None:
    name = new_source(connect, "RecordingSourceConnector", calls=str(tmp_path / "calls"))
    patch(connect, name, (A, {"n": 1}))
    assert lines(tmp_path / "calls") == [[[A, {"n": 1}]]]  # start() was not called


def test_without_the_hook_the_result_is_a_possible_success(connect: Connect) -> None:
    name = new_source(connect, "CountingConnector")
    status, answer = patch(connect, name, (A, {"n": 1}))
    assert status == 200
    assert MAYBE in answer["message"]
    assert MAYBE in connect.ask("DELETE", f"/connectors/{name}/offsets")["message"]
    assert connect.offsets(name) == []


def test_offsets_that_cannot_be_altered_at_all_are_refused(connect: Connect) -> None:
    name = new_source(connect, "FixedOffsetsConnector")
    status, answer = patch(connect, name, (A, {"n": 2}))
    assert status == 400
    assert "does not support altering" in answer["message"]
    assert "these offsets cannot be altered" in answer["message"]
    assert connect.offsets(name) == []


def test_offsets_that_fail_the_connectors_own_validation_are_refused(connect: Connect) -> None:
    name = new_source(connect, "PickyOffsetsConnector")
    status, answer = patch(connect, name, (A, {"n": 2}), (B, {"n": 3}))
    assert (status, answer["message"]) == (400, "only even numbers are accepted")
    assert connect.offsets(name) == []
    assert connect.ask("GET", f"/connectors/{name}/offsets/history") == {"history": []}


def test_tasks_read_the_altered_offsets(connect: Connect, broker: KafkaBroker, topic: str) -> None:
    name = new_source(connect, "CountingConnector", topic=topic)
    patch(connect, name, ({"counter": topic}, {"n": 41}))
    connect.put(name, "resume")
    assert topics.values(broker.bootstrap, topic, 2) == [b"41", b"42"]
    connect.ask("DELETE", f"/connectors/{name}?offsets=true")


def test_the_hook_of_a_sink_gets_topic_partitions(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    name, topic = sink(connect, broker, tmp_path / "calls")
    assert patch(connect, name, (at(topic, 0), {"kafka_offset": 4}), (at(topic, 1), {"kafka_offset": "5"}))[0] == 200
    assert patch(connect, name, (at(topic, 0), None))[0] == 200
    connect.ask("DELETE", f"/connectors/{name}/offsets")
    assert lines(tmp_path / "calls") == [[[topic, 0, 4], [topic, 1, 5]], [[topic, 0, None]], [[topic, 1, None]]]


def test_altered_offsets_of_a_sink_are_in_its_consumer_group(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    from confluent_kafka import Consumer, TopicPartition

    name, topic = sink(connect, broker, tmp_path / "calls")
    patch(connect, name, (at(topic, 0), {"kafka_offset": 4}), (at(topic, 1), {"kafka_offset": 5}))
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"connect-{name}", "log_level": 0})
    committed = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=30)
    consumer.close()
    assert [p.offset for p in committed] == [4, 5]


def test_an_offset_out_of_range_for_the_external_system_is_refused(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name, topic = sink(connect, broker, tmp_path / "calls")
    status, answer = patch(connect, name, (at(topic, 0), {"kafka_offset": 4}), (at(topic, 1), {"kafka_offset": 101}))
    assert (status, answer["message"]) == (400, "no more than 100")
    assert connect.offsets(name) == []


def test_offsets_of_a_sink_that_never_ran_can_be_reset(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    name, topic = unique("snk"), broker.create_topic()
    config = {"connector.class": SINK, "file": str(tmp_path / "out"), "topics": topic, **STRINGS}
    connect.create(name, config, initial_state="STOPPED")
    assert connect.offsets(name) == []
    status, answer = patch(connect, name, (at(topic, 0), {"kafka_offset": 7}))
    assert status == 200, answer
    for _ in range(2):
        assert "reset successfully" in connect.ask("DELETE", f"/connectors/{name}/offsets")["message"]
    assert connect.offsets(name) == []


@pytest.mark.parametrize("offset", [{"kafka_offset": 1}, None])
def test_partitions_that_do_not_exist_are_refused_and_nothing_is_changed(
    connect: Connect, broker: KafkaBroker, tmp_path: Path, offset: dict[str, int] | None
) -> None:
    name, topic = sink(connect, broker, tmp_path / "calls")
    assert patch(connect, name, (at(topic, 0), {"kafka_offset": 4}))[0] == 200
    for partition in (at(topic, 2), at(unique("nowhere"), 0), at("no topic's name", 0)):
        status, answer = patch(connect, name, (at(topic, 0), {"kafka_offset": 5}), (partition, offset))
        assert (status, "no such topic or partition" in answer["message"]) == (400, True), answer
    assert connect.offsets(name) == [{"partition": at(topic, 0), "offset": {"kafka_offset": 4}}]


def test_only_the_last_entry_for_a_partition_counts(connect: Connect, tmp_path: Path) -> None:
    """Earlier entries are not even validated."""
    name = new_source(connect, "PickyOffsetsConnector")
    assert patch(connect, name, (A, {"n": 3}), (A, {"n": 4}))[0] == 200
    assert connect.offsets(name) == [{"partition": A, "offset": {"n": 4}}]
    assert patch(connect, name, (A, {"n": 6}), (A, {"n": 5}))[0] == 400


def test_a_reset_of_single_partitions_fails_if_the_group_does_not_exist(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    """As with Apache's workers: DELETE may be repeated, single partitions need a group."""
    name, topic = sink(connect, broker, tmp_path / "calls")
    status, answer = patch(connect, name, (at(topic, 0), None))
    assert (status, "does not exist, so there are no offsets to reset" in answer["message"]) == (400, True)
    assert patch(connect, name, (at(topic, 0), None), (at(topic, 1), {"kafka_offset": 1}))[0] == 200
    assert patch(connect, name, (at(topic, 0), None))[0] == 200
    assert connect.offsets(name) == [{"partition": at(topic, 1), "offset": {"kafka_offset": 1}}]
