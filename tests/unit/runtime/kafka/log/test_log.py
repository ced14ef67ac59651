"""The storage log on a real broker."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import pytest
from confluent_kafka import KafkaException, Producer, ThrottleEvent
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewPartitions

from runtime.kafka.errors import BrokerUnavailable, StorageTopicError
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.log import TopicLogs, TopicSpec
from runtime.kafka.log.reader import Reader
from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.kafka import transactions
from tests.support.never_called import NEVER_CALLED
from tests.support.waiting import allowed, is_over, until
from tests.unit.runtime.kafka.log.conftest import Recorder

Make = Callable[..., Recorder]


async def test_topics_are_created_compacted(recorder: Make, broker: KafkaBroker) -> None:
    one = recorder()
    await one.logs.start()
    assert not one.logs.error
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for log in (one.config, one.offset, one.status):
        topic = log.spec.topic
        described = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)])
        assert next(iter(described.values())).result()["cleanup.policy"].value == "compact"
        metadata = admin.list_topics(topic)
        assert len(metadata.topics[topic].partitions) == log.spec.partitions
        assert one.logs.cluster_id == metadata.cluster_id


async def test_writes_are_applied_in_order_before_they_return(recorder: Make) -> None:
    one = recorder()
    await one.logs.start()
    await one.config.write_all([(b"a", b"1"), (b"b", b"2"), (b"a", None)])
    assert [(r.key, r.value) for r in one.applied["config"]] == [(b"a", b"1"), (b"b", b"2"), (b"a", None)]
    await one.config.write_all([(b"c", b"3")])
    assert one.values("config")[-1] == b"3"


async def test_read_to_end_applies_records_of_other_writers(recorder: Make) -> None:
    one, other = recorder(), None
    await one.logs.start()
    other = recorder(one.prefix)
    await other.logs.start()
    for n in range(20):
        await other.offset.write_all([(b"k%d" % n, b"%d" % n)])
        await one.offset.read_to_end()
        assert one.values("offset")[-1] == b"%d" % n


async def test_a_new_worker_reads_everything(recorder: Make) -> None:
    one = recorder()
    await one.logs.start()
    await asyncio.gather(*(one.status.send(b"k%d" % n, b"%d" % n) for n in range(1000)))
    other = recorder(one.prefix)
    await other.logs.start()
    assert sorted(int(v or b"") for v in other.values("status")) == list(range(1000))


async def test_partitions_are_those_of_java(recorder: Make) -> None:
    """Murmur2 of these keys over 25 partitions, as in Java's default partitioner."""
    one = recorder()
    await one.logs.start()
    placed = {key: (await one.offset.send(key, b"{}"))[0] for key in (b"21", b"foobar", b"abc")}
    assert placed == {b"21": _murmur2(b"21") % 25, b"foobar": _murmur2(b"foobar") % 25, b"abc": _murmur2(b"abc") % 25}
    assert _murmur2(b"21") == -973932308 & 0x7FFFFFFF


def _murmur2(data: bytes) -> int:
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        h = (h * m ^ (k ^ k >> 24) * m) & mask
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


