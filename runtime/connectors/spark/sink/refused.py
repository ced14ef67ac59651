"""Records that cannot be written: reported, or an error that fails the task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.api.data.record import SinkRecord
from runtime.api.errors import DataError
from runtime.api.task import ErrantRecordReporter

if TYPE_CHECKING:
    from runtime.connectors.spark.sink.collected import CollectedRows


def refuse(record: SinkRecord, error: Exception, reporter: ErrantRecordReporter | None) -> None:
    """Report a record that cannot become a row; DataError without a reporter."""
    described = DataError(f"Record of {_place(record)} does not fit the columns of the Spark table: {error}")
    described.__cause__ = error
    if reporter is None:
        raise described
    reporter.report(record, described)


def query_failures(rows: CollectedRows, reporter: ErrantRecordReporter | None) -> Callable[[int, str], None] | None:
    """A function that reports the record of a row for which the query fails, with Spark's message; None if the records
    of the rows are not known."""
    if reporter is None or not rows.sources:
        return None

    def report(row: int, message: str) -> None:
        record = rows.record(row)
        reporter.report(record, DataError(f"Spark's query fails for the record of {_place(record)}: {message}"))

    return report


def _place(record: SinkRecord) -> str:
    return f"{record.original_topic}-{record.original_kafka_partition} at offset {record.original_kafka_offset}"
