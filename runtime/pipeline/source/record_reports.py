"""What has become of each record, for tasks that implement commit_record().

Each message of such a task has a callback of its own, on a producer that reports successes too. Other tasks have
neither: a callback takes half as long as everything else that is done for a record.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from runtime.api.task import RecordMetadata
from runtime.pipeline.produce.acks import DeliveryAlone
from runtime.pipeline.task.async_adapter import AsyncAdapter

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

    from runtime.api.data.record import SourceRecord
    from runtime.api.task import SourceTask
    from runtime.pipeline.produce.acks import Delivery, InFlight
    from runtime.pipeline.produce.send import Sender
    from runtime.pipeline.source.async_source import AsyncSourceAdapter
    from runtime.pipeline.source.message_batch import MessageBatch, MessageRun
    from runtime.pipeline.task.control import TaskControl

_log = logging.getLogger(__name__)

Report = tuple["SourceRecord", RecordMetadata | None]


class RecordReports:
    """Collects reports on any thread, and passes them to the task on the task's thread."""

    def __init__(self, task: SourceTask, control: TaskControl) -> None:
        self._task, self._control = task, control
        self._reports: deque[Report] = deque()
        self.add = self._reports.append

    def sent(self, batch: MessageBatch) -> None:
        """The messages of a batch are queued."""
        self._reports.extend((record, None) for record in batch.dropped)

    def deliveries(self, records: Sequence[SourceRecord], delivery: Delivery) -> list[RecordDelivery]:
        """The `on_delivery` of the message of each record. Drop all references once the messages are queued."""
        return [RecordDelivery(record, delivery, self) for record in records]

    def pass_on(self) -> None:
        """Call commit_record() for each record that has been reported; its exceptions are logged."""
        if not self._reports:
            return
        reports = [self._reports.popleft() for _ in range(len(self._reports))]
        with self._control.calling("commit_record"):
            if isinstance(self._task, AsyncAdapter):  # one call of the event loop for all
                cast("AsyncSourceAdapter", self._task).commit_records(reports)
                return
            for record, metadata in reports:
                try:
                    self._task.commit_record(record, metadata)
                except Exception:  # third-party code
                    _log.exception("The task's commit_record() failed; the record is committed nevertheless")


class TransactionReports(RecordReports):
    """As RecordReports, for records that are sent in transactions: passed on when the transaction is committed."""

    def __init__(self, task: SourceTask, control: TaskControl) -> None:
        super().__init__(task, control)
        self._open: list[SourceRecord] = []  # of the open transaction

    def sent(self, batch: MessageBatch) -> None:
        super().sent(batch)
        self._open += [record for run in batch.runs for record in run.records] + batch.dropped

    def aborted(self) -> None:
        """The open transaction was aborted: none of its records is stored."""
        self._reports.clear()
        self._reports.extend((record, None) for record in self._open)
        self._open = []

    def committed(self) -> None:
        """The open transaction was committed."""
        self._open = []
        self.pass_on()


def send_run(sender: Sender, run: MessageRun, delivery: Delivery, reports: RecordReports | None) -> None:
    """Queue the messages of a run, each with a callback of its own if the task wants reports."""
    each = None if reports is None else reports.deliveries(run.records, delivery)
    sender.send(run.topic, run.messages, delivery, each)


class RecordDelivery:
    """The `on_delivery` of the message of one record."""

    __slots__ = ("_delivery", "_record", "_reports")

    def __init__(self, record: SourceRecord, delivery: Delivery, reports: RecordReports) -> None:
        self._record, self._delivery, self._reports = record, delivery, reports

    @property
    def batch(self) -> InFlight:
        return self._delivery.batch

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._reports.add((self._record, _metadata(message)))
        elif self.batch.acks.failed(self.batch, error, message, self):
            self.skipped()

    def skipped(self) -> None:
        """The record was refused, and is skipped."""
        self._reports.add((self._record, None))

    def alone(self) -> DeliveryAlone:
        """The callback of the message when it is sent again in a request of its own."""
        return _RecordDeliveryAlone(self)

    def report(self, message: Message) -> None:
        """Kafka has stored the record."""
        self._reports.add((self._record, _metadata(message)))


class _RecordDeliveryAlone(DeliveryAlone):
    """As DeliveryAlone, for the message of one record."""

    __slots__ = ("_each",)

    def __init__(self, each: RecordDelivery) -> None:
        super().__init__(each)
        self._each = each

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._each.report(message)
        elif self.failed(error, message):
            self._each.skipped()


def _metadata(message: Any) -> RecordMetadata:
    key, value = (-1 if data is None else len(data) for data in (message.key(), message.value()))
    offset = -1 if message.offset() is None else message.offset()
    return RecordMetadata(message.topic(), message.partition(), offset, message.timestamp()[1], key, value)