async def test_aborted_and_open_transactions(recorder: Make, broker: KafkaBroker) -> None:
    """Exactly-once workers write transactions: aborted records are ignored, and markers do not stop reading."""
    one = recorder()
    await one.logs.start()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": unique("txn")})
    producer.init_transactions(20)
    for number, end in enumerate((producer.abort_transaction, producer.commit_transaction, producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(one.config.spec.topic, b"%d" % number, b"k")
        producer.flush(20)
        end(20)
        await one.config.read_to_end()
    await until(lambda: one.values("config") == [b"1"])  # a commit's marker may arrive after its answer
    await one.config.write_all([(b"k", b"plain")])
    assert one.values("config") == [b"1", b"plain"]
    other = recorder(one.prefix)
    await other.logs.start()
    assert other.values("config") == [b"1", b"plain"]


async def test_the_next_writer_with_the_transactional_id_ends_an_open_transaction(
    recorder: Make, broker: KafkaBroker
) -> None:
    """A killed leader leaves a transaction open: reading does not wait for it, and the next leader aborts it."""
    one = recorder()
    await one.logs.start()
    topic, leader = one.config.spec.topic, unique("connect-cluster")
    killed = await asyncio.to_thread(
        transactions.open_transaction, broker.bootstrap, topic, (b"k", b"open"), transactional_id=leader
    )
    await asyncio.wait_for(one.config.read_to_end(), 30)
    following = await asyncio.to_thread(transactions.begin, broker.bootstrap, leader)
    await asyncio.wait_for(one.config.write_all([(b"k", b"plain")]), 30)
    assert one.values("config") == [b"plain"]
    del killed, following


@pytest.mark.parametrize(
    "policy, partitions, words",
    [("delete", 1, "cleanup.policy=delete"), ("compact,delete", 1, "cleanup.policy="), ("compact", 2, "2 partitions")],
)
async def test_unsuitable_topics_are_refused(broker: KafkaBroker, policy: str, partitions: int, words: str) -> None:
    topic = broker.create_topic(partitions=partitions, cleanup_policy=policy)
    logs = TopicLogs({"bootstrap.servers": broker.bootstrap})
    logs.open(TopicSpec(topic, 1, 1, "config.storage", single=True), lambda records: None)
    with pytest.raises(StorageTopicError, match=words) as e:
        await logs.start()
    assert topic in str(e.value)
    assert "config.storage.topic" in str(e.value)
    await logs.close()


async def test_missing_topics_that_the_worker_may_not_create_are_named(broker: KafkaBroker) -> None:
    prefix = unique("byhand")
    logs = TopicLogs({"bootstrap.servers": broker.bootstrap})
    for kind, partitions in (("config", 1), ("offset", 25), ("status", -1)):
        spec = TopicSpec(f"{prefix}-{kind}", partitions, 1, f"{kind}.storage", single=kind == "config", created=False)
        logs.open(spec, lambda records: None)
    with pytest.raises(StorageTopicError) as e:
        await logs.start()
    await logs.close()
    assert str(e.value) == (
        f"missing topics: {prefix}-config (config.storage.topic, 1 partition), {prefix}-offset (offset.storage.topic, "
        f"25 partitions), {prefix}-status (status.storage.topic, any number of partitions). Create them "
        "by hand with cleanup.policy=compact, or set internal.topics.automatic.creation.enable=true"
    )
    listed = AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=10).topics
    assert not [topic for topic in listed if topic.startswith(prefix)]


async def test_too_many_replicas_are_refused_with_the_remedy(broker: KafkaBroker) -> None:
    logs = TopicLogs({"bootstrap.servers": broker.bootstrap})
    logs.open(TopicSpec(unique("many"), 1, 30, "status.storage"), lambda records: None)
    with pytest.raises(StorageTopicError, match=r"status\.storage\.replication\.factor"):
        await logs.start()
    await logs.close()


def _fails(records: object) -> None:
    raise ZeroDivisionError


async def test_an_apply_that_raises_does_not_stop_the_log(broker: KafkaBroker) -> None:
    logs = TopicLogs({"bootstrap.servers": broker.bootstrap})
    log = logs.open(TopicSpec(unique("raises"), 1, 1, "config.storage"), _fails)
    await logs.start()
    await log.write_all([(b"a", b"1")])
    await log.write_all([(b"b", b"2")])
    await logs.close()


async def test_start_waits_for_an_unavailable_broker(caplog: pytest.LogCaptureFixture) -> None:
    logs = TopicLogs({"bootstrap.servers": "127.0.0.1:1"})
    logs.open(TopicSpec("x", 1, 1, "config.storage"), lambda records: None)
    starting = asyncio.create_task(logs.start())
    await until(lambda: bool(logs.error))
    assert "bootstrap.servers=127.0.0.1:1" in caplog.text
    starting.cancel()
    await logs.close()


@pytest.mark.slow
async def test_an_outage_is_reported_and_survived(recorder: Make, own_broker: EmbeddedBroker) -> None:
    """The broker is killed and restarted: records sent meanwhile arrive once and in order, and reading continues."""
    one = recorder(bootstrap=own_broker.bootstrap, timeout=1.0)
    await one.logs.start()
    await asyncio.wait_for(one.config.send(b"k", b"before"), allowed(30))
    await _repeated(one.config.read_to_end)
    own_broker.kill()
    await until(lambda: bool(one.logs.error))
    waiting = [one.config.send(b"k", b"%d" % n) for n in range(50)]
    with pytest.raises(BrokerUnavailable, match=f"may still be written: Kafka at {own_broker.bootstrap}"):
        await one.config.write_all([(b"k", b"late")])
    with pytest.raises(BrokerUnavailable, match=own_broker.bootstrap):
        await one.config.read_to_end()
    await asyncio.to_thread(own_broker.start)
    await asyncio.wait_for(asyncio.gather(*waiting), allowed(30))
    await until(lambda: not one.logs.error and one.values("config")[-1:] == [b"late"])
    assert one.values("config") == [b"before", *(b"%d" % n for n in range(50)), b"late"]
    await asyncio.wait_for(one.config.send(b"k", b"after"), allowed(30))
    await _repeated(one.offset.read_to_end)


async def _repeated(call: Callable[[], Awaitable[None]], within: float = 30.0) -> None:
    """Calls until Kafka responds in time."""
    started = time.monotonic()
    while True:
        try:
            return await call()
        except BrokerUnavailable:
            if is_over(started, within):
                raise


async def test_close_ends_waiting_calls_with_an_error(recorder: Make) -> None:
    one = recorder()
    await one.logs.start()
    one.logs._positions[one.config.spec.topic, 0] = -1
    waiting = asyncio.create_task(one.logs._reached({(one.config.spec.topic, 0): 10**9}))
    await asyncio.sleep(0)
    await one.logs.close()
    with pytest.raises(BrokerUnavailable, match="shutting down"):
        await waiting


@pytest.mark.soak
async def test_speed(recorder: Make) -> None:
    """Prints the figures. The limits are generous, for busy machines."""
    one = recorder()
    await one.logs.start()
    writes = [await _timed(one.config.write_all([(b"k", b"{}")])) for _ in range(200)]
    ends = [await _timed(one.offset.read_to_end()) for _ in range(50)]
    sent = [one.offset.send(b"k%d" % n, b'{"position":%d}' % n) for n in range(99_950)]
    await asyncio.gather(*sent)
    other = recorder(one.prefix)
    load = await _timed(other.logs.start())
    assert len(other.applied["offset"]) == 99_950
    assert statistics.median(writes) < 0.1
    assert statistics.median(ends) < 0.1
    assert load < 10
    empty = await _timed(recorder().logs.start())
    print(
        f"\nwrite and read back p50 {statistics.median(writes) * 1e3:.2f} ms, read to end p50 "
        f"{statistics.median(ends) * 1e3:.2f} ms, three topics with 100,000 records loaded in {load:.2f} s, "
        f"three new topics in {empty:.2f} s"
    )


async def _timed(work: object) -> float:
    started = time.perf_counter()
    await work  # type: ignore[misc]
    return time.perf_counter() - started


@pytest.mark.parametrize("again", [False, True])
async def test_a_deleted_topic_is_detected_and_changes_are_refused(
    broker: KafkaBroker, recorder: Make, again: bool
) -> None:
    """Also if the topic is created again, by hand or automatically by the broker."""
    worker = recorder()
    await worker.logs.start()
    await worker.config.write_all([(b"k", b"v")])
    await until(lambda: broker_knows(worker))
    topic = worker.config.spec.topic
    broker.delete_topics(topic)
    if again:
        await asyncio.to_thread(recreate, broker, topic)
    await until(lambda: bool(worker.logs.error))
    assert f"storage topic {topic} " in worker.logs.error
    with pytest.raises(StorageTopicError, match="changes are refused"):
        await worker.config.write_all([(b"k", b"v2")])
    with pytest.raises(StorageTopicError, match="changes are refused"):
        await worker.config.read_to_end()
    await worker.offset.read_to_end()


async def test_a_record_in_another_topic_of_the_same_name_does_not_count_as_written(
    broker: KafkaBroker, recorder: Make
) -> None:
    """The record's own offset reveals this before the watch does."""
    worker = recorder(watch_every=1e9)
    await worker.logs.start()
    for _ in range(3):
        await worker.config.write_all([(b"k", b"v")])
    broker.delete_topics(worker.config.spec.topic)
    await asyncio.to_thread(recreate, broker, worker.config.spec.topic)
    with pytest.raises(StorageTopicError, match="was deleted and created again"):
        await worker.config.write_all([(b"k", b"v2")])


def recreate(broker: KafkaBroker, topic: str) -> None:
    for _ in range(100):
        try:
            broker.create_topic(topic, cleanup_policy="compact")
            return
        except KafkaException:  # its deletion is still in progress
            time.sleep(0.1)


def broker_knows(worker: Recorder) -> bool:
    """Whether the worker's watch has seen the topic."""
    reader = worker.logs._reader
    return reader is not None and reader.watched


async def test_thousands_of_refused_records_are_one_line_of_the_log(
    recorder: Make, caplog: pytest.LogCaptureFixture
) -> None:
    one = recorder()
    one.logs._loop, one.logs.lost = asyncio.get_running_loop(), "the topic was deleted"
    for _ in range(3):
        written = await asyncio.gather(*(one.status.send(b"%d" % n, b"") for n in range(1000)), return_exceptions=True)
        assert all(isinstance(error, StorageTopicError) for error in written)
    assert caplog.text.count("was not written") == 1


def test_a_delay_by_a_quota_does_not_hide_another_cause() -> None:
    logs = TopicLogs({"bootstrap.servers": "b:1"})
    logs._writer.quota(ThrottleEvent("b:1", 1, 2.0))
    why = "a quota of the brokers delays requests by 2.0 s"
    assert str(logs._unavailable("x", TimeoutError())) == f"x: Kafka at b:1 does not respond ({why})"
    logs._broker = "connection refused"
    assert (
        str(logs._unavailable("x", TimeoutError())) == f"x: Kafka at b:1 does not respond (connection refused; {why})"
    )


async def test_partitions_that_are_added_are_read(recorder: Make, broker: KafkaBroker) -> None:
    one = recorder(watch_every=0.1)
    await one.logs.start()
    add_partitions(broker, one.status.spec.topic, 6)
    await until(lambda: len(one.logs._positions) == 1 + 25 + 6)
    for value in (b"first", b"last"):
        with broker.writing() as write:
            write(one.status.spec.topic, value, b"key", partition=5)
        await one.status.read_to_end()
        assert one.values("status")[-1] == value


async def test_a_config_topic_with_added_partitions_refuses_changes(recorder: Make, broker: KafkaBroker) -> None:
    one = recorder(watch_every=0.1)
    await one.logs.start()
    add_partitions(broker, one.config.spec.topic, 2)
    await until(lambda: one.logs.error)
    with pytest.raises(StorageTopicError, match="has 2 partitions, but configurations are ordered only within one"):
        await one.config.write_all([(b"k", b"v")])


def add_partitions(broker: KafkaBroker, topic: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for added in admin.create_partitions([NewPartitions(topic, count)]).values():
        added.result(allowed(20))


def test_replicas_that_are_not_in_sync_are_the_reason_of_a_write_that_is_not_confirmed() -> None:
    logs = TopicLogs({"bootstrap.servers": "b:1"})
    logs._reader = reader = Reader(LogClients.alike({}), [], NEVER_CALLED)
    reader.degraded = {"t": "1 of 3 replicas of partition 0 are in sync", "other": ""}
    assert str(logs._not_confirmed("t", TimeoutError())) == (
        "a change for topic t is not confirmed, and may still be written: 1 of 3 replicas of partition 0 are in sync, "
        "and Kafka refuses writes below min.insync.replicas"
    )
    assert reader._suspect.is_set(), "whether the brokers respond is checked"
    assert "b:1 does not respond" in str(logs._not_confirmed("other", TimeoutError()))
    logs._writer.quota(ThrottleEvent("b:1", 1, 2.0))
    assert "a quota of the brokers delays requests by 2.0 s" in str(logs._not_confirmed("t", TimeoutError()))
    logs._broker = "connection refused"
    assert "connection refused" in str(logs._not_confirmed("t", TimeoutError()))
