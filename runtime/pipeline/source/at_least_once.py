"""At-least-once delivery: records on the slot's shared producer; offsets follow at intervals, once acknowledged."""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.kafka.formats import compact
from runtime.model.states import State
from runtime.pipeline.produce.acks import Acks, InFlight, OffsetsByKey
from runtime.pipeline.produce.producers import Purpose
from runtime.pipeline.produce.send import Sender, content_of, lost_topic, send_failure, size_of
from runtime.pipeline.source.delivery import REPORTS, CommitCalls, TopicsInUse
from runtime.pipeline.source.record_reports import RecordReports, send_run
from runtime.pipeline.source.source_offsets import OffsetWriter
from runtime.pipeline.task.async_adapter import implements
from runtime.pipeline.task.broker_wait import BrokerWait
from runtime.pipeline.task.failure import Failure, Stage

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from runtime.api.data.record import SourceRecord
    from runtime.api.task import SourceTask
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.source.commit_requests import CommitRequests
    from runtime.pipeline.source.convert_source import SourceConversion
    from runtime.pipeline.source.message_batch import MessageBatch
    from runtime.pipeline.task.control import TaskControl
    from runtime.pipeline.tolerance import Tolerance


class WorkerKeptOffsets:
    """Same interface as OffsetWriter, without a topic: once the worker has answered, the commit is durable."""

    def __init__(self, host: SlotHost, spec: TaskSpec) -> None:
        self._host, self._spec = host, spec
        self._responses: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._writing: OffsetsByKey = {}
        self._error: str | None = None

    @property
    def busy(self) -> bool:
        """Whether a commit is pending."""
        return bool(self._writing)

    def write(self, offsets: OffsetsByKey) -> None:
        """Start a commit; only while none is pending."""
        records = [(k.decode(), None if o is None else compact(o).decode()) for k, o in offsets.items()]
        self._host.offsets(self._spec, records, self._responses.put)
        self._writing = offsets

    def finished(self) -> bool:
        """Whether the commit has been stored; True once per commit."""
        try:
            self._error = self._responses.get_nowait()
        except queue.Empty:
            return False
        if self._error is not None:
            return False
        self._writing = {}
        return True

    def failed(self) -> OffsetsByKey:
        """The offsets of a commit that the worker could not store, once; empty otherwise."""
        if self._error is None:
            return {}
        _log.error("Offsets could not be stored, retrying: %s", self._error)
        offsets, self._writing, self._error = self._writing, {}, None
        return offsets


_log = logging.getLogger(__name__)


