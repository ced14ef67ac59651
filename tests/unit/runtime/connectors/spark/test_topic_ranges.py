"""Ranges of topics: the same committed records whenever they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from runtime.connectors.spark.query.definition import ClientSettings, client_settings
from runtime.connectors.spark.query.topic_ranges import (
    RecordRange,
    TopicChangedError,
    TopicOffsets,
    TopicsUnreachableError,
    missing_topics,
    record_batches,
)
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.faulty_broker import LIST_OFFSETS, Damage, Fault, FaultyBroker
from tests.support.waiting import wait_until

_HEADER = pa.struct({"key": pa.string(), "value": pa.binary()})
SCHEMA = pa.schema({
    "key": pa.binary(), "value": pa.binary(), "topic": pa.string(), "partition": pa.int32(), "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"), "headers": pa.list_(_HEADER),
})  # fmt: skip


@pytest.fixture(scope="module")
def clients(broker: KafkaBroker) -> ClientSettings:
    return client_settings({"kafka.bootstrap.servers": broker.bootstrap})


@pytest.fixture
def producer(broker: KafkaBroker) -> Iterator[Any]:
    made = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": unique("t")})
    made.init_transactions(30)
    yield made
    made.purge()


def _send(producer: Any, topic: str, *values: str, commit: bool = True) -> None:
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, "k", partition=0, timestamp=5, headers=[("h", b"x")])
    producer.flush()
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)


def _read(clients: ClientSettings, records: RecordRange) -> list[dict[str, Any]]:
    return [row for batch in record_batches(clients.consumer, records, SCHEMA) for row in batch.to_pylist()]


def test_ranges_end_behind_markers_and_have_no_aborted_records(
    broker: KafkaBroker, clients: ClientSettings, producer: Any
) -> None:
    topic = broker.create_topic(partitions=2)
    offsets = TopicOffsets(clients.admin, topic)
    start = offsets.latest()
    _send(producer, topic, "a", "b")
    _send(producer, topic, "aborted", commit=False)
    end = _end(offsets, start, 5)  # with a marker behind each transaction
    assert end["offsets"] == {"0": 5, "1": 0}
    assert offsets.ranges(start, end) == [RecordRange(topic, 0, 0, 5)]
    rows = _read(clients, RecordRange(topic, 0, 0, 5))
    assert [(row["value"], row["offset"]) for row in rows] == [(b"a", 0), (b"b", 1)]
    assert rows[0]["headers"] == [{"key": "h", "value": b"x"}]
    assert (rows[0]["key"], rows[0]["timestamp"].timestamp()) == (b"k", 0.005)
    assert [row["offset"] for row in _read(clients, RecordRange(topic, 0, 1, 2))] == [1]
    assert _read(clients, RecordRange(topic, 0, 3, 5)) == []
    assert offsets.end(end, None) == end


def test_open_transactions_are_not_in_a_batch(broker: KafkaBroker, clients: ClientSettings, producer: Any) -> None:
    topic = broker.create_topic(partitions=1)
    offsets = TopicOffsets(clients.admin, topic)
    start = offsets.latest()
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush()
    assert offsets.end(start, None) == start
    producer.commit_transaction(30)
    wait_until(lambda: offsets.end(start, None)["offsets"] == {"0": 2}, 30, "the transaction's end")


def test_a_limit_is_divided_in_proportion(broker: KafkaBroker, clients: ClientSettings, producer: Any) -> None:
    topic = broker.create_topic(partitions=2)
    offsets = TopicOffsets(clients.admin, topic)
    start = offsets.earliest()
    _send(producer, topic, *(str(number) for number in range(99)))
    _end(offsets, start, 100)
    assert offsets.end(start, 10)["offsets"] == {"0": 10, "1": 0}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
    wait_until(lambda: len(offsets.latest()["offsets"]) == 3, 30, "the partition")
    assert offsets.end(start, None)["offsets"] == {"0": 100, "1": 0, "2": 0}


def test_records_that_are_gone_are_an_error(broker: KafkaBroker, clients: ClientSettings, producer: Any) -> None:
    topic = broker.create_topic(partitions=1)
    offsets = TopicOffsets(clients.admin, topic)
    start = offsets.earliest()
    _send(producer, topic, "a", "b", "c")
    end = _end(offsets, start, 4)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_records([TopicPartition(topic, 0, 2)])[TopicPartition(topic, 0)].result()
    with pytest.raises(TopicChangedError, match=f"{topic}-0 from offset 0 have been removed"):
        _read(clients, RecordRange(topic, 0, 0, 4))
    broker.delete_topics(topic)
    broker.create_topic(topic)
    wait_until(lambda: _id(offsets) not in (None, start["id"]), 30, "the new topic")
    with pytest.raises(TopicChangedError, match="deleted and created again"):
        offsets.end(start, None)
    with pytest.raises(TopicChangedError, match="deleted and created again"):  # a batch that was planned before
        offsets.ranges(start, end)


def test_a_new_partition_is_read_from_its_first_record(
    broker: KafkaBroker, clients: ClientSettings, producer: Any
) -> None:
    topic = broker.create_topic(partitions=1)
    offsets = TopicOffsets(clients.admin, topic)
    start = {**offsets.latest(), "offsets": {}}  # as if the partition had been added since
    _send(producer, topic, "a", "b", "c")
    end = _end(offsets, start, 4)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_records([TopicPartition(topic, 0, 2)])[TopicPartition(topic, 0)].result()
    assert offsets.end(start, None) == end
    (records,) = offsets.ranges(start, end)
    with pytest.raises(TopicChangedError, match=f"{topic}-0 from offset 0 have been removed"):
        _read(clients, records)


def test_missing_topics_and_brokers(topic: str, clients: ClientSettings) -> None:
    assert missing_topics(clients.admin, [topic, "no.such.topic"]) == ["no.such.topic"]
    with pytest.raises(TopicsUnreachableError):
        TopicOffsets(clients.admin, "no.such.topic").latest()


def test_a_change_of_leaders_is_waited_for(broker: KafkaBroker) -> None:
    faulty = FaultyBroker(broker.bootstrap)
    try:
        port = faulty.listen(Fault(LIST_OFFSETS, Damage.INNER_CODE, code=6, times=2))  # NOT_LEADER_OR_FOLLOWER
        settings = client_settings({"kafka.bootstrap.servers": f"127.0.0.1:{port}"})
        assert TopicOffsets(settings.admin, broker.create_topic(partitions=1)).latest()["offsets"] == {"0": 0}
        assert LIST_OFFSETS in faulty.seen(port)
    finally:
        faulty.close()


def _end(offsets: TopicOffsets, start: dict[str, Any], offset: int) -> dict[str, Any]:
    """The end, when the markers of all transactions have been written."""
    wait_until(lambda: offsets.end(start, None)["offsets"]["0"] == offset, 30, "the end of the transactions")
    return offsets.end(start, None)


def _id(offsets: TopicOffsets) -> str | None:
    try:
        return str(offsets.latest()["id"])
    except TopicsUnreachableError:
        return None


def test_a_partition_that_has_become_shorter_is_an_error(
    broker: KafkaBroker, clients: ClientSettings, producer: Any
) -> None:
    """As after an unclean election of a leader: records below the position would never be read."""
    topic = broker.create_topic(partitions=2)
    _send(producer, topic, "a")
    offsets = TopicOffsets(clients.admin, topic, patience=0.3)
    end = _end(offsets, offsets.earliest(), 2)
    before = {**end, "offsets": {**end["offsets"], "0": 100}}
    with pytest.raises(TopicChangedError, match=r"Partition 0 of topic .* ends at offset 2, but was read up to 100"):
        offsets.end(before, None)
