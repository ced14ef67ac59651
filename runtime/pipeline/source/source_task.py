"""A source task: poll, convert, produce, acknowledge, commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runtime.api.errors import RetriableError
from runtime.api.task import OffsetReader, SourceTask
from runtime.model.states import State
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import load_converters, load_steps
from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.producers import Purpose
from runtime.pipeline.produce.send import Sender, send_failure, size_of
from runtime.pipeline.produce.topic_creation import TopicCreator
from runtime.pipeline.source.convert_source import MessageBatch, SourceConversion, source_place
from runtime.pipeline.source.kept_offsets import WorkerKeptOffsets
from runtime.pipeline.source.source_offsets import CommittedOffsets, OffsetWriter
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.task.failure import Failure, Stage
from runtime.pipeline.tolerance import Policy, Tolerance

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from runtime.api.data.record import SourceRecord
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.task.control import Control

_log = logging.getLogger(__name__)

_IDLE_FIRST = 0.005  # seconds after a first empty poll; doubles up to the task's idle_poll
_PAUSED = 0.2  # seconds between two checks while paused
_REPORTS = 0.02  # seconds of one wait for delivery reports


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The SourceTaskContext of a task."""

    configs: Mapping[str, str]
    offsets: OffsetReader
    wake: Callable[[], None]


