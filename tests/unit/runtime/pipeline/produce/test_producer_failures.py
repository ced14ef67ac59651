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
from tests.support.tasks.pipeline import file_source, records, source_offsets
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
    with file.open("ab") as more:
        more.write(b"two\nthree\n")
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
