"""Parts of a source system that a task could not read, among the records of a poll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.kafka.formats import compact
from runtime.pipeline.source.message_batch import MessageBatch, MessageRun
from runtime.pipeline.task.failure import Failure, Stage, java_name, message_of, trace_of
from runtime.pipeline.tolerance import Tolerance


def is_errant(record: SourceRecord) -> bool:
    """Whether the task could not read this record."""
    return type(record) is ErrantSourceRecord


def fail_errant(records: Sequence[SourceRecord], plugin: str, tolerance: Tolerance) -> tuple[MessageBatch, int]:
    """The dead letters of errant records that are skipped, and the number of these records. `error` of the batch is the
    error that fails the task."""
    batch, skipped = MessageBatch(), 0
    letters: list[dict[str, Any]] = []
    for record in records:
        assert isinstance(record, ErrantSourceRecord)
        where = f"where source record is = {record.source_partition} at {record.source_offset}"
        failure = Failure(Stage.TASK_POLL, plugin, record.error, record, where)
        tolerance.counts.failed_try()
        try:
            tolerance.failed(failure)
        except Exception as error:
            batch.error = error
            break
        skipped += 1
        if not record.topic:
            batch.dropped.append(record)
            continue
        tolerance.counts.put_aside(failure)
        if not batch.runs or batch.runs[-1].topic != record.topic:
            batch.runs.append(MessageRun(record.topic, letters := [], unreported=True))
        letters.append(_dead_letter(record, failure, tolerance.task))
        batch.runs[-1].records.append(record)
    tolerance.release(records)
    return batch, skipped


def _dead_letter(record: ErrantSourceRecord, failure: Failure, task: str) -> dict[str, Any]:
    """The bytes that were not read, with headers as in a sink's dead letters (KIP-298) and the place in the source.
    It is sent and committed as records are: exactly once where they are."""
    connector, _, number = task.rpartition("-")
    fields = {
        "__connect.errors.connector.name": connector,
        "__connect.errors.task.id": number,
        "__connect.errors.stage": str(failure.stage),
        "__connect.errors.class.name": failure.plugin,
        "__connect.errors.exception.class.name": java_name(failure.error),
        "__connect.errors.exception.message": message_of(failure.error),
        "__connect.errors.exception.stacktrace": trace_of(failure.error),
    }
    headers = [(name, text.encode("utf-8", "replace")) for name, text in fields.items()]
    headers.append(("headrace.source.partition", compact(record.source_partition)))
    headers.append(("headrace.source.offset", compact(record.source_offset)))
    return {"value": record.value, "headers": headers}
