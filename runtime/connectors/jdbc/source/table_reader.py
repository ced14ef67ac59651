"""Reads one table or query: runs its statement when it is due, and makes batches of the rows."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.errors import ConnectError, DataError
from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.catalog.fence import REGISTRATION
from runtime.connectors.jdbc.modes import Mode
from runtime.connectors.jdbc.source.late_commits import Bound, LateCommits
from runtime.connectors.jdbc.source.offsets import Position, to_offset
from runtime.connectors.jdbc.source.row_streams import Row, RowStream, opened
from runtime.connectors.jdbc.source.selection import Selection
from runtime.connectors.jdbc.source.values import (
    VALUE_ERRORS,
    Column,
    SourceColumn,
    ValueMapping,
    as_instant,
    as_text,
    inferred,
    source_column,
    zone_of,
)
from runtime.connectors.jdbc.types import ColumnInfo, Kind


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """What all readers of a task share. Times are in seconds; `max_wait` is negative for no limit."""

    mapping: ValueMapping
    max_rows: int
    delay: float
    max_wait: float
    non_null: bool
    dead_letters: str


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
        clock: Callable[[], float],
    ) -> None:
        """`position` is that of the last row whose record was committed; `clock` is in seconds."""
        self.due = 0.0
        """When the next statement is due, on the task's clock."""
        self._selection, self._catalog, self._settings = selection, catalog, settings
        self._partition, self._topic, self._position = partition, topic, position
        self._stream: RowStream | None = None
        self._infos: list[ColumnInfo] | None = None
        self._columns: list[SourceColumn] | None = None
        self._schema: Schema | None = None
        self._next: list[Row] = []
        self._late = LateCommits(self.name, settings.max_wait, clock)

    @property
    def name(self) -> str:
        """The table's name, for messages."""
        return self._selection.origin.name

    @property
    def reading(self) -> bool:
        """Whether a statement is running."""
        return self._stream is not None

    @property
    def delay(self) -> float | None:
        """Seconds until rows may be read that wait for transactions; None if none wait."""
        return self._late.delay

    def read(self, connection: Connection) -> Sequence[SourceRecord] | None:
        """The next rows; None at the end of the statement, which is run first if none is running, and while rows wait
        for transactions that may add others before them."""
        if self._stream is None and not self._open(connection):
            return None
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
        self._late.forget()
        if stream is not None:
            stream.close()

    def _open(self, connection: Connection) -> bool:
        """Runs the statement; False if no row can be read yet."""
        self._describe(connection)
        bound = self._bound(connection)
        if bound is None:
            return False
        statement = self._selection.statement(
            self._catalog, self._columns, self._position, bound, self._settings.mapping.zone
        )
        self._stream = opened(connection, statement, self._settings.max_rows)
        return True

    def _bound(self, connection: Connection) -> Bound | None:
        """Up to where rows are read now; None if there are none, and while they wait for transactions."""
        mode, catalog = self._selection.mode, self._catalog
        fenced = mode is not Mode.BULK and bool(self._settings.max_wait) and catalog.lists_transactions(connection)
        if self._late.delay is None:
            bound = self._newest(connection, fenced)
            if bound is None or not fenced:
                return bound
            fence = catalog.fence(connection, self._selection.origin.table, has_written=not mode.timestamp)
            self._late.begin(bound, fence)
        return self._late.settled(connection)

    def _newest(self, connection: Connection, fenced: bool) -> Bound | None:
        """Up to where there are rows now; None if there are none after the position."""
        if self._selection.mode.timestamp:
            delay = max(self._settings.delay, REGISTRATION if fenced else 0.0)
            return Bound(self._floored(self._catalog.now(connection) - dt.timedelta(seconds=delay)))
        if not fenced:
            return Bound()
        highest = connection.scalar(self._selection.highest(self._position))
        return None if highest is None else Bound(None, highest)

    def _floored(self, moment: dt.datetime) -> dt.datetime:
        """The moment with the precision of the timestamps, in whole seconds if that is unknown: rows that are written
        within the same second, or fraction of it, have the same timestamp."""
        types = {info.name: info.type for info in self._infos or ()}
        digits = [types[name].precision or 0 for name in self._selection.timestamps if name in types]
        unit = 10 ** (6 - min(digits, default=0))  # microseconds
        return moment.replace(microsecond=moment.microsecond // unit * unit)

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

    def _batch(self, rows: Sequence[Row]) -> Sequence[SourceRecord]:
        assert self._stream is not None
        raw: dict[str, Column] = dict(zip(self._stream.names, zip(*rows, strict=True), strict=True))
        columns, schema = self._columns_for(raw)
        errors: dict[int, DataError] = {}
        values = {column.name: self._converted(column, raw[column.name], errors) for column in columns}
        offset_of = self._offsets(raw, len(rows))
        struct = ValueBatch.struct(schema, values, len(rows))
        batch = SourceBatch(self._partition, offset_of, self._topic, struct, int(time.time() * 1000))
        return self._with_errors(batch, raw, errors) if errors else batch

    def _with_errors(
        self, batch: SourceBatch, raw: Mapping[str, Column], errors: Mapping[int, DataError]
    ) -> Sequence[SourceRecord]:
        records = list(batch)
        for index, error in errors.items():
            row = orjson.dumps({str(name): column[index] for name, column in raw.items()}, default=as_text)
            records[index] = ErrantSourceRecord(
                self._partition, batch.offset_of(index), error, row, self._settings.dead_letters
            )
        return records

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

    def _converted(self, column: SourceColumn, values: Column, errors: dict[int, DataError]) -> Column:
        """The values of the records; adds the errors of rows that cannot be records."""

        def failed(index: int, error: Exception) -> None:
            errors.setdefault(index, self._value_error(column.name, column.type.kind, error))

        try:
            return column.values(values)
        except VALUE_ERRORS:
            return column.each(values, failed)

    def _value_error(self, column: str, kind: Kind, error: Exception) -> DataError:
        return DataError(f"A value of the column {column} of {self.name} is not of type {kind}: {error}")

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
        try:
            return [as_instant(value, zone) for value in timestamps]
        except VALUE_ERRORS as error:
            raise self._value_error(" or ".join(names), Kind.TIMESTAMP, error) from None

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
