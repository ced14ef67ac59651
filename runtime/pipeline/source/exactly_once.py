"""Exactly-once delivery: records and offsets in one transaction (KIP-618)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.kafka.denials import with_topic
from runtime.kafka.formats import compact
from runtime.model.states import State
from runtime.model.task_errors import TaskLostError
from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.producers import Purpose
from runtime.pipeline.produce.send import Sender, content_of, lost_topic, send_failure, size_of
from runtime.pipeline.produce.transactions import Transactions, transaction_timeout
from runtime.pipeline.source.delivery import REPORTS, CommitCalls, TopicsInUse
from runtime.pipeline.source.record_reports import TransactionReports, send_run
from runtime.pipeline.source.source_offsets import OffsetsCopy
from runtime.pipeline.source.transaction_requests import End, SharedTransactions, TransactionRequests
from runtime.pipeline.task.async_adapter import implements
from runtime.pipeline.task.broker_wait import BrokerWait
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.task.failure import RevokedError

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

_log = logging.getLogger(__name__)

_REFUSAL_WAIT = 0.5  # seconds
_DELAYED_SHARE = 0.5  # of transaction.timeout.ms for which the rate limit may keep a transaction open


class ExactlyOnceDelivery:
    """A SourceDelivery. A transaction ends after each poll, at intervals, or where the task requests it.

    With the boundary `poll`, the next polls are converted while a transaction is being committed. When the source has
    delivered many records without a pause, the polls of a quarter of a second share a transaction; a poll is never
    divided between two.
    """

    def __init__(
        self,
        spec: TaskSpec,
        host: SlotHost,
        control: TaskControl,
        conversion: SourceConversion,
        requests: CommitRequests,
        task: SourceTask,
    ) -> None:
        self._spec, self._control, self._conversion, self._requests = spec, control, conversion, requests
        self._created = time.monotonic()
        self._producers = host.producers
        self._wait = BrokerWait(
            control, "producer", spec.producer, lambda reason: host.state(spec, State.UNASSIGNED, reason)
        )
        purpose = Purpose.SINGLE_RECORDS if host.producers.sends_singly(str(spec.id)) else Purpose.TRANSACTIONS
        self._reports = TransactionReports(task, control) if implements(task, "commit_record") else None
        self._transactions = Transactions(
            spec.producer, control, spec.flush_timeout, purpose, self._reports is not None
        )
        self._commits = CommitCalls(task, control, spec.flush_interval, requests)
        self._producer = self._transactions.producer
        self._share = self._producer.share()
        self._sender = Sender(
            self._producer, self._share, control, spec.flush_timeout, self._refused, self._check_acks
        )  # fmt: skip
        self._acks = Acks(share=self._share)
        self._topics, self._meter = TopicsInUse(spec, host, control), control.meter
        boundary = spec.transaction_boundary
        self._each_poll, self._at_intervals = boundary == "poll", boundary == "interval"
        self.boundaries = TransactionRequests() if boundary == "connector" else None
        self._waiting: list[MessageBatch] = []  # converted, for the next transaction
        self._offsets: dict[bytes, Mapping[str, Any] | None] = {}  # of the open transaction, and of aborted ones
        self._incomplete = False  # a batch has been sent in part
        self._failed: Exception | None = None
        self._next_commit = time.monotonic() + spec.transaction_interval
        settings = spec.offsets_producer
        self._copy = OffsetsCopy(
            lambda: host.producers.take(settings, purpose=Purpose.OFFSETS), spec.offsets_copy_topic
        ) if spec.offsets_copy_topic else None  # fmt: skip
        self._committing: dict[bytes, Mapping[str, Any] | None] = {}
        self._timeout = transaction_timeout(spec.producer)
        self._sharing = SharedTransactions(time.monotonic, self._timeout)
        self._began, self._warned_of_limit = 0.0, False  # of the open transaction

    def start(self) -> None:
        if self._copy is not None:
            self._copy.open()
        self._transactions.prepare(self._spec.offsets_topic, self._wait)

    def started(self) -> None:
        self._commits.started()

    def process(self, records: Sequence[SourceRecord]) -> None:
        self._sharing.polled(len(records))
        if self.boundaries is None:
            self._take(records)
            if self._each_poll and not (self._transactions.committing and self._may_wait()):
                self._forward()
            return
        for part, end in self.boundaries.parts(records):
            self._take(part)
            self._end(end)

    def tend(self) -> None:
        self._conclude(self._transactions.finished)
        self._take_requests()
        if not self._transactions.committing:
            if self._each_poll:
                self._forward()
            elif self._is_interval_over():
                self._commit()
        if self.boundaries is not None:
            self._end(self.boundaries.take_batch_end())
        if not self._transactions.open and not self._transactions.committing:
            self._commits.when_due()
        self._check_acks()

    def pause(self) -> None:
        """Under connector-defined boundaries the transaction stays open, since only the task knows where it ends."""
        if self.boundaries is None:
            self._commit()
            self._settle()

    def wait(self, seconds: float) -> None:
        self._sharing.idle()
        if self._each_poll and self._transactions.open:
            self._commit()
        if self._transactions.committing:
            self._control.wait(min(seconds, REPORTS / 10))
        elif self._acks.pending:
            self._producer.poll(min(seconds, REPORTS))
        elif self._at_intervals and self._transactions.open:
            self._control.wait(min(seconds, max(self._next_commit - time.monotonic(), 0.0)))
        else:
            self._control.wait(self._commits.wait(seconds))

    def possible_delay(self, seconds: float) -> float:
        """Nothing delays the end of a transaction that only the task can end for more than half the time after which
        Kafka aborts it: its remaining records are a debt, which delays the next transaction."""
        if self.boundaries is None or not self._transactions.open or seconds <= 0:
            return seconds
        left = self._began + self._timeout * _DELAYED_SHARE - time.monotonic()
        if left > 0:
            return min(seconds, left)
        if not self._warned_of_limit:
            self._warned_of_limit = True
            _log.warning(
                "The task's transaction has been open for half of transaction.timeout.ms (%.0f s), so its remaining "
                "records are not delayed by the rate limit; the next transaction waits accordingly longer. Raise "
                "headrace.rate.* or producer.override.transaction.timeout.ms", self._timeout,
            )  # fmt: skip
        return 0.0

    def finish(self, failed: bool) -> None:
        """After a failure, and under connector-defined boundaries, the open transaction is aborted; otherwise it is
        committed. A commit that has been started is waited for in any case."""
        if self._control.revoked:
            return
        try:
            self._settle()
            if not failed and not self._incomplete and self.boundaries is None:
                self._take_requests()
                if not (self._waiting or self._transactions.open or self._offsets):
                    self._commits.committed()
                self._commit()
                self._settle()
        except (StoppedError, RevokedError):
            _log.error(
                "The last transaction was not committed within %.1f s; its records are read again at the next start",
                self._spec.flush_timeout,
            )
        finally:
            self._transactions.close()

    def _take(self, records: Sequence[SourceRecord]) -> None:
        """Convert records, and send them unless they wait for the end of a commit. Records before one that fails the
        task are discarded with their poll; earlier polls are committed."""
        batch = self._conversion.convert(records)
        error = batch.error or self._offsets_topic_used(batch)
        if error is not None:
            if self._each_poll:
                self._commit()
            raise error
        self._waiting.append(batch)
        if not self._each_poll:
            self._send_waiting()

    def _offsets_topic_used(self, batch: MessageBatch) -> ConnectError | None:
        """As in Connect: a task that reads offsets while its transaction is open would wait for its own records."""
        if all(run.topic != self._spec.offsets_topic for run in batch.runs):
            return None
        return ConnectError(
            "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
        )

    def _forward(self) -> None:
        """Send what has been converted, and commit it unless the next poll may share the transaction."""
        if self._waiting:
            self._send_waiting()
        if self._transactions.open and not self._sharing.may_share():
            self._commit()
        elif self._offsets and not self._transactions.open and time.monotonic() >= self._next_commit:
            self._commit()  # offsets without records

    def _take_requests(self) -> None:
        """Add offsets behind those of the records polled so far, and commit them if the task requests it."""
        offsets, soon = self._requests.take()
        if offsets:
            if self._waiting:
                self._send_waiting()
            self._offsets.update(offsets)
        if soon and self.boundaries is None:
            self._commit()

    def _may_wait(self) -> bool:
        """Whether the converted batches may wait for the end of a commit while the task polls again."""
        records = sum(len(run.messages) for batch in self._waiting for run in batch.runs)
        return self._sharing.may_wait(records, sum(map(_size, self._waiting)))

    def _is_interval_over(self) -> bool:
        return self._at_intervals and time.monotonic() >= self._next_commit

    def _end(self, end: End | None) -> None:
        if end is End.COMMIT:
            self._commit()
        elif end is End.ABORT:
            self._abort()

    def _send_waiting(self) -> None:
        """Send in the open transaction, or in a new one when the last one is committed."""
        self._settle()
        self._begin()
        waiting, self._waiting = self._waiting, []
        self._incomplete = True
        for batch in waiting:
            if self._each_poll and self._sharing.is_full_for(_size(batch)):
                self._commit()
                self._settle()
                self._begin()
                self._incomplete = True
            self._send(batch)
            self._offsets.update(batch.offsets)
        self._incomplete = False

    def _begin(self) -> None:
        if not self._transactions.open:
            self._acks = Acks(share=self._share)
            self._transactions.begin()
            self._began = time.monotonic()
            self._sharing.began()

    def _send(self, batch: MessageBatch) -> None:
        """A separate function, so that the traceback of a later exception does not keep `delivery` alive."""
        size = _size(batch)
        self._sender.admit(size)
        delivery = self._acks.begin({}, size)
        for run in batch.runs:
            self._topics.use(run.topic)
            self._transactions.topics.add(run.topic)
            send_run(self._sender, run, delivery, self._reports)
        if self._reports is not None:
            self._reports.sent(batch)
        self._acks.seal()
        records = sum(len(run.messages) for run in batch.runs)
        self._sharing.sent(records, size)
        self._meter.handed_over(records)
        if (throttle := self._control.throttle) is not None:
            throttle.count_bytes(records, content_of(size, records))

    def _commit(self) -> None:
        """Start to commit everything that has been converted, with its offsets."""
        if self._waiting:
            self._send_waiting()
        self._next_commit = time.monotonic() + self._spec.transaction_interval
        if not self._transactions.open and not self._offsets:
            return
        self._settle()
        self._begin()
        self._incomplete = True
        self._send_offsets()
        self._committing, self._offsets = self._offsets, {}
        self._transactions.commit()
        self._incomplete = False

    def _send_offsets(self) -> None:
        from confluent_kafka import KafkaException

        topic = self._spec.offsets_topic
        self._transactions.topics.add(topic)
        delivery = self._acks.begin({})
        for key, offset in self._offsets.items():
            value = None if offset is None else compact(offset)
            try:
                self._producer.produce(topic, key=key, value=value, on_delivery=delivery)
            except KafkaException as e:
                self._refused(with_topic(e.args[0], topic))
        self._acks.seal()

    def _settle(self) -> None:
        """Wait for the outcome of a commit that has been started."""
        self._conclude(self._transactions.wait)

    def _conclude(self, outcome: Callable[[], bool]) -> None:
        """Process the outcome of a commit. If Kafka refused a record, raises the error of that record, which made the
        commit fail."""
        try:
            committed = outcome()
        except TaskLostError:
            self._await_refusal()
            raise
        if committed:
            self._committed()

    def _await_refusal(self) -> None:
        """Raises the error of a refused record. The commit may fail a moment before the record is reported."""
        until = time.monotonic() + _REFUSAL_WAIT
        self._check_acks()
        while self._acks.pending and time.monotonic() < until:
            self._producer.poll(REPORTS)
            self._check_acks()

    def _committed(self) -> None:
        self._acks.take()
        self._sharing.committed()
        self._meter.transaction_committed()
        if self._copy is not None:
            self._copy.write(self._committing)
        self._committing = {}
        if self._reports is not None:
            self._producer.poll(0)
            self._reports.committed()
        self._commits.committed()

    def _abort(self) -> None:
        """Discard the open transaction at the task's request; its offsets are committed in a transaction of their
        own, so that its records are not read again."""
        self._settle()
        if not self._transactions.open:
            _log.warning("The task's request to abort a transaction is ignored, since no record has been sent in it")
            return
        _log.info("Aborting the transaction at the task's request")
        self._transactions.abort()
        self._meter.discarded()
        if self._reports is not None:
            self._producer.poll(0)
            self._reports.aborted()
        self._commit()

    def _refused(self, error: KafkaError) -> None:
        """Kafka refuses a record, which fails the task: a transaction cannot skip a record (KIP-618)."""
        raise self._failure(error)

    def _check_acks(self) -> None:
        self._acks.take()
        if self._acks.error is not None:
            raise self._failure(self._acks.error)

    def _failure(self, error: KafkaError) -> Exception:
        """The exception that ends the task: always the first one, since the end of the task finds the error again."""
        if self._failed is None:
            self._failed = self._first_failure(error)
        return self._failed

    def _first_failure(self, error: KafkaError) -> Exception:
        name = str(self._spec.id)
        if error.name() == "MSG_SIZE_TOO_LARGE" and not self._producers.sends_singly(name):
            # The broker refuses all records of a request that is too large, although each may be small enough.
            self._producers.send_singly(name)
            return TaskLostError("a request was too large for its topic; records are sent in separate requests")
        if self._producer.lost_topic(error, time.monotonic() - self._created):
            return lost_topic(error)
        if self._producer.blames_record(error):
            return send_failure(error, self._spec.producer)
        return self._transactions.failure(error)


def _size(batch: MessageBatch) -> int:
    return sum(size_of(run.messages, run.content) for run in batch.runs)
