"""The rows of the tables as they are at one time.

A transaction reads all tables, and remembers which other transactions it sees (View). The stream, which the slot keeps
from before that time, then leaves out what the rows contain already. A snapshot that was interrupted reads the tables
that are left in another transaction, with a view of its own; nothing is lost or read a second time between them."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.api.errors import DataError, RetriableError
from runtime.connectors.postgres import catalog
from runtime.connectors.postgres.catalog import CatalogTable, quoted, quoted_names
from runtime.connectors.postgres.definition import CdcSettings
from runtime.connectors.postgres.events import ChangeEvents, TransactionSource
from runtime.connectors.postgres.offsets import LogPosition
from runtime.connectors.postgres.readers import TableReaders
from runtime.connectors.postgres.session import Session
from runtime.connectors.postgres.tables import RowReader
from runtime.connectors.postgres.views import SnapshotProgress, View
from runtime.connectors.postgres.wire.lsn import parse_lsn
from runtime.connectors.postgres.wire.pgoutput import Row

if TYPE_CHECKING:
    import psycopg

_log = logging.getLogger(__name__)

_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_NOW = "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text"
_PAUSE = 0.2  # seconds after which a poll returns the records that it has


class Snapshot:
    """Reads the tables that are not read yet. `position` is where the stream starts."""

    def __init__(
        self,
        settings: CdcSettings,
        session: Session,
        events: ChangeEvents,
        readers: TableReaders,
        position: LogPosition,
    ) -> None:
        self._settings, self._session, self._events, self._readers = settings, session, events, readers
        self._start = position.commit
        self.progress = position.progress or SnapshotProgress((), False)
        """What has been read, including the records that batches() has returned."""

    def batches(self) -> Iterator[list[SourceRecord]]:
        """The records, in batches. Errors of the connection are translated."""
        import psycopg

        try:
            names = self._names()
            with self._session.connection.transaction():
                yield from self._read(self._session.connection, names)
        except psycopg.errors.UndefinedTable as error:
            raise RetriableError(f"A table was dropped before the snapshot could read it: {error}") from None
        except psycopg.Error as error:
            raise self._session.server.translated(error, "The snapshot was interrupted") from None

    def position(self) -> LogPosition:
        """Where reading continues."""
        return LogPosition(self._start, None, self.progress)

    def _read(
        self, connection: psycopg.Connection[tuple[Any, ...]], names: Sequence[tuple[str, str]]
    ) -> Iterator[list[SourceRecord]]:
        """The tables are locked before the transaction has its view: one that ALTER TABLE or TRUNCATE rewrites after
        that would be empty for it."""
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if names:
            connection.execute(f"LOCK TABLE {quoted_names(names)} IN ACCESS SHARE MODE".encode())
        (xids,) = self._session.query("SELECT txid_current_snapshot()::text")[0]
        ((lsn,),) = self._session.query(_NOW)
        if self.progress.views:
            _log.warning("The snapshot was interrupted: the tables that are left are read as they are now")
        self.progress = self.progress.with_view(View(xids, parse_lsn(lsn)))
        source = TransactionSource(int(xids.split(":")[1]) % (1 << 32), time.time_ns() // 1000, None)
        tables = [table for name in names if (table := self._session.table(*name)) is not None]
        _log.info("Reading %d tables as of %s", len(tables), lsn)
        for number, table in enumerate(tables):
            reader = self._readers.of_catalog(table)
            marks = (number == 0, number == len(tables) - 1)
            rows = self._rows(connection, table)
            yield from _TableRows(self, reader, source, parse_lsn(lsn), marks).batches(rows, self._settings.batch)
        self.progress = self.progress.completed()
        _log.info("The snapshot is complete")

    def _names(self) -> list[tuple[str, str]]:
        """Schema and name of the tables that have not been read yet."""
        return [
            (schema, name)
            for schema, name in catalog.published(self._session.query, self._settings.publication)
            if f"{schema}.{name}" not in self.progress.tables and self._readers.takes(schema, name)
        ]

    def _rows(self, connection: psycopg.Connection[tuple[Any, ...]], table: CatalogTable) -> Iterator[Row]:
        columns = ", ".join(quoted(column.name) for column in table.columns)
        name = f"{quoted(table.schema)}.{quoted(table.name)}"
        only = "" if catalog.is_partitioned(self._session.query, name) else "ONLY "  # not those of inheriting tables
        statement = f"COPY (SELECT {columns} FROM {only}{name}) TO STDOUT"
        with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for line in copy:
                yield copied_row(bytes(line))

    def event(self, reader: RowReader, row: Row, shared: TransactionSource, lsn: int, mark: str) -> SourceRecord:
        """The record of a row."""
        offset = self.position().offset()
        try:
            value = reader.row(row)
        except DataError as error:
            return ErrantSourceRecord(self._events.partition, offset, error)
        source = self._events.source(reader, shared, lsn, mark)
        return self._events.record(reader, "r", reader.key(value), None, value, source, offset)

    def has_read(self, table: str) -> None:
        """A table was read completely."""
        self.progress = self.progress.with_tables([table])


class _TableRows:
    """The rows of a table, of which the last one completes it."""

    def __init__(
        self, snapshot: Snapshot, reader: RowReader, source: TransactionSource, lsn: int, marks: tuple[bool, bool]
    ) -> None:
        """`marks`: whether this is the first and the last table."""
        self._snapshot, self._reader, self._source, self._lsn = snapshot, reader, source, lsn
        self._is_first, self._is_last = marks

    def batches(self, rows: Iterator[Row], size: int) -> Iterator[list[SourceRecord]]:
        """Each row is kept back until the next one is there, since the last one has another offset."""
        batch: list[SourceRecord] = []
        kept = next(rows, None)
        number, until = 0, time.monotonic() + _PAUSE
        while kept is not None:
            row, kept, number = kept, next(rows, None), number + 1
            if kept is None:
                self._snapshot.has_read(self._reader.text)
            mark = self._mark(number == 1, kept is None)
            batch.append(self._snapshot.event(self._reader, row, self._source, self._lsn, mark))
            if len(batch) >= size or time.monotonic() > until:
                yield batch
                batch, until = [], time.monotonic() + _PAUSE
        if not number:
            self._snapshot.has_read(self._reader.text)
        if batch:
            yield batch

    def _mark(self, is_first: bool, is_last: bool) -> str:
        """The value of `source.snapshot`."""
        if is_first and self._is_first:
            return "first"
        if is_last:
            return "last" if self._is_last else "last_in_data_collection"
        return "first_in_data_collection" if is_first else "true"


def copied_row(line: bytes) -> Row:
    """The values of a line of COPY's text format."""
    texts = line.removesuffix(b"\n").split(b"\t")
    if b"\\" not in line:
        return list(texts)
    return [None if text == b"\\N" else _unescaped(text) if b"\\" in text else text for text in texts]


def _unescaped(text: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)
