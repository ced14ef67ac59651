"""MirrorMaker's connectors in slots, between two clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.kafka.clients import kafka_python
from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.recipes import recipe
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import messages
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_RECORDS = 3_000
_FACTORS = [
    f"{name}.replication.factor" for name in ("offset-syncs.topic", "checkpoints.topic", "heartbeats.topic")
] + ["replication.factor"]


@pytest.fixture
def mirrored(connect: Connect) -> Iterator[Connect]:
    yield connect
    for name in connect.ask("GET", "/connectors"):
        connect.ask("DELETE", f"/connectors/{name}")


def test_topics_and_groups_are_mirrored(mirrored: Connect, broker: KafkaBroker, own_broker: EmbeddedBroker) -> None:
    """Records with headers, then the offsets of a group, translated from one cluster to the other; and heartbeats."""
    topic, alias, group = own_broker.create_topic(unique("orders"), 2), unique("from"), unique("readers")
    _produce(own_broker, topic)
    shared = {
        "source.cluster.alias": alias,
        "target.cluster.alias": "here",
        "source.cluster.bootstrap.servers": own_broker.bootstrap,
        "target.cluster.bootstrap.servers": broker.bootstrap,
    }
    one = {"topics": topic, "groups": group, "tasks.max": "2"} | dict.fromkeys(_FACTORS, "1")
    one |= {"sync.group.offsets.interval.seconds": "1", "emit.checkpoints.interval.seconds": "1"}
    quick = {"refresh.groups.interval.seconds": "1", "emit.heartbeats.interval.seconds": "1"}
    for kind in ("Source", "Heartbeat", "Checkpoint"):
        config = recipe(f"Mirror{kind}Connector", **shared)
        mirrored.create(f"{alias}-{kind}", config | {key: one[key] for key in one.keys() & config.keys()} | quick)
    copy = f"{alias}.{topic}"
    _wait_for_records(broker, copy, _RECORDS)
    found = {(m.partition(), m.offset(), m.key(), m.value()) for m in messages(broker, copy)}
    assert found == {(m.partition(), m.offset(), m.key(), m.value()) for m in messages(own_broker, topic)}
    assert messages(broker, copy)[0].headers() == [("h", b"x")]
    ends = _commit_ends(own_broker, topic, group)
    expected = {(copy, partition): end for partition, end in ends.items()}
    wait_until(lambda: _offsets(broker, group) == expected, 60, "the group's offsets are translated", every=0.5)
    _wait_for_records(broker, "heartbeats", 2)
    _wait_for_records(broker, f"{alias}.checkpoints.internal", 2)
    for kind in ("Source", "Heartbeat", "Checkpoint"):
        states = mirrored.states(f"{alias}-{kind}")
        assert states[0] == "RUNNING" and set(states[1]) == {"RUNNING"}, states


def _produce(broker: KafkaBroker, topic: str) -> None:
    with broker.writing() as write:
        for number in range(_RECORDS):
            write(topic, f"value {number}", f"key {number}", headers=[("h", b"x")])


def _wait_for_records(broker: KafkaBroker, topic: str, records: int) -> None:
    def there() -> bool:
        try:
            return count(broker.bootstrap, topic) >= records
        except KeyError:  # the topic has not been created yet
            return False

    wait_until(there, 60, f"{topic} has {records} records", every=0.3)


def _commit_ends(broker: KafkaBroker, topic: str, group: str) -> dict[int, int]:
    """Commits the ends of all partitions, as a consumer that has read everything; the ends by partition."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    try:
        at = [TopicPartition(topic, number) for number in (0, 1)]
        ends = {one.partition: int(consumer.get_watermark_offsets(one, 10)[1]) for one in at}
        consumer.commit(offsets=[TopicPartition(topic, *item) for item in ends.items()], asynchronous=False)
    finally:
        consumer.close()
    return ends


def _offsets(broker: KafkaBroker, group: str) -> dict[tuple[str, int], int]:
    servers = {"bootstrap.servers": broker.bootstrap}
    return kafka_python.ask(servers, group, kafka_python.committed(group), 20) or {}
