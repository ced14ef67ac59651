"""Reads one table or query: runs its statement when it is due, and makes batches of the rows."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, CursorResult, Select

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.errors import ConnectError
from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.modes import Mode
from runtime.connectors.jdbc.source.offsets import Position, to_offset
from runtime.connectors.jdbc.source.selection import Selection
from runtime.connectors.jdbc.source.values import (
    Column,
    SourceColumn,
    ValueMapping,
    as_instant,
    inferred,
    source_column,
    zone_of,
)
from runtime.connectors.jdbc.types import ColumnInfo, Kind

Row = Sequence[Any]


class RowStream(Protocol):
    """The rows of a running statement."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    def fetch(self, count: int) -> Sequence[Row]:
        """The next rows, at most `count`; empty at the end."""

    def close(self) -> None:
        """Ends the statement."""


class ResultStream:
    """Rows of any driver, through SQLAlchemy."""

    def __init__(self, connection: Connection, statement: Select[Any], size: int) -> None:
        options = {"stream_results": True, "max_row_buffer": size}
        self._result: CursorResult[Any] = connection.execute(statement, execution_options=options)

    @property
    def names(self) -> Sequence[str]:
        return list(self._result.keys())

    def fetch(self, count: int) -> Sequence[Row]:
        return self._result.fetchmany(count)

    def close(self) -> None:
        self._result.close()


class PostgresStream:
    """Rows of a named cursor of psycopg, in the binary format, which it decodes about twice as fast as text."""

    def __init__(self, connection: Connection, statement: Select[Any]) -> None:
        compiled = statement.compile(dialect=connection.dialect)
        driver: Any = connection.connection.driver_connection
        self._cursor = driver.cursor(name="headrace_rows", binary=True)
        try:
            self._cursor.execute(str(compiled), dict(compiled.params))
        except BaseException:
            self._cursor.close()
            raise

    @property
    def names(self) -> Sequence[str]:
        return [column.name for column in self._cursor.description]

    def fetch(self, count: int) -> Sequence[Row]:
        rows: Sequence[Row] = self._cursor.fetchmany(count)
        return rows

    def close(self) -> None:
        self._cursor.close()


def opened(connection: Connection, statement: Select[Any], size: int) -> RowStream:
    """Runs the statement; `size` is the number of rows that fetch() is called with."""
    if connection.dialect.name == "postgresql" and connection.dialect.driver == "psycopg":
        return PostgresStream(connection, statement)
    return ResultStream(connection, statement, size)


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """What all readers of a task share. Times are in seconds."""

    mapping: ValueMapping
    max_rows: int
    delay: float
    non_null: bool


