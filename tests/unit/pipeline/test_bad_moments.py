"""What comes at a bad moment (a stop, a rebalance, a full queue, an outage): nothing is lost or doubled."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.errors import RetriableError
from runtime.api.task import SinkTask, SourceTask
from runtime.model.states import State
from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.producers import Purpose, SlotProducer
from runtime.pipeline.sink.assignment import Assignment
from runtime.pipeline.sink.fetch_budget import slot_budget
from runtime.pipeline.sink.sink_context import SinkContext
from runtime.pipeline.source.source_offsets import OffsetWriter
from runtime.pipeline.task.control import Control, StoppedError
from runtime.pipeline.task.errors import RevokedError
from tests.support import plugins, topics
from tests.support.broker import KafkaBroker, unique
from tests.support.pipeline import file_sink, file_source, group_offsets, produce, records, source_offsets, task_spec
from tests.support.slot import RecordingHost, RunningTask
from tests.support.waiting import wait_until

PLUGINS = [str(Path(plugins.__path__[0]))]
HERE = "tests.unit.pipeline.test_bad_moments"
TEN = [str(n).encode() for n in range(10)]


def plugin(name: str) -> Any:
    """The class as tasks see it: pytest imports this module under another name."""
    __import__(HERE)
    return getattr(sys.modules[HERE], name)


class Sink(SinkTask):
    """Keeps what it takes until it is flushed; a test says what goes wrong."""

    puts: ClassVar[list[tuple[int, int]]] = []
    durable: ClassVar[list[tuple[int, int]]] = []
    refusing = threading.Event()
    refused = 0
    lost_flushes = 0
    begin_at: int | None = None
    asks_for_a_commit = False
    goes_back_to: int | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self.taken: list[tuple[int, int]] = []

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        if self.begin_at is not None:
            self.context.seek(dict.fromkeys(partitions, self.begin_at))

    def put(self, records: Sequence[SinkRecord]) -> None:
        cls = type(self)
        if cls.refusing.is_set():
            cls.refused += 1
            self._ask()
            raise RetriableError("not yet")
        places = [(r.original_kafka_partition, r.original_kafka_offset) for r in records]
        cls.puts += places
        self.taken += places

    def _ask(self) -> None:
        cls = type(self)
        if cls.asks_for_a_commit:
            self.context.request_commit()
        if cls.goes_back_to is not None:
            self.context.seek(dict.fromkeys(self.context.assignment, cls.goes_back_to))
            cls.goes_back_to = None

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        cls = type(self)
        if self.taken and cls.lost_flushes:
            cls.lost_flushes -= 1
            self.taken.clear()
            raise RetriableError("the connection dropped, and what was not flushed with it")
        cls.durable += self.taken
        self.taken = []


@pytest.fixture
def sink() -> Any:
    found = plugin("Sink")
    found.puts, found.durable, found.refused, found.lost_flushes, found.begin_at = [], [], 0, 0, None
    found.asks_for_a_commit, found.goes_back_to = False, None
    found.refusing.clear()
    return found


AWAY = {
    "transforms": "a",
    "transforms.a.type": "headrace_test_transforms.Misbehaving",
    "transforms.a.how": "later",
    "errors.retry.timeout": "-1",
}


def test_a_flush_that_fails_before_anything_was_committed_reads_from_the_beginning(
    broker: KafkaBroker, sink: Any
) -> None:
    topic = broker.create_topic()
    produce(broker, topic, *TEN)
    sink.lost_flushes = 1
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink")
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10})
    task.stop()
    assert sink.durable == [(0, n) for n in range(10)]


def test_nothing_is_committed_for_what_nothing_was_read_of(broker: KafkaBroker, sink: Any) -> None:
    topic = broker.create_topic()
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink")
    task = RunningTask(spec)
    wait_until(lambda: task.host.members, what="a member of the group")
    wait_until(lambda: [line for line in task.host.lines if "Assigned" in line], what="its partition")
    task.stop()
    assert group_offsets(broker, spec) == {}


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_stop_while_a_record_is_tried_again_leaves_it_to_the_next_start(
    broker: KafkaBroker, tmp_path: Path, tolerance: str, sink: Any
) -> None:
    topic = broker.create_topic()
    produce(broker, topic, b"one")
    config = {**AWAY, "errors.tolerance": tolerance}
    spec = file_sink(broker, tmp_path / "x", topic, task_class=f"{HERE}:Sink", config=config, plugin_path=PLUGINS)
    task = RunningTask(spec)
    wait_until(lambda: task.runner.errors is not None and task.runner.errors.retries)
    task.stop()
    assert task.host.states == [State.RUNNING] and sink.puts == [] and group_offsets(broker, spec) == {}

    (tmp_path / "in").write_text("one\n")
    source = file_source(broker, tmp_path / "in", topic, config=config, plugin_path=PLUGINS)
    task = RunningTask(source)
    wait_until(lambda: task.runner.errors is not None and task.runner.errors.retries)
    task.stop()
    assert task.host.states == [State.RUNNING] and source_offsets(broker, source) == []
    assert topics.count(broker.bootstrap, topic) == 1


def test_a_seek_in_open_holds_from_the_first_record_on(broker: KafkaBroker, sink: Any) -> None:
    topic = broker.create_topic(partitions=4)
    for partition in range(4):
        produce(broker, topic, *TEN, partition=partition)
    sink.begin_at = 5
    task = RunningTask(file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink"))
    wait_until(lambda: len(sink.puts) >= 20)
    task.stop()
    assert sorted(sink.puts) == [(partition, n) for partition in range(4) for n in range(5, 10)]


def test_a_partition_that_goes_and_comes_back_while_put_is_tried_again(broker: KafkaBroker, sink: Any) -> None:
    from confluent_kafka import Consumer

    topic = broker.create_topic(partitions=2)
    for partition in range(2):
        produce(broker, topic, *TEN, partition=partition)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink")
    spec = replace(spec, consumer={**spec.consumer, "heartbeat.interval.ms": 300})
    sink.refusing.set()
    task = RunningTask(spec)
    wait_until(lambda: sink.refused >= 1)
    other = Consumer({**spec.consumer, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0})
    other.subscribe([topic])
    wait_until(lambda: other.poll(0.2) is not None, what="the other member reads")
    other.close()
    wait_until(
        lambda: len([line for line in task.host.lines if "Assigned: " in line]) >= 3, 60, "all are its own again"
    )
    sink.refusing.clear()
    wait_until(lambda: len(set(sink.puts)) == 20)
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10, (topic, 1): 10})
    task.stop()
    assert max(Counter(sink.puts).values()) == 1


def test_a_pause_while_put_is_tried_again_is_heard(broker: KafkaBroker, sink: Any) -> None:
    topic = broker.create_topic()
    produce(broker, topic, b"one")
    sink.refusing.set()
    task = RunningTask(file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink"))
    wait_until(lambda: sink.refused >= 1)
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    sink.refusing.clear()
    task.runner.pause(False)
    wait_until(lambda: sink.puts == [(0, 0)])
    task.stop()
    assert task.host.states == [State.RUNNING, State.PAUSED, State.RUNNING]


def test_offsets_of_earlier_batches_are_committed_while_put_is_tried_again(broker: KafkaBroker, sink: Any) -> None:
    topic = broker.create_topic()
    produce(broker, topic, *TEN)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink", flush_interval=3600.0)
    task = RunningTask(spec)
    wait_until(lambda: len(sink.puts) == 10)
    sink.asks_for_a_commit = True
    sink.refusing.set()
    produce(broker, topic, b"eleven")
    wait_until(lambda: group_offsets(broker, spec) == {(topic, 0): 10}, 10)
    assert sink.refused and len(sink.puts) == 10
    sink.refusing.clear()
    task.stop()
    assert group_offsets(broker, spec) in ({(topic, 0): 10}, {(topic, 0): 11})


def test_a_seek_while_put_is_tried_again_takes_the_place_of_the_batch(broker: KafkaBroker, sink: Any) -> None:
    topic = broker.create_topic()
    produce(broker, topic, *TEN)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink", flush_interval=3600.0)
    task = RunningTask(spec)
    wait_until(lambda: len(sink.puts) == 10)
    sink.goes_back_to = 5
    sink.refusing.set()
    produce(broker, topic, *TEN)
    wait_until(lambda: sink.refused >= 2, 10)
    sink.refusing.clear()
    wait_until(lambda: len(sink.puts) >= 25, 10)
    task.stop()
    assert sink.puts == [(0, n) for n in [*range(10), *range(5, 20)]]
    assert group_offsets(broker, spec) == {(topic, 0): 20}


def test_who_sees_it_paused_sees_how_far_it_came(broker: KafkaBroker, sink: Any) -> None:
    topic = broker.create_topic()
    produce(broker, topic, *TEN)
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink", flush_interval=3600.0)
    task = RunningTask(spec)
    wait_until(lambda: len(sink.puts) == 10)
    assert group_offsets(broker, spec) == {}
    task.runner.pause(True)
    task.wait_state(State.PAUSED)
    assert group_offsets(broker, spec) == {(topic, 0): 10}
    task.stop()


@pytest.mark.parametrize("setting", [{"session.timeout.ms": "nonsense"}, {"no.such.setting": "1"}])
def test_a_consumer_that_cannot_be_made_takes_no_memory_from_others(
    broker: KafkaBroker, setting: dict[str, str]
) -> None:
    share = slot_budget.take()
    slot_budget.give_back(share)
    spec = file_sink(broker, Path("x"), "t")
    spec = replace(spec, consumer={**spec.consumer, **setting})
    for _ in range(20):
        task = RunningTask(spec)
        task.join()
        assert task.host.states == [State.FAILED]
    assert slot_budget.take() == share
    slot_budget.give_back(share)


def test_without_a_policy_for_missing_offsets_the_task_fails(broker: KafkaBroker) -> None:
    topic = broker.create_topic()
    spec = file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink")
    task = RunningTask(replace(spec, consumer={**spec.consumer, "auto.offset.reset": "error"}))
    task.join(60)
    assert f"Undefined offset with no reset policy for partition {topic}-0" in task.host.trace


class Source(SourceTask):
    """Ten records to three partitions, at once; a test says what comes before."""

    ready = threading.Event()
    away = 0
    stamp: int | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self.topic, self.polls = config["topic"], 0

    def poll(self) -> list[SourceRecord] | None:
        self.polls += 1
        if self.polls <= self.away:
            raise RetriableError("the other side is away")
        if self.polls > self.away + 1:
            return None
        assert self.ready.wait(30)
        texts = [f"{n % 3}" for n in range(9)]
        return [
            SourceRecord(
                {"p": 1}, {"n": n}, self.topic, text, key=text, kafka_partition=int(text), timestamp=self.stamp
            )
            for n, text in enumerate(texts)
        ]


@pytest.fixture
def source() -> Any:
    found = plugin("Source")
    found.away, found.stamp = 0, None
    found.ready.set()
    return found


def test_records_go_to_the_partition_that_their_task_chose(broker: KafkaBroker, source: Any) -> None:
    topic = broker.create_topic(partitions=3)
    task = RunningTask(file_source(broker, Path("x"), topic, task_class=f"{HERE}:Source"))
    wait_until(lambda: topics.count(broker.bootstrap, topic) == 9)
    task.stop()
    assert all(str(partition).encode() == key for partition, key in topics.placed(broker.bootstrap, topic))


def test_a_source_that_cannot_poll_now_is_asked_again(broker: KafkaBroker, source: Any) -> None:
    source.away = 2
    topic = broker.create_topic(partitions=3)
    task = RunningTask(file_source(broker, Path("x"), topic, task_class=f"{HERE}:Source"))
    wait_until(lambda: topics.count(broker.bootstrap, topic) == 9)
    task.stop()
    assert task.host.states == [State.RUNNING]


@pytest.mark.parametrize("stamp", [None, 1_700_000_000_000])
def test_revoked_while_it_polls_it_writes_nothing(broker: KafkaBroker, source: Any, stamp: int | None) -> None:
    source.stamp = stamp
    source.ready.clear()
    topic = broker.create_topic(partitions=3)
    spec = file_source(broker, Path("x"), topic, task_class=f"{HERE}:Source")
    task = RunningTask(spec)
    wait_until(lambda: task.runner.call is not None and task.runner.call.method == "poll")
    task.runner.revoke()
    source.ready.set()
    task.join()
    assert not task.host.producers.take(spec.producer).flush(10)
    assert topics.count(broker.bootstrap, topic) == 0


def test_offsets_wait_for_room_in_a_queue_that_others_have_filled(broker: KafkaBroker) -> None:
    topic, offsets = broker.create_topic(), broker.create_topic()
    settings = {"bootstrap.servers": broker.bootstrap, "queue.buffering.max.messages": 3, "linger.ms": 200}
    producer = SlotProducer(settings, Purpose.OFFSETS)
    for value in (b"a", b"b"):
        producer.produce(topic, value)
    writer = OffsetWriter(lambda: producer, offsets)
    writer.write({str(n).encode(): {"n": n} for n in range(5)})
    assert writer.busy and not writer.finished()
    wait_until(writer.finished)
    assert not writer.busy and [key for key, _ in records(broker, offsets)] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_refusal_is_told_on_the_tasks_own_thread(broker: KafkaBroker) -> None:
    """Whoever polls the shared producer hears of it; whose record it was takes it up."""
    from confluent_kafka import Producer

    topic = broker.create_topic(max_message_bytes="1000")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "delivery.report.only.error": True, "log_level": 0})
    acks = Acks(tolerates=lambda error: True)
    delivery = acks.begin({b"k": {"n": 1}})
    producer.produce(topic, b"x" * 5000, on_delivery=delivery)
    producer.produce(topic, b"small", on_delivery=delivery)
    del delivery
    acks.seal()
    other = threading.Thread(target=producer.flush, args=(20,))
    other.start()
    other.join()
    refused = [error.name() for error in acks.take_refused()]
    assert refused and set(refused) == {"MSG_SIZE_TOO_LARGE"} and not list(acks.take_refused())
    assert acks.take() == {b"k": {"n": 1}} and acks.error is None


def test_the_calls_that_may_hang_are_seen(broker: KafkaBroker, sink: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hang = threading.Event()

    def flush(self: SinkTask, offsets: object) -> None:
        hang.wait(30)

    monkeypatch.setattr(sink, "flush", flush)
    topic = broker.create_topic()
    produce(broker, topic, b"one")
    task = RunningTask(file_sink(broker, Path("x"), topic, task_class=f"{HERE}:Sink"))
    wait_until(lambda: task.runner.call is not None and task.runner.call.method == "preCommit")
    hang.set()
    task.stop()


def test_a_pattern_means_all_topics_but_kafkas_own(broker: KafkaBroker, sink: Any) -> None:
    stem = unique("pattern")
    plain, hidden = broker.create_topic(f"{stem}-a"), broker.create_topic(f"__{stem}-b")
    for topic in (plain, hidden):
        produce(broker, topic, b"one")
    spec = file_sink(broker, Path("x"), task_class=f"{HERE}:Sink")
    spec = replace(spec, topics_regex=f"(__)?({stem}-.|consumer_offsets)")
    task = RunningTask(spec)
    wait_until(lambda: group_offsets(broker, spec) == {(plain, 0): 1, (hidden, 0): 1}, 60)
    task.stop()
    assert set(task.host.topics) == {plain, hidden}


class SlowGroup:
    """Answers commits when the test says so, which no broker does."""

    def __init__(self) -> None:
        self.commits: list[dict[int, int]] = []
        self.paused: set[int] = set()

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:
        self.commits.append({p.partition: p.offset for p in offsets})
        return offsets

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        return [KafkaPartition(p.topic, p.partition, 100) for p in partitions]

    def incremental_assign(self, partitions: list[Any]) -> None: ...

    def pause(self, partitions: list[Any]) -> None:
        self.paused.update(p.partition for p in partitions)

    def resume(self, partitions: list[Any]) -> None:
        self.paused.difference_update(p.partition for p in partitions)

    def memberid(self) -> str:
        return "m"


def test_an_answer_that_comes_when_the_partition_is_anothers_is_not_committed_again() -> None:
    consumer: Any = SlowGroup()
    task = Sink()
    task.start({})
    context = task.context = SinkContext({})
    spec = task_spec("sink", "x:Y", {}, consumer={"partition.assignment.strategy": "cooperative-sticky"})
    assignment = Assignment(spec, task, RecordingHost(), Control(False, lambda: None), consumer, context)
    zero, one = KafkaPartition("t", 0), KafkaPartition("t", 1)
    assignment.callbacks["on_assign"](consumer, [zero, one])
    assignment.advance({TopicPartition("t", 0): 110, TopicPartition("t", 1): 510})
    assignment.commit()
    assignment.callbacks["on_revoke"](consumer, [one])
    assignment.on_commit(None, [KafkaPartition("t", n, offset) for n, offset in consumer.commits[0].items()])
    assignment.advance({TopicPartition("t", 0): 120})
    assignment.commit()
    assert consumer.commits == [{0: 110, 1: 510}, {0: 110, 1: 510}, {0: 120}]


def test_a_partition_that_was_revoked_while_it_was_paused_is_read_when_it_is_back() -> None:
    """The client forgets the pause of a revoked partition most of the time, not always."""
    consumer, _, on_assign, assignment = assigned(Patient(False, lambda: None), SlowGroup())
    on_assign(consumer, [KafkaPartition("t", 0)])
    assignment.hold(True)
    assert consumer.paused == {0}
    assignment.callbacks["on_revoke"](consumer, [KafkaPartition("t", 0)])
    assignment.hold(False)
    on_assign(consumer, [KafkaPartition("t", 0)])
    assert consumer.paused == set()


class SilentCoordinator(SlowGroup):
    """Does not answer at first."""

    silent = 20

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        self.silent -= 1
        if self.silent >= 0:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return super().committed(partitions, timeout)


class Patient(Control):
    """Waits without taking time."""

    waits = 0

    def wait(self, seconds: float) -> None:
        self.waits += 1


def assigned(control: Control, consumer: Any) -> tuple[Any, SinkContext, Any, Assignment]:
    task = Sink()
    task.start({})
    context = task.context = SinkContext({})
    spec = task_spec("sink", "x:Y", {}, consumer={"partition.assignment.strategy": "cooperative-sticky"})
    assignment = Assignment(spec, task, RecordingHost(), control, consumer, context)
    return consumer, context, assignment.callbacks["on_assign"], assignment


def test_requests_to_a_silent_coordinator_are_repeated_until_the_answer() -> None:
    control = Patient(False, lambda: None)
    consumer, context, on_assign, _ = assigned(control, SilentCoordinator())
    on_assign(consumer, [KafkaPartition("t", 0)])
    assert context.positions == {TopicPartition("t", 0): 100} and control.waits == 20


def test_requests_to_a_silent_coordinator_end_with_the_lease_or_a_stop() -> None:
    def lease_over() -> None:
        raise RevokedError("the lease is over")

    consumer, context, on_assign, _ = assigned(Patient(False, lease_over), SilentCoordinator())
    with pytest.raises(RevokedError):
        on_assign(consumer, [KafkaPartition("t", 0)])
    stopped = Patient(False, lambda: None)
    stopped.stop()
    consumer, context, on_assign, _ = assigned(stopped, SilentCoordinator())
    with pytest.raises(StoppedError):
        on_assign(consumer, [KafkaPartition("t", 0)])
    assert context.positions == {}
