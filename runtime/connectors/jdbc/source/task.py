"""The task of JdbcSource: reads its tables in turns."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence

from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError, RetriableError
from runtime.api.task import Offset, Partition
from runtime.connectors.jdbc.catalog.choice import catalog_of
from runtime.connectors.jdbc.database import Database
from runtime.connectors.jdbc.modes import Mode
from runtime.connectors.jdbc.source.offsets import QUERY_PARTITION, Position, position_of, table_partition, to_offset
from runtime.connectors.jdbc.source.selection import Origin, Selection
from runtime.connectors.jdbc.source.table_reader import ReaderSettings, TableReader
from runtime.connectors.jdbc.source.values import ValueMapping, from_micros
from runtime.connectors.jdbc.source_config import SourceSettings
from runtime.connectors.jdbc.tables import TableId

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 60.0  # seconds between two polls without rows
_CURRENT_TIME = -1  # of timestamp.initial


class SourceReads:
    """The readers of a task and their connection."""

    def __init__(
        self,
        settings: SourceSettings,
        tables: Sequence[TableId],
        committed: Callable[[Partition], Offset | None],
        add_offsets: Callable[[Sequence[tuple[Partition, Offset]]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tables` is empty for a query; `committed` returns the committed offset of a source partition; `add_offsets`
        as that of a SourceTaskContext; `clock` is in seconds."""
        self._settings, self._clock, self._add_offsets = settings, clock, add_offsets
        self._starts: dict[str, tuple[Partition, Offset]] = {}  # by reader, of those that start at the current time
        self._database = Database(settings.connection, reads_only=True)
        self._catalog = catalog_of(self._database.dialect)
        self._failures = 0
        self._readers: deque[TableReader] = deque()
        try:
            self._database.connect()
            origins = [Origin(table, "", settings.suffix) for table in tables]
            if settings.query:
                origins = [Origin(None, settings.query, settings.suffix)]
            self._readers.extend(self._reader(origin, committed) for origin in origins)
        except BaseException:
            self._database.close()
            raise

    def poll(self) -> Sequence[SourceRecord] | None:
        """The next batch; None if no table has rows now. RetriableError if the database is not available."""
        reader = self._reader_due()
        while reader is not None:
            batch = self._read(reader)
            start = self._starts.pop(reader.name, None)
            if batch is not None:
                return batch
            if start is not None:  # a restart before the first row continues here, not at its own time
                self._add_offsets([start])
            interval = self._settings.poll_interval
            reader.due = self._clock() + min(interval, reader.delay or interval)
            self._readers.rotate(-1)
            reader = self._reader_due()
        return None

    @property
    def wait(self) -> float:
        """Seconds until the next statement is due."""
        due = min((reader.due for reader in self._readers), default=0.0)
        return min(max(due - self._clock(), 0.001), _LONGEST_WAIT)

    def close(self) -> None:
        """Ends all statements and the connection."""
        self._database.close()

    def _reader(self, origin: Origin, committed: Callable[[Partition], Offset | None]) -> TableReader:
        settings = self._settings
        table = origin.table
        partition = QUERY_PARTITION if table is None else table_partition(table.text)
        topic = settings.topic_prefix + ("" if table is None else table.name)
        selection = Selection(origin, settings.mode, settings.incrementing, settings.timestamps, settings.quote)
        exact = self._database.dialect == "postgresql" and self._database.engine.dialect.driver == "psycopg"
        shared = ReaderSettings(
            ValueMapping(settings.numeric, settings.granularity, settings.zone, exact, settings.zero_dates),
            settings.max_rows,
            settings.delay,
            settings.max_wait,
            settings.non_null,
            settings.dead_letters,
        )
        offset = committed(partition)
        position = Position() if settings.mode is Mode.BULK else self._start(offset)
        reader = TableReader(selection, self._catalog, shared, partition, topic, position, self._clock)
        if not offset and settings.initial == _CURRENT_TIME and position.timestamp is not None:
            self._starts[reader.name] = (partition, to_offset(settings.mode, None, position.timestamp))
        return reader

    def _start(self, offset: Offset | None) -> Position:
        initial = self._settings.initial
        if offset or initial is None or not self._settings.mode.timestamp:
            return position_of(offset)
        if initial == _CURRENT_TIME:
            connection = self._database.connection()
            now = self._catalog.now(connection)
            connection.rollback()
            return Position(None, now)
        return Position(None, from_micros(initial * 1000))

    def _reader_due(self) -> TableReader | None:
        """The reader whose statement is running, or the first one that is due."""
        now = self._clock()
        running = next((reader for reader in self._readers if reader.reading), None)
        return running or next((reader for reader in self._readers if reader.due <= now), None)

    def _read(self, reader: TableReader) -> Sequence[SourceRecord] | None:
        try:
            connection = self._database.connection()
            batch = reader.read(connection)
            if batch is None:
                connection.rollback()
        except ConnectError as error:
            self._give_up(reader)
            if isinstance(error, RetriableError):
                self._count_failure(reader, str(error))
            raise
        except Exception as error:  # drivers raise errors of their own types
            self._give_up(reader)
            translated = self._database.translated(error, f"Cannot read {reader.name}")
            if isinstance(translated, RetriableError):
                self._count_failure(reader, str(translated))
            raise translated from None
        self._failures = 0
        return batch

    def _give_up(self, reader: TableReader) -> None:
        """Ends the statement with its connection; the next one starts after the last row that was returned."""
        try:
            reader.abandon()
        except Exception as error:  # the connection is closed anyway
            _log.debug("Closing a cursor failed: %s", self._database.message(error))
        self._database.discard()

    def _count_failure(self, reader: TableReader, message: str) -> None:
        """Delays the next attempt, or raises ConnectError after `query.retry.attempts` attempts."""
        allowed = self._settings.query_attempts
        self._failures += 1
        if 0 <= allowed < self._failures:
            raise ConnectError(f"{message} ({self._failures} attempts, query.retry.attempts={allowed})") from None
        reader.due = self._clock() + min(self._settings.connection.backoff, self._settings.poll_interval)


def encoded(tables: Sequence[TableId]) -> str:
    """Tables as a value of a task's configuration."""
    return json.dumps([[table.schema, table.name] for table in tables])


def decoded(text: str) -> list[TableId]:
    """The inverse of encoded()."""
    return [TableId(schema, name) for schema, name in json.loads(text)]
