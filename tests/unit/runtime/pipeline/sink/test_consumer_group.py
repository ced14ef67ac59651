"""The metadata of a consumer's group, as librdkafka serializes it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.pipeline.sink.consumer_group import ConsumerGroup, GroupMetadata, read_metadata
from runtime.pipeline.sink.sink_context import SinkContext
from tests.support.broker import KafkaBroker, unique
from tests.support.waiting import wait_until


@pytest.mark.parametrize("instance", [None, "instance-1"])
def test_the_client_s_format_is_read(instance: str | None) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": "127.0.0.1:1", "group.id": "connect-sink", "log_level": 0}
    consumer = Consumer(settings | ({"group.instance.id": instance} if instance else {}))
    assert ConsumerGroup(consumer, settings, SinkContext({}).position).metadata() == GroupMetadata(
        "connect-sink", -1, "", instance
    )
    consumer.close()


def test_a_member_with_its_generation() -> None:
    data = b"CGMDv2:" + (7).to_bytes(4, "little") + b"group\0member-1\0\1"
    assert read_metadata(data) == GroupMetadata("group", 7, "member-1", None)


def test_another_format_is_refused() -> None:
    with pytest.raises(ConnectError, match="another format of group metadata"):
        read_metadata(b"CGMDv3:what")


def test_other_threads_get_offsets_and_membership_while_the_task_polls_or_revokes(broker: KafkaBroker) -> None:
    """confluent-kafka would let their calls wait for the end of the task's own."""
    topic, answers = broker.create_topic(partitions=2), list[Any]()
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": unique("sink"), "auto.offset.reset": "earliest"}
    client = Consumer({**settings, "enable.auto.commit": False})
    group = ConsumerGroup(client, settings, SinkContext({}).position)
    partition = TopicPartition(topic, 0)

    def ask() -> None:
        with ThreadPoolExecutor() as pool:
            answers.append(pool.submit(group.committed, [partition]).result(20)[partition])
            answers.append(pool.submit(group.metadata).result(20).generation)

    def assigned(consumer: Consumer, partitions: object) -> None:
        group.update()

    client.subscribe([topic], on_assign=assigned, on_revoke=lambda consumer, partitions: ask())
    wait_until(lambda: client.poll(0.1) is None and client.assignment(), 30, "an assignment")
    client.commit(offsets=[KafkaPartition(topic, 0, 7)], asynchronous=False)
    asking = threading.Thread(target=ask)
    asking.start()
    while asking.is_alive():
        client.poll(0.5)
    client.unsubscribe()
    wait_until(lambda: client.poll(0.1) is None and len(answers) == 4, 30, "the revocation")
    client.close()
    assert answers == [7, 1, 7, 1]
