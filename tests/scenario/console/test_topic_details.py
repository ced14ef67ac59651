"""The details of a topic on a real broker, and `describe topic` with Apache's worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters import rest
from tests.support.connect import STRINGS
from tests.support.console.script_console import Console
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess
from tui.errors import NotFound
from tui.model import Connector
from tui.offsets.brokers import Brokers
from tui.topics import topic_details
from tui.topics.topic_details import TopicConfig, TopicInspector


def create(broker: KafkaBroker, partitions: int, **config: str) -> str:
    """A topic with configurations, whose names have `_` for `.`."""
    topic, admin = unique("topic"), AdminClient({"bootstrap.servers": broker.bootstrap})
    new = NewTopic(topic, partitions, 1, config={name.replace("_", "."): value for name, value in config.items()})
    admin.create_topics([new])[topic].result(30)
    return topic


def produce(broker: KafkaBroker, topic: str, partition: int, count: int) -> None:
    broker.produce(topic, *(f"value {number}" for number in range(count)), partition=partition)


def commit(broker: KafkaBroker, group: str, topic: str, **offsets: int) -> None:
    """Commits offsets by partition, as p0=3."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    at = [TopicPartition(topic, int(name[1:]), offset) for name, offset in offsets.items()]
    consumer.commit(offsets=at, asynchronous=False)
    consumer.close()


def test_details_of_a_topic(broker: KafkaBroker) -> None:
    topic = create(broker, 2, retention_ms="3600000", cleanup_policy="delete")
    produce(broker, topic, 0, 10)
    produce(broker, topic, 1, 4)
    reader, other, sink = unique("reader"), unique("other"), unique("sink")
    commit(broker, reader, topic, p0=3, p1=4)
    commit(broker, other, broker.create_topic(), p0=0)
    inspector = TopicInspector(Brokers(broker.bootstrap, {}), topic)
    details = inspector.details([Connector(sink, "sink", "RUNNING", config={"topics": topic})])
    assert details.summary.latest == {0: 10, 1: 4} and details.summary.records == 14 and not details.degraded
    assert [(each.partition, len(each.replicas), len(each.in_sync)) for each in details.replicas] == [
        (0, 1, 1),
        (1, 1, 1),
    ]
    of_topic = [config for config in details.configs if config.source == "topic"]
    assert TopicConfig("retention.ms", "3600000", of_topic[-1].default, "topic") in of_topic
    assert all(config.source != "other" for config in details.configs), details.configs
    groups = {group.name: group for group in details.groups}
    assert next(iter(groups)) == f"connect-{sink}", "those of sinks first, also without offsets"
    assert other not in groups, "a group without offsets in the topic"
    assert groups[reader].lag(details.summary.latest) == 7 and groups[reader].state == "Empty"
    assert groups[f"connect-{sink}"].sinks == (sink,) and groups[f"connect-{sink}"].lag(details.summary.latest) is None
    produce(broker, topic, 1, 6)
    commit(broker, reader, topic, p0=10)
    later = inspector.with_progress(details)
    assert later.summary.latest == {0: 10, 1: 10}
    assert {group.name: group.lag(later.summary.latest) for group in later.groups}[reader] == 6


def test_an_unknown_topic_is_not_created(broker: KafkaBroker) -> None:
    missing, brokers = unique("missing"), Brokers(broker.bootstrap, {})
    with pytest.raises(NotFound, match="does not exist"):
        TopicInspector(brokers, missing).details([])
    assert not brokers.partitions(missing.__eq__)


def test_the_number_of_groups_is_limited(broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = create(broker, 1)
    first, second = sorted((unique("zz"), unique("zz")))
    commit(broker, first, topic, p0=0)
    commit(broker, second, topic, p0=0)
    monkeypatch.setattr(topic_details, "MAX_GROUPS", 1)
    sink = Connector("sink", "sink", "RUNNING", config={"topics": topic, "consumer.override.group.id": second})
    details = TopicInspector(Brokers(broker.bootstrap, {}), topic).details([sink])
    assert [group.name for group in details.groups] == [second]
    assert details.notes and details.notes[0].startswith("the offsets of 1 group of "), details.notes


def test_describe_topic(java_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path) -> None:
    topic = create(broker, 2, retention_ms="3600000")
    produce(broker, topic, 0, 10)
    name = unique("sink")
    config = {**STRINGS, "connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": topic}
    rest.settled_request(java_connect.url + "/connectors", "POST", {"name": name, "config": config})
    contexts = tmp_path / "headrace" / "contexts.toml"
    contexts.parent.mkdir()
    contexts.write_text(
        f'[contexts.here]\nurl = "{java_connect.url}"\nbootstrap-servers = "{broker.bootstrap}"\n'
        f'[contexts.blind]\nurl = "{java_connect.url}"\n'
    )
    console = Console("--context=here", tmp_path)
    try:

        def described() -> dict[str, object]:
            found: dict[str, object] = console(f"describe topic {topic} --for 200ms -o json").json
            return found

        def lag() -> object:
            groups = described()["groups"]
            assert isinstance(groups, list)
            return [group["lag"] for group in groups if group["connectors"] == [name]]

        wait_until(lambda: lag() == [0], 90, "the sink's offsets", every=0.5)
        found = described()
        assert found["connectors"] == [{"name": name, "role": "read"}] and found["records"] == 10
        assert found["records_per_second"] == 0.0
        text = console(f"describe topic {topic} --for 0s").out
        assert f"connect-{name}" in text and "retention.ms" in text and "PARTITION  EARLIEST" in text
        assert "growth" not in text
    finally:
        rest.settled_request(java_connect.url + f"/connectors/{name}", "DELETE")
    assert "does not exist" in console(f"describe topic {unique('none')}", code=3).err
    assert "bootstrap" in Console("--context=blind", tmp_path)(f"describe topic {topic}", code=1).err
