"""Failed and stalled producers: no record is skipped because of them, and other tasks are not affected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import ConnectError
from runtime.api.task import SourceTask
from runtime.connectors.file_source import FileStreamSourceTask
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.string import StringConverter
from runtime.kafka.clients import open_clients
from runtime.model.states import State
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import Converters
from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.producers import Producers, Purpose, SlotProducer, restart_delay
from runtime.pipeline.produce.queue_share import SendQueue, Share
from runtime.pipeline.produce.send import size_of
from runtime.pipeline.source.convert_source import SourceConversion, source_place
from runtime.pipeline.source.source_offsets import CommittedOffsets, OffsetWriter
from tests.support.kafka.mock_kafka import INIT_PRODUCER_ID, PRODUCE, MockKafka
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import append, file_source, records, source_offsets
from tests.support.tasks.slot_host import RecordingHost, RunningTask
from tests.support.tasks.transforms import tolerance
from tests.support.waiting import wait_until


@pytest.fixture
def kafka() -> MockKafka:
    return MockKafka()


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_fatal_producer_error_restarts_the_task_and_skips_no_record(
    kafka: MockKafka, tmp_path: Path, tolerance: str
) -> None:
    file, topic, host = tmp_path / "in.txt", kafka.create_topic(), RecordingHost()
    file.write_bytes(b"one\n")
    spec = file_source(kafka, file, topic, config={"errors.tolerance": tolerance})
    task = RunningTask(spec, host)
    wait_until(lambda: count(kafka.bootstrap, spec.offsets_topic) == 1)
    kafka.refuse(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    append(file, b"two\nthree\n")
    wait_until(lambda: State.UNASSIGNED in host.states or not task.alive)
    task.stop()
    assert host.states == [State.RUNNING, State.UNASSIGNED], host.trace
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in host.trace
    assert task.runner.errors is not None and task.runner.errors.skipped == 0
    assert [o.offset for o in source_offsets(kafka, spec)] == [{"position": 4}]

    again = RunningTask(replace(spec, offsets=source_offsets(kafka, spec)), host)
    wait_until(lambda: count(kafka.bootstrap, topic) == 3)
    again.stop()
    assert [value for _, value in records(kafka, topic)] == [b"one", b"two", b"three"]
    assert [o.offset for o in source_offsets(kafka, spec)] == [{"position": 14}]


def test_a_record_that_expires_names_the_topic_and_the_property(kafka: MockKafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    kafka.lose_leader(topic)
    (tmp_path / "in.txt").write_bytes(b"one\n")
    spec = file_source(kafka, tmp_path / "in.txt", topic)
    task = RunningTask(replace(spec, producer={**spec.producer, "message.timeout.ms": 500}))
    task.join()
    assert f"topic {topic} has not confirmed a record within delivery.timeout.ms" in task.host.trace
    assert "producer.override.delivery.timeout.ms" in task.host.trace


def test_a_topic_without_a_leader_delays_no_other_task_of_the_slot(kafka: MockKafka, tmp_path: Path) -> None:
    stalled, good, host = kafka.create_topic(), kafka.create_topic(), RecordingHost()
    kafka.lose_leader(stalled)
    (tmp_path / "stalled.txt").write_bytes(
        (b"x" * 999 + b"\n") * 150_000
    )  # more than the capacity of a producer's queue
    (tmp_path / "good.txt").touch()
    stuck = file_source(kafka, tmp_path / "stalled.txt", stalled)
    free = file_source(kafka, tmp_path / "good.txt", good)
    stuck_task = RunningTask(stuck, host)
    wait_until(lambda: stuck_task.runner.meter.active > 1_000)
    wait_for_a_standstill(stuck_task)
    task, line = RunningTask(free, host), b"y" * 9_999 + b"\n"
    for lines in (1, 2, 3):
        with (tmp_path / "good.txt").open("ab") as more:
            more.write(line)
        wait_until(lambda: [o.offset for o in source_offsets(kafka, free)] == [{"position": lines * len(line)}], 10)  # noqa: B023
    assert count(kafka.bootstrap, good) == 3
    assert stuck_task.runner.meter.written == 0
    stuck_task.runner.revoke()
    stuck_task.join()
    task.stop()


def test_a_fatal_error_that_would_recur_fails_the_task(kafka: MockKafka, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"one\n")
    spec = file_source(kafka, tmp_path / "in.txt", kafka.create_topic(), config={"errors.tolerance": "all"})
    kafka.refuse(INIT_PRODUCER_ID, *[KafkaError.CLUSTER_AUTHORIZATION_FAILED] * 50)  # also those of offsets' producers
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED]
    assert "The producer cannot continue: CLUSTER_AUTHORIZATION_FAILED" in task.host.trace
    assert source_offsets(kafka, spec) == []


def test_the_reason_of_a_fatal_error_may_follow_the_refusal(kafka: MockKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """As seen on a busy machine: the client sets its error before it queues the event."""
    producer = SlotProducer({"bootstrap.servers": kafka.bootstrap})
    polls = 0

    def poll(timeout: float) -> None:
        nonlocal polls
        polls += 1
        if polls == 3:
            raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "not granted", fatal=True))

    monkeypatch.setattr(producer, "client", SimpleNamespace(poll=poll))
    failure = producer.failure(KafkaError(KafkaError._FATAL))
    assert str(failure) == (
        "The producer cannot continue: CLUSTER_AUTHORIZATION_FAILED: not granted; User:ANONYMOUS is not authorized to "
        "WRITE any topic: grant WRITE on the topics of the connector"
    )
    assert isinstance(producer.failure(KafkaError(KafkaError._PURGE_QUEUE)), ConnectError), "it is known now"


@pytest.mark.parametrize(
    ("error", "age", "delay"),
    [
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, 3.0, 7.0),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, 3600.0, 0.0),
        (KafkaError._FENCED, 3.0, 7.0),
        (KafkaError._FENCED, 3600.0, 5.0),
        (KafkaError.INVALID_PRODUCER_EPOCH, 3600.0, 5.0),
    ],
)
def test_a_task_that_was_fenced_does_not_fence_the_other_producer_at_once(error: int, age: float, delay: float) -> None:
    assert restart_delay(KafkaError(error), age) == delay


def test_a_message_that_is_reported_while_a_fatal_error_is_pending_fails_its_batch(kafka: MockKafka) -> None:
    """A flush serves both, as when a producer is closed: the client raises SystemError in the report."""
    topic, offsets = kafka.create_topic(), {b"k": {"n": 1}}
    kafka.refuse(INIT_PRODUCER_ID, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    producer, acks = SlotProducer({"bootstrap.servers": kafka.bootstrap}), Acks()
    delivery = acks.begin(offsets)
    producer.produce(topic, b"x", partition=0, on_delivery=delivery)
    del delivery
    acks.seal()

    def has_failed() -> bool:
        try:
            producer.produce(topic, b"y", partition=0)
        except KafkaException:
            return True
        return False

    wait_until(has_failed)
    open_clients.flush(producer.client, 10)
    assert acks.unacknowledged[0].delivered, "the only message was reported"
    assert acks.error is not None and acks.take() == {}


def test_a_fatal_error_that_a_report_has_met_is_the_producers(
    kafka: MockKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer, fatal = SlotProducer({"bootstrap.servers": kafka.bootstrap}), KafkaError(KafkaError._FENCED, fatal=True)

    def poll(timeout: float) -> None:
        raise SystemError("returned a result with an exception set") from KafkaException(fatal)

    monkeypatch.setattr(producer, "client", SimpleNamespace(poll=poll))
    producer.poll(0)
    assert producer.fatal is fatal


def test_a_fatal_error_ends_a_poll_before_refused_records_are_reported(kafka: MockKafka) -> None:
    """With the error pending, each call of the client in a report would raise SystemError."""
    topic, acks = kafka.create_topic(partitions=3), Acks()
    producer = SlotProducer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, b"first")
    assert producer.client.flush(10) == 0
    kafka.refuse(PRODUCE, *[KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER] * 3)
    for partition in range(3):
        producer.produce(topic, b"refused", partition=partition, on_delivery=acks.begin({b"k": {"n": partition}}))
        acks.seal()
    wait_until(lambda: _served(producer) and producer.fatal is not None)
    assert acks.error is None, "the poll has ended"
    wait_until(lambda: _served(producer) and all(batch.error for batch in acks.unacknowledged))
    assert (acks.take(), acks.left) == ({}, 3)


def _served(producer: SlotProducer) -> bool:
    producer.poll(1.0)
    return True


class MissingPartitionTask(SourceTask):
    """One record for a partition that does not exist, and one for a partition that does."""

    def start(self, config: object) -> None:
        self._polled = False

    def poll(self) -> list[SourceRecord] | None:
        if self._polled:
            return None
        self._polled = True
        topic = self.context.configs["topic"]
        return [SourceRecord({"p": 0}, {"n": n}, topic, str(n), kafka_partition=n) for n in (77, 0)]


def test_a_record_for_a_partition_that_does_not_exist_is_not_skipped(kafka: MockKafka) -> None:
    topic = kafka.create_topic()
    spec = file_source(
        kafka, Path("x"), topic, task_class=f"{__name__}:MissingPartitionTask", config={"errors.tolerance": "all"}
    )
    task = RunningTask(spec)
    task.join()
    assert task.host.states == [State.RUNNING, State.FAILED]
    assert "_UNKNOWN_PARTITION" in task.host.trace
    assert source_offsets(kafka, spec) == []


def test_offsets_are_written_by_another_producer_after_a_fatal_error(kafka: MockKafka) -> None:
    topic, producers = kafka.create_topic(), Producers()
    writer = OffsetWriter(lambda: producers.take({"bootstrap.servers": kafka.bootstrap}, None, Purpose.OFFSETS), topic)
    writer.write({b"k": {"n": 1}})
    wait_until(writer.finished)
    kafka.refuse(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    writer.write({b"k": {"n": 2}})
    left = wait_until(lambda: not writer.finished() and writer.failed())
    assert left == {b"k": {"n": 2}} and not writer.busy
    writer.write(left)
    wait_until(writer.finished)
    assert [value for _, value in records(kafka, topic)] == [b'{"n":1}', b'{"n":2}']


def test_copies_of_offsets_to_a_topic_without_a_leader_delay_no_commit(kafka: MockKafka) -> None:
    topic, copy, producers = kafka.create_topic(), kafka.create_topic(), Producers()
    kafka.lose_leader(copy)
    settings = {"bootstrap.servers": kafka.bootstrap, "queue.buffering.max.kbytes": 512, "linger.ms": 0}
    writer = OffsetWriter(lambda: producers.take(settings, None, Purpose.OFFSETS), topic, copy)
    for n in range(20):
        writer.write({b"k": {"n": n, "text": "x" * 100_000}})
        wait_until(writer.finished, 5)
    assert count(kafka.bootstrap, topic) == 20


def test_stuck_tasks_leave_room_in_the_queue_for_the_others() -> None:
    queue = SendQueue(64 << 20, parts=8)
    stuck = [Share(queue) for _ in range(10)]
    for share in stuck:
        while share.admits(100_000):
            share.take(100_000)
    assert stuck[0].held > 7 << 20, "a single task has a large share"
    assert queue.held == sum(share.held for share in stuck) < 48 << 20
    moving = Share(queue)
    moving.take(1 << 20)
    assert moving.admits(1 << 20) and not stuck[0].admits(1)
    moving.release(1 << 20)
    assert moving.admits(100 << 20), "a batch is never divided"


def test_the_size_of_a_batch_is_the_same_as_columns_and_record_by_record() -> None:
    partition = {"p": 0}
    schema = STRING_SCHEMA
    records = [SourceRecord(partition, {"n": n}, "t", "é" * n, schema, "k" * (n % 3), schema) for n in range(1, 50)]
    errors, converter = tolerance(), StringConverter()
    converters = Converters(converter, converter, SimpleHeaderConverter())
    conversion = SourceConversion(
        Chain([], errors, source_place), converters, CommittedOffsets("c", []), errors, FileStreamSourceTask()
    )
    (run,) = conversion.convert(records).runs
    assert run.content == sum(2 * n + n % 3 for n in range(1, 50))
    assert size_of(run.messages, run.content) == size_of(run.messages)
    headed = [{**message, "headers": [("h", b"12")]} for message in run.messages]
    assert size_of(headed) == size_of(run.messages) + 3 * len(headed)


def wait_for_a_standstill(task: RunningTask) -> None:
    """Waits until the task has filled its share of the queue."""
    seen: list[int] = []

    def still() -> bool:
        seen.append(task.runner.meter.active)
        return len(seen) > 10 and len(set(seen[-10:])) == 1

    wait_until(still)