class SourceWorker:
    """Runs a source task on the calling thread until it is stopped."""

    def __init__(self, spec: TaskSpec, task: SourceTask, host: SlotHost, control: Control) -> None:
        self._spec, self._task, self._host, self._control = spec, task, host, control
        owner = None if spec.producer_shared else str(spec.id)
        self._producer = host.producers.take(spec.producer, owner)
        committed = CommittedOffsets(spec.connector, spec.offsets)
        task.context = SourceContext(spec.config, committed, control.wake)
        self._tolerance = Tolerance(Policy.of(spec.settings), str(spec.id), control)
        self._chain = Chain(load_steps(spec), self._tolerance, source_place)
        self._conversion = SourceConversion(self._chain, load_converters(spec), committed, self._tolerance, task)
        share = self._producer.share()
        tolerates = self._producer.may_skip if self._tolerance.policy.tolerate_all else None
        self._acks = Acks(tolerates, share, resends=True)
        self._sender = Sender(
            self._producer, share, control, spec.flush_timeout, self._refused, self._while_the_queue_is_full,
            lambda: host.producers.take(spec.producer, owner, Purpose.SINGLE_RECORDS),
        )  # fmt: skip
        self._writer = _offset_writer(spec, host)
        self._ready: dict[bytes, Mapping[str, Any] | None] = {}
        self._next_commit = time.monotonic() + spec.flush_interval
        self._topics, self._meter = control.topics, control.meter
        self._creator = TopicCreator(spec, control)
        self._ensured: set[str] = set()  # topics that exist or that the broker may create
        self._idle = _IDLE_FIRST

    def run(self) -> None:
        """Returns after a graceful stop. Raises the error that fails the task, after committing all
        acknowledged offsets."""
        task = self._task
        try:
            with self._control.calling("start"):
                task.start(self._spec.config)
            self._host.state(self._spec, State.RUNNING)
            self._loop()
        finally:
            self._acks.drop_unsealed()
            try:
                self._finish()
            finally:
                with self._control.calling("stop"):
                    task.stop()
                self._chain.close()

    def _loop(self) -> None:
        control = self._control
        paused = False
        while not control.stopping:
            if control.paused is not paused:
                paused = control.paused
                self._host.state(self._spec, State.PAUSED if paused else State.RUNNING)
            if paused:
                self._wait(_PAUSED)
            elif records := self._poll():
                self._idle = _IDLE_FIRST
                try:
                    self._process(records)
                except StoppedError:
                    return
            else:
                self._wait(self._idle)
                self._idle = min(self._idle * 2, self._task.idle_poll)
            self._acknowledge()
            self._commit_when_due()

    def _poll(self) -> Sequence[SourceRecord] | None:
        self._control.check()
        started = time.monotonic()
        try:
            with self._control.calling("poll"):
                records = self._task.poll()
        except RetriableError as error:
            _log.warning("poll() failed and is retried: %s", error)
            return None
        if records is not None and len(records) > 0:
            self._meter.polled(len(records), time.monotonic() - started)
        return records

    def _process(self, records: Sequence[SourceRecord]) -> None:
        batch = self._conversion.convert(records)
        self._send(batch)
        if batch.error is not None:
            raise batch.error

    def _send(self, batch: MessageBatch) -> None:
        """A separate function, so that the traceback of a later exception does not keep `delivery` alive."""
        size = sum(size_of(run.messages, run.content) for run in batch.runs)
        self._sender.admit(size)
        delivery = self._acks.begin(batch.offsets, size)
        for run in batch.runs:
            if run.topic not in self._topics:
                self._first_record_for(run.topic)
            if run.single:
                self._acks.keep(run.messages)
            send = self._sender.send_each if run.single else self._sender.send
            send(run.topic, run.messages, delivery)
        self._acks.seal()
        self._meter.handed_over(sum(len(run.messages) for run in batch.runs))

    def _while_the_queue_is_full(self) -> None:
        """Commit acknowledged batches while the next one waits for room."""
        self._acknowledge()
        self._commit_when_due()

    def _refused(self, error: KafkaError) -> None:
        """Kafka refuses a record: skip the record or fail the task. Not for records returned by a failed producer."""
        if not self._producer.blames_record(error):
            raise self._producer.failure(error)
        failure = send_failure(error, self._spec.producer)
        if not self._producer.may_skip(error):
            raise failure
        name = "org.apache.kafka.clients.producer.KafkaProducer"
        try:
            self._tolerance.failed(Failure(Stage.KAFKA_PRODUCE, name, failure, None, ""))
        finally:
            self._tolerance.release(())

    def _first_record_for(self, topic: str) -> None:
        if topic not in self._ensured:
            self._creator.ensure(topic)
            self._ensured.add(topic)
        self._topics.add(topic)
        if self._spec.track_topics:
            self._host.topic(self._spec, topic)

    def _wait(self, seconds: float) -> None:
        """Wait while there is nothing to poll: serve delivery reports, or sleep if none are expected."""
        if self._acks.pending or self._writer.busy:
            self._producer.poll(min(seconds, _REPORTS))
        elif self._ready:
            self._control.wait(min(seconds, max(self._next_commit - time.monotonic(), 0.0)))
        else:
            self._control.wait(seconds)

    def _acknowledge(self) -> None:
        self._take_acks()
        error = self._acks.error or (self._producer.fatal if self._acks.pending else None)
        if error is not None:
            raise (
                send_failure(error, self._spec.producer)
                if self._producer.blames_record(error)
                else self._producer.failure(error)
            )

    def _take_acks(self) -> None:
        self._sender.serve(self._acks)
        for refusal in self._acks.take_refused():
            self._refused(refusal)
        self._ready.update(self._acks.take())
        self._meter.acknowledged(self._acks.left)

    def _commit_when_due(self) -> None:
        self._check_commit()
        now = time.monotonic()
        if now < self._next_commit:
            return
        if self._writer.busy:
            _log.warning("The previous offset commit is still pending; the next one waits for it")
        else:
            self._commit()
        self._next_commit = now + self._spec.flush_interval

    def _commit(self) -> None:
        if not self._ready:
            return
        self._control.check()
        self._writer.write(self._ready)
        self._ready = {}

    def _check_commit(self) -> None:
        if not self._writer.busy:
            return
        self._control.check()
        if self._writer.finished():
            self._meter.committed(True)
            self._notify_task()
        elif failed := self._writer.failed():
            self._meter.committed(False)
            self._ready = {**failed, **self._ready}

    def _notify_task(self) -> None:
        """Call the task's commit() after offsets have been committed; its exceptions are logged."""
        try:
            with self._control.calling("commit"):
                self._task.commit()
        except Exception:
            _log.exception("The task's commit() failed; its offsets are committed nevertheless")

    def _finish(self) -> None:
        """Wait for unacknowledged batches and commit their offsets, within the flush timeout."""
        if self._control.revoked:
            return
        deadline = time.monotonic() + self._spec.flush_timeout
        while self._acks.pending and self._acks.error is None and time.monotonic() < deadline:
            self._producer.poll(_REPORTS)
            self._take_acks()
        if self._acks.pending and self._acks.error is None:
            _log.error(
                "Not all records were acknowledged within %.1f s; their offsets are not committed",
                self._spec.flush_timeout,
            )
        deadline = time.monotonic() + self._spec.flush_timeout
        while (self._ready or self._writer.busy) and time.monotonic() < deadline:
            if not self._writer.busy:
                self._commit()
            self._producer.poll(_REPORTS)
            self._check_commit()
        if self._ready or self._writer.busy:
            _log.error("Offsets could not be committed within %.1f s", self._spec.flush_timeout)


def _offset_writer(spec: TaskSpec, host: SlotHost) -> OffsetWriter | WorkerKeptOffsets:
    """The writer to the offsets topic or, without one, to the worker."""
    if not spec.offsets_topic:
        return WorkerKeptOffsets(host, spec)
    settings = spec.offsets_producer or spec.producer
    return OffsetWriter(
        lambda: host.producers.take(settings, purpose=Purpose.OFFSETS), spec.offsets_topic, spec.offsets_copy_topic
    )
