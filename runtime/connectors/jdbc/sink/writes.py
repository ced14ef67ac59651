"""The work of a sink task: writes each batch in one transaction, and finds the rows that cannot be written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, NestedTransaction, text
from sqlalchemy.exc import DBAPIError

from runtime.api.data.record import SinkRecord
from runtime.api.errors import ConnectError, DataError, RetriableError
from runtime.connectors.jdbc.catalog.choice import catalog_of
from runtime.connectors.jdbc.database import Database
from runtime.connectors.jdbc.errors import Fault, fault_of
from runtime.connectors.jdbc.sink.plans import Plan, Plans
from runtime.connectors.jdbc.sink.rows import Rows, Segment
from runtime.connectors.jdbc.sink_config import InsertMode, SinkSettings

# A commit that the database has not answered: whether it has taken effect.
#
# Rows that are inserted once more would be there twice, or violate the primary key. PostgreSQL tells what became of a
# transaction; other databases do not.
_log = logging.getLogger(__name__)
_CONSTRAINT = "23"  # class of SQLSTATEs: a constraint is violated, by a commit one that is deferred
_UNKNOWN_TRANSACTION = "22023"  # SQLSTATE: a server that took over has not got it

_Place = tuple[str, int | None, int]  # topic, partition, offset


@dataclass(frozen=True, slots=True)
class CommitDoubt:
    """A batch whose commit was requested. `transaction` is None if the database does not tell what became of it."""

    records: Sequence[SinkRecord]
    transaction: int | None

    @classmethod
    def of(cls, connection: Connection, records: Sequence[SinkRecord]) -> CommitDoubt:
        """For the open transaction, which has the rows of these records."""
        knows = connection.dialect.name == "postgresql"
        return cls(records, connection.scalar(text("SELECT txid_current()")) if knows else None)

    def is_committed(self, connection: Connection, records: Sequence[SinkRecord]) -> bool:
        """Whether these records are the batch, and have been committed. RetriableError while the server does not know
        that the connection is lost."""
        if self.transaction is None or not self._is_of(records):
            return False
        status = self._status(connection)
        if status == "in progress":
            raise RetriableError("The database has not ended the transaction whose connection was lost")
        if status == "committed":
            _log.info("The batch of %d records was committed although the connection was lost", len(records))
        return status == "committed"

    def warn(self) -> None:
        """Logs that rows may be written twice."""
        if self.transaction is None:
            _log.warning(
                "The database did not answer the commit of %d records: if it has committed them, they are inserted "
                "again. Set insert.mode=upsert and pk.mode=kafka to have each of them once", len(self.records)
            )  # fmt: skip

    def _is_of(self, records: Sequence[SinkRecord]) -> bool:
        return records is self.records or list(map(_place, records)) == list(map(_place, self.records))

    def _status(self, connection: Connection) -> str | None:
        try:
            status: str | None = connection.scalar(text("SELECT txid_status(:number)"), {"number": self.transaction})
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _UNKNOWN_TRANSACTION:
                raise
            status = None
        connection.rollback()
        return status


def _place(record: SinkRecord) -> _Place:
    return record.original_topic, record.original_kafka_partition, record.original_kafka_offset


class DeferredViolationError(Exception):
    """The commit of a batch has violated a deferred constraint, so that nothing of it was written."""


class Violation(NamedTuple):
    """A row that violates a constraint. If that is deferred, later rows of the batch may satisfy it."""

    plan: Plan
    segment: Segment
    error: DataError


Column = Sequence[Any]
Failed = Callable[[SinkRecord, Exception], None]


class SinkWrites:
    """The connection and the plans of a task."""

    def __init__(self, settings: SinkSettings, failed: Failed) -> None:
        """`failed` is called for each record that cannot be written; it raises if such records are not tolerated.
        ConnectError if the database is not available."""
        self._settings, self._failed = settings, failed
        self._database = Database(settings.connection)
        catalog = catalog_of(self._database.dialect)
        self._plans = Plans(settings, catalog, self._database.dialect, self._database.engine.dialect.driver)
        self._rows = Rows(settings.rows, self._fail)
        self._failures = 0
        self._doubt: CommitDoubt | None = None  # a commit that has not been answered
        self._violating: list[Violation] | None = None  # while rows that violate deferred constraints are searched for
        self._reported = set[_Place]()  # the failed records of the batch
        self._known = set[_Place]()  # those of its earlier attempts, which fail again
        try:
            self._database.connect()
        except BaseException:
            self._database.close()
            raise

    def put(self, records: Sequence[SinkRecord]) -> None:
        """Writes and commits a batch. RetriableError if nothing was committed and the same batch may succeed later."""
        if not len(records):
            return
        try:
            self._transaction(records)
            self._failures = 0
        except RetriableError as error:
            self._lose_connection()
            self._count_failure(str(error))
        except ConnectError:
            self._lose_connection()
            raise
        except Exception as error:  # drivers raise errors of their own types
            self._lose_connection()
            if fault_of(error) not in (Fault.RETRIABLE, Fault.CHANGED):
                raise self._database.translated(error, "The batch cannot be written") from None
            self._count_failure(f"The batch was not written: {self._database.message(error)}")

    @property
    def retry_backoff(self) -> float:
        """Seconds before a batch is written again."""
        return self._settings.retry_backoff

    def close(self) -> None:
        """Closes the connection."""
        self._database.close()

    def _transaction(self, records: Sequence[SinkRecord]) -> None:
        """Writes and commits a batch, without records that violate deferred constraints."""
        left = records
        self._reported, self._known = set(), set()
        while True:
            try:
                self._write_all(left, records)
                return
            except DeferredViolationError as error:
                self._lose_connection()
                self._known |= self._reported
                violating = {_place(segment.records[0]): fault for _, segment, fault in self._find_violating(left)}
                errors = {place: fault for place, fault in violating.items() if place not in self._known}
                if not errors:
                    raise error.__cause__ or error from None
                for record in left:
                    if (fault := errors.get(_place(record))) is not None:
                        self._failed(record, fault)
                left = [record for record in left if _place(record) not in errors]

    def _find_violating(self, records: Sequence[SinkRecord]) -> list[Violation]:
        """The rows of a batch that violate constraints even after its other rows have been written. Writes nothing."""
        self._violating = []
        try:
            connection = self._database.connection()
            self._write_segments(connection, records)
            before = 0
            while (count := len(self._violating)) != before:
                again, self._violating, before = self._violating, [], count
                for plan, segment, _ in again:
                    self._write(connection, plan, segment)
            return self._violating
        finally:
            self._violating = None
            self._lose_connection()

    def _write_all(self, left: Sequence[SinkRecord], records: Sequence[SinkRecord]) -> None:
        """Writes and commits the records of a batch that are left."""
        connection = self._database.connection()
        if self._doubt is not None:
            committed = self._doubt.is_committed(connection, records)
            self._doubt = None
            if committed:
                return
        self._write_segments(connection, left)
        self._commit(connection, records)

    def _write_segments(self, connection: Connection, records: Sequence[SinkRecord]) -> None:
        self._plans.new_batch()
        segments = self._rows.segments(records)
        planned = [(segment, self._plans.of(connection, segment)) for segment in segments]
        for segment, plan in planned:
            if plan is None:
                continue
            if isinstance(plan, DataError):
                for record in segment.records:
                    self._fail(record, plan)
                continue
            size = self._settings.batch_size
            for start in range(0, len(segment), size):
                whole = start == 0 and len(segment) <= size
                self._write(connection, plan, segment if whole else segment.part(start, start + size))

    def _commit(self, connection: Connection, records: Sequence[SinkRecord]) -> None:
        inserts = self._settings.insert_mode is InsertMode.INSERT  # other modes may write the rows again
        doubt = CommitDoubt.of(connection, records) if inserts else None
        try:
            connection.commit()
        except DBAPIError as error:
            if str(getattr(error.orig, "sqlstate", "")).startswith(_CONSTRAINT):
                raise DeferredViolationError from error
            self._keep(doubt)
            raise
        except Exception:
            self._keep(doubt)
            raise

    def _keep(self, doubt: CommitDoubt | None) -> None:
        self._doubt = doubt
        if doubt is not None:
            doubt.warn()

    def _fail(self, record: SinkRecord, error: Exception) -> None:
        place = _place(record)
        if self._violating is None and place not in self._known:  # otherwise it has been reported
            self._reported.add(place)
            self._failed(record, error)

    def _write(self, connection: Connection, plan: Plan, segment: Segment) -> None:
        """Writes the rows; if that fails because of a row, writes each half, down to the rows at fault."""
        savepoint = connection.begin_nested()
        try:
            self._apply(connection, plan, segment)
            if self._violating is not None:
                connection.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))
                connection.execute(text("SET CONSTRAINTS ALL DEFERRED"))
            savepoint.commit()
            return
        except Exception as error:
            self._roll_back(savepoint, error)
            if isinstance(error, ConnectError) or fault_of(error) is not Fault.ROW:
                raise
            if len(segment) == 1:
                described = DataError(self._described(segment, error))
                if self._violating is not None:
                    self._violating.append(Violation(plan, segment, described))
                else:
                    self._fail(segment.records[0], described)
                return
        middle = len(segment) // 2
        self._write(connection, plan, segment.part(0, middle))
        self._write(connection, plan, segment.part(middle, len(segment)))

    def _roll_back(self, savepoint: NestedTransaction, error: Exception) -> None:
        """Undoes what the failed statements have written. Raises their error if that fails: SQLite ends the whole
        transaction when its disk is full, and its savepoints with it."""
        try:
            savepoint.rollback()
        except Exception:
            raise error from None

    def _described(self, segment: Segment, error: Exception) -> str:
        record = segment.records[0]
        place = f"{record.original_topic}-{record.original_kafka_partition} at offset {record.original_kafka_offset}"
        return f"The record of {place} cannot be written to {segment.table}: {self._database.message(error)}"

    def _apply(self, connection: Connection, plan: Plan, segment: Segment) -> None:
        columns = plan.converted(segment)
        keys = [column for field, column in zip(segment.fields, columns, strict=True) if field.key]
        if any(None in column for column in keys):
            raise ValueError("a column of the primary key is null")
        if self._settings.insert_mode is InsertMode.INSERT or not keys:
            self._insert(connection, plan, segment.deleted, columns, keys)
        else:
            self._merge(connection, plan, segment.deleted, columns, keys)

    def _insert(
        self,
        connection: Connection,
        plan: Plan,
        deleted: Sequence[bool],
        columns: Sequence[Column],
        keys: Sequence[Column],
    ) -> None:
        """Inserts and deletes in the order of the records."""
        if not deleted:
            plan.writer.write(connection, columns)
            return
        start = 0
        for gone, run in groupby(deleted):
            end = start + sum(1 for _ in run)
            if gone:
                plan.writer.delete(connection, [column[start:end] for column in keys])
            else:
                plan.writer.write(connection, [column[start:end] for column in columns])
            start = end

    def _merge(
        self,
        connection: Connection,
        plan: Plan,
        deleted: Sequence[bool],
        columns: Sequence[Column],
        keys: Sequence[Column],
    ) -> None:
        """Writes the last record of each key. A key that was deleted in between is deleted first, so that columns that
        its last record lacks do not keep their old values."""
        names: Column = keys[0] if len(keys) == 1 else list(zip(*keys, strict=True))
        last = {name: row for row, name in enumerate(names)}
        if not deleted and len(last) == len(names):
            plan.writer.write(connection, columns)
            return
        doomed = {name for name, gone in zip(names, deleted, strict=True) if gone} if deleted else set()
        if doomed:
            rows = [last[name] for name in doomed]
            plan.writer.delete(connection, [[column[row] for row in rows] for column in keys])
        updates = self._settings.insert_mode is InsertMode.UPDATE
        chosen = [
            row for name, row in last.items() if not (deleted and deleted[row]) and not (updates and name in doomed)
        ]
        if chosen:
            plan.writer.write(connection, [[column[row] for row in chosen] for column in columns])

    def _lose_connection(self) -> None:
        """Rolls back. The next batch gets another connection, in which temporary tables are created again."""
        self._database.discard()
        self._plans.forget()

    def _count_failure(self, message: str) -> None:
        """Raises RetriableError, or ConnectError after `max.retries` failures in a row."""
        self._failures += 1
        if self._failures > self._settings.retries:
            raise ConnectError(f"{message} ({self._failures} attempts, max.retries={self._settings.retries})") from None
        raise RetriableError(message) from None