class TableReader:
    """One table or query of a task."""

    def __init__(
        self,
        selection: Selection,
        catalog: Catalog,
        settings: ReaderSettings,
        partition: Mapping[str, Any],
        topic: str,
        position: Position,
    ) -> None:
        """`position` is that of the last row whose record was committed."""
        self.due = 0.0
        """When the next statement is due, on the task's clock."""
        self._selection, self._catalog, self._settings = selection, catalog, settings
        self._partition, self._topic, self._position = partition, topic, position
        self._stream: RowStream | None = None
        self._infos: list[ColumnInfo] | None = None
        self._columns: list[SourceColumn] | None = None
        self._schema: Schema | None = None
        self._next: list[Row] = []

    @property
    def name(self) -> str:
        """The table's name, for messages."""
        return self._selection.origin.name

    @property
    def reading(self) -> bool:
        """Whether a statement is running."""
        return self._stream is not None

    def read(self, connection: Connection) -> SourceBatch | None:
        """The next rows; None at the end of the statement, which is run first if none is running."""
        if self._stream is None:
            self._open(connection)
        assert self._stream is not None
        rows = self._next or self._stream.fetch(self._settings.max_rows)
        self._next = []
        if not rows:
            self.abandon()
            return None
        if self._selection.mode is Mode.TIMESTAMP:  # the next row tells whether all with this timestamp are read
            self._next = list(self._stream.fetch(self._settings.max_rows))
        return self._batch(rows)

    def abandon(self) -> None:
        """Ends the running statement; the next one starts after the last row that was returned."""
        stream, self._stream = self._stream, None
        self._next = []
        if stream is not None:
            stream.close()

    def _open(self, connection: Connection) -> None:
        self._describe(connection)
        end = None
        if self._selection.mode.timestamp:
            end = self._catalog.now(connection) - dt.timedelta(seconds=self._settings.delay)
        statement = self._selection.statement(
            self._catalog, self._columns, self._position, end, self._settings.mapping.zone
        )
        self._stream = opened(connection, statement, self._settings.max_rows)

    def _describe(self, connection: Connection) -> None:
        """Reads the columns again, which may have changed since the last statement."""
        origin = self._selection.origin
        if origin.table is None:
            infos = self._catalog.query_columns(connection, origin.query)
        else:
            infos = self._catalog.columns(connection, origin.table)
            if not infos:
                raise ConnectError(f"The table {self.name} does not exist or has no columns")
        if infos is not None and infos == self._infos:
            return
        self._infos = infos
        self._columns = None if infos is None else [source_column(info, self._settings.mapping) for info in infos]
        self._schema = None if self._columns is None or self._uncertain() else self._schema_of(self._columns)
        if infos is not None:
            self._check_columns(infos, origin.table is not None)

    def _uncertain(self) -> bool:
        """Whether the types of some columns follow only from their values."""
        mapping, infos = self._settings.mapping, self._infos or []
        return not mapping.exact_driver and any(info.type.kind is Kind.OTHER for info in infos)

    def _check_columns(self, infos: Sequence[ColumnInfo], is_table: bool) -> None:
        selection = self._selection
        by_name = {info.name: info for info in infos}
        numbers = (selection.incrementing,) if selection.mode.incrementing else ()
        times = selection.timestamps if selection.mode.timestamp else ()
        for name in (*numbers, *times):
            if name not in by_name:
                raise ConnectError(f"{self.name} has no column {name}, which mode {selection.mode} needs")
        if not self._settings.non_null or not is_table:
            return
        if any(by_name[name].nullable for name in numbers):
            raise ConnectError(
                f"The column {selection.incrementing} of {self.name} may be null: declare it NOT NULL, "
                "or set validate.non.null=false"
            )
        if times and all(by_name[name].nullable for name in times):
            raise ConnectError(
                f"All timestamp columns of {self.name} may be null: declare one NOT NULL, "
                "or set validate.non.null=false"
            )

    def _schema_of(self, columns: Sequence[SourceColumn]) -> Schema:
        table = self._selection.origin.table
        name = None if table is None else table.name
        return struct_schema({column.name: column.schema for column in columns}).replace(name=name)

    def _batch(self, rows: Sequence[Row]) -> SourceBatch:
        assert self._stream is not None
        raw: dict[str, Column] = dict(zip(self._stream.names, zip(*rows, strict=True), strict=True))
        columns, schema = self._columns_for(raw)
        values = {column.name: self._converted(column, raw[column.name]) for column in columns}
        offset_of = self._offsets(raw, len(rows))
        batch = ValueBatch.struct(schema, values, len(rows))
        return SourceBatch(self._partition, offset_of, self._topic, batch, int(time.time() * 1000))

    def _columns_for(self, raw: Mapping[str, Column]) -> tuple[Sequence[SourceColumn], Schema]:
        if self._columns is not None and self._schema is not None:
            return self._columns, self._schema
        known = {info.name: info for info in self._infos or ()}
        columns = []
        for name, column in raw.items():
            info = known.get(name)
            if info is None or info.type.kind is Kind.OTHER:
                info = inferred(name, column)
            columns.append(source_column(info, self._settings.mapping))
        return columns, self._schema_of(columns)

    def _converted(self, column: SourceColumn, values: Column) -> Column:
        try:
            return column.values(values)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ConnectError(
                f"A value of the column {column.name} of {self.name} is not of type {column.type.kind}: {error}"
            ) from None

    def _offsets(self, raw: Mapping[str, Column], count: int) -> Any:
        """The function that returns the offset after the n-th row; advances the position to the last row."""
        selection = self._selection
        mode = selection.mode
        if mode is Mode.BULK:
            return _no_offset
        numbers = self._numbers(raw) if mode.incrementing else None
        times = self._times(raw) if mode.timestamp else None
        before = self._position.timestamp
        if mode is Mode.TIMESTAMP:
            assert times is not None
            following = self._times_of(self._next[:1])
            last = following[0] if following else None
            complete = _complete(times, before, last)
            self._position = Position(None, complete[-1])
            return lambda n: to_offset(mode, None, complete[n])
        time_of: Any = (lambda n: None) if times is None else times.__getitem__
        assert numbers is not None
        self._position = Position(int(numbers[count - 1]), time_of(count - 1))
        return lambda n: to_offset(mode, int(numbers[n]), time_of(n))

    def _numbers(self, raw: Mapping[str, Column]) -> Column:
        column = raw.get(self._selection.incrementing)
        if column is None:
            raise ConnectError(f"{self.name} has no column {self._selection.incrementing}")
        if not isinstance(column[-1], int) and int(column[-1]) != column[-1]:
            raise ConnectError(f"The column {self._selection.incrementing} of {self.name} has values with fractions")
        return column

    def _times(self, raw: Mapping[str, Column]) -> list[dt.datetime]:
        names = self._selection.timestamps
        try:
            columns = [raw[name] for name in names]
        except KeyError as error:
            raise ConnectError(f"{self.name} has no column {error.args[0]}") from None
        kinds = {info.name: info.type.kind for info in self._infos or ()}
        zone = zone_of(kinds.get(names[0], Kind.TIMESTAMP), self._settings.mapping.zone)
        timestamps = columns[0] if len(columns) == 1 else [_first(row) for row in zip(*columns, strict=True)]
        return [as_instant(value, zone) for value in timestamps]

    def _times_of(self, rows: Sequence[Row]) -> list[dt.datetime]:
        if not rows:
            return []
        assert self._stream is not None
        return self._times(dict(zip(self._stream.names, zip(*rows, strict=True), strict=True)))


def _first(row: Sequence[Any]) -> Any:
    return next((value for value in row if value is not None), None)


def _no_offset(_: int) -> None:
    return None


def _complete(
    times: Sequence[dt.datetime], before: dt.datetime | None, following: dt.datetime | None
) -> list[dt.datetime | None]:
    """For each row the latest timestamp of which all rows have been read. `following` is the timestamp of the row after
    these, None at the end of the statement."""
    completed: list[dt.datetime | None] = []
    done = before
    for moment, after in zip(times, [*times[1:], following], strict=True):
        if after is None or after > moment:
            done = moment
        completed.append(done)
    return completed