class AtLeastOnceDelivery:
    """A SourceDelivery. After a crash, records whose offsets were not committed yet are sent again."""

    def __init__(
        self,
        spec: TaskSpec,
        host: SlotHost,
        control: TaskControl,
        conversion: SourceConversion,
        tolerance: Tolerance,
        requests: CommitRequests,
        task: SourceTask,
    ) -> None:
        self._spec, self._control, self._requests = spec, control, requests
        self._requested: Sequence[InFlight] | None = None  # a commit waits for the acknowledgement of these batches
        self._conversion, self._tolerance = conversion, tolerance
        owner = None if spec.producer_shared else str(spec.id)
        self._reports = RecordReports(task, control) if implements(task, "commit_record") else None
        each_reported = self._reports is not None
        self._producer = host.producers.take(spec.producer, owner, each_reported=each_reported)
        self._wait = BrokerWait(
            control, "producer", spec.producer, lambda reason: host.state(spec, State.UNASSIGNED, reason)
        )
        share = self._producer.share()
        tolerates = self._producer.may_skip if tolerance.policy.tolerate_all else None
        self._acks = Acks(tolerates, share, resends=True)
        self._sender = Sender(
            self._producer, share, control, spec.flush_timeout, self._refused, self._while_the_queue_is_full,
            lambda: host.producers.take(spec.producer, owner, Purpose.SINGLE_RECORDS, each_reported),
        )  # fmt: skip
        self._writer = _offset_writer(spec, host)
        self._ready: dict[bytes, Mapping[str, Any] | None] = {}
        self._created = time.monotonic()
        self._next_commit = self._created + spec.flush_interval
        self._topics, self._meter = TopicsInUse(spec, host, control), control.meter
        self._commits = CommitCalls(task, control, spec.flush_interval, requests)

    def start(self) -> None:
        self._wait.until(self._responds, self._producer.log)

    def _responds(self) -> bool:
        """Whether a broker responds. ConnectError if all refuse the producer."""
        if self._producer.responds(self._spec.offsets_topic or "__consumer_offsets"):
            return True
        self._producer.poll(0)
        if self._producer.fatal is not None:
            raise self._producer.failure(self._producer.fatal)
        return False

    def started(self) -> None:
        self._commits.started()

    def process(self, records: Sequence[SourceRecord]) -> None:
        batch = self._conversion.convert(records)
        self._send(batch)
        if batch.error is not None:
            raise batch.error

    def tend(self) -> None:
        self._take_requests()
        self._acknowledge()
        self._commit_when_due()

    def pause(self) -> None:
        """Acknowledgements and commits continue while the task is paused."""

    def wait(self, seconds: float) -> None:
        """Serve delivery reports, or sleep if none are expected."""
        if self._acks.pending or self._writer.busy:
            self._producer.poll(min(seconds, REPORTS))
        elif self._ready:
            self._control.wait(min(seconds, max(self._next_commit - time.monotonic(), 0.0)))
        else:
            self._control.wait(self._commits.wait(seconds))

    def possible_delay(self, seconds: float) -> float:
        return seconds

    def finish(self, failed: bool) -> None:
        """Wait for unacknowledged batches and commit their offsets, within the flush timeout."""
        self._acks.drop_unsealed()
        if not failed:
            self._take_requests()
        if self._control.revoked:
            return
        deadline = time.monotonic() + self._spec.flush_timeout
        while self._acks.pending and self._acks.error is None and time.monotonic() < deadline:
            self._producer.poll(REPORTS)
            self._take_acks()
        if self._acks.pending and self._acks.error is None:
            _log.error(
                "Not all records were acknowledged within %.1f s; their offsets are not committed",
                self._spec.flush_timeout,
            )
        if not self._ready and not self._writer.busy:
            self._commits.committed()
        deadline = time.monotonic() + self._spec.flush_timeout
        while (self._ready or self._writer.busy) and time.monotonic() < deadline:
            if not self._writer.busy:
                self._commit()
            self._producer.poll(REPORTS)
            self._check_commit()
        if self._ready or self._writer.busy:
            _log.error("Offsets could not be committed within %.1f s", self._spec.flush_timeout)

    def _send(self, batch: MessageBatch) -> None:
        """A separate function, so that the traceback of a later exception does not keep `delivery` alive."""
        size = sum(size_of(run.messages, run.content) for run in batch.runs)
        self._sender.admit(size)
        delivery = self._acks.begin(batch.offsets, size)
        for run in batch.runs:
            self._topics.use(run.topic)
            if run.unreported:
                self._acks.keep(run.messages)
            send_run(self._sender, run, delivery, self._reports)
        if self._reports is not None:
            self._reports.sent(batch)
        self._acks.seal()
        records = sum(len(run.messages) for run in batch.runs)
        self._meter.handed_over(records)
        if (throttle := self._control.throttle) is not None:
            throttle.count_bytes(records, content_of(size, records))

    def _take_requests(self) -> None:
        """Add offsets behind those of the records polled so far, and note a requested commit."""
        offsets, soon = self._requests.take()
        if offsets:
            self._acks.begin(offsets)  # acknowledged, since no message refers to it
            self._acks.seal()
        if soon:
            self._requested = self._acks.unacknowledged[-1:]

    def _while_the_queue_is_full(self) -> None:
        """Commit acknowledged batches while the next one waits for room."""
        self._acknowledge()
        self._commit_when_due()

    def _refused(self, error: KafkaError) -> None:
        """Kafka refuses a record: skip the record or fail the task. Not for records returned by a failed producer."""
        if not self._producer.blames_record(error):
            raise self._producer.failure(error)
        failure = send_failure(error, self._spec.producer)
        if not (self._producer.may_skip(error) and self._tolerance.policy.tolerate_all):
            raise failure
        name = "org.apache.kafka.clients.producer.KafkaProducer"
        try:
            self._tolerance.failed(Failure(Stage.KAFKA_PRODUCE, name, failure, None, ""))
        finally:
            self._tolerance.release(())

    def _acknowledge(self) -> None:
        self._take_acks()
        error = self._acks.error or (self._producer.fatal if self._acks.pending else None)
        if error is not None:
            raise self._failure(error)

    def _failure(self, error: KafkaError) -> Exception:
        """The exception that ends the task after this error of a batch."""
        if self._producer.lost_topic(error, time.monotonic() - self._created):
            return lost_topic(error)
        if self._producer.blames_record(error):
            return send_failure(error, self._spec.producer)
        return self._producer.failure(error)

    def _take_acks(self) -> None:
        self._sender.serve(self._acks)
        for refusal in self._acks.take_refused():
            self._refused(refusal)
        ready = self._acks.take()
        if self._reports is not None:
            self._reports.pass_on()
        self._ready.update(ready)
        self._meter.acknowledged(self._acks.left)

    def _commit_when_due(self) -> None:
        self._check_commit()
        if not self._acks.pending:  # otherwise the task might discard records that Kafka may still refuse
            self._commits.make_up()
            if not self._ready and not self._writer.busy:
                self._commits.when_due()
        now = time.monotonic()
        if now < self._next_commit:
            if self._is_commit_requested() and not self._writer.busy:
                self._requested = None
                self._commit()
            return
        if self._writer.busy:
            _log.warning("The previous offset commit is still pending; the next one waits for it")
        else:
            self._commit()
        self._next_commit = now + self._spec.flush_interval

    def _is_commit_requested(self) -> bool:
        """Whether the task has requested a commit, and the records before it have been acknowledged."""
        return self._requested is not None and not any(b in self._acks.unacknowledged for b in self._requested)

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
            self._commits.committed()
        elif failed := self._writer.failed():
            self._meter.committed(False)
            self._ready = {**failed, **self._ready}


def _offset_writer(spec: TaskSpec, host: SlotHost) -> OffsetWriter | WorkerKeptOffsets:
    """The writer to the offsets topic or, without one, to the worker."""
    if not spec.offsets_topic:
        return WorkerKeptOffsets(host, spec)
    settings = spec.offsets_producer or spec.producer
    return OffsetWriter(
        lambda: host.producers.take(settings, purpose=Purpose.OFFSETS), spec.offsets_topic, spec.offsets_copy_topic
    )
