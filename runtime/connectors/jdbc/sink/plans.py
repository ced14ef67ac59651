"""How the rows of a segment are written: the table's columns, the conversion of values, and the writer."""

from __future__ import annotations

import datetime as dt
import logging
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from runtime.api.errors import ConnectError, DataError
from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.connection_config import QUOTE
from runtime.connectors.jdbc.sink.definitions import Definitions
from runtime.connectors.jdbc.sink.rows import RowField, Segment
from runtime.connectors.jdbc.sink.statements import CopyWriter, RowWriter, StatementWriter
from runtime.connectors.jdbc.sink.values import Convert, ParameterStyle, converter
from runtime.connectors.jdbc.sink_config import SinkSettings
from runtime.connectors.jdbc.tables import TableId
from runtime.connectors.jdbc.types import ColumnInfo

_log = logging.getLogger(__name__)

Column = Sequence[Any]
_PLAIN_NAME = re.compile(r"[^\W\d][\w$#]*\Z")
_STORED_NUMBERS: dict[str, Callable[[float], bool]] = {
    "sqlite": lambda number: not math.isnan(number),  # it would store null
    "mysql": math.isfinite,
    "mariadb": math.isfinite,
}

Columns = dict[str, ColumnInfo]
"""The columns of a table by name; in lower case if names are not quoted."""
_Key = tuple[TableId, tuple[RowField, ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How segments with the same table and fields are written."""

    writer: RowWriter
    converters: tuple[Convert | None, ...]

    def converted(self, segment: Segment) -> list[Column]:
        """The parameters of all rows; those of deleted rows are converted, too, but not used."""
        return [
            column if convert is None else [None if value is None else convert(value) for value in column]
            for convert, column in zip(self.converters, segment.columns, strict=True)
        ]


class Plans:
    """Makes plans, and creates and extends tables for them. Plans are kept until forget()."""

    def __init__(self, settings: SinkSettings, catalog: Catalog, dialect: str, driver: str) -> None:
        """`dialect` and `driver` are SQLAlchemy's names of the database and its driver."""
        self._settings, self._catalog, self._dialect = settings, catalog, dialect
        self._copies = dialect == "postgresql" and driver == "psycopg"
        self._style = ParameterStyle(
            settings.zone,
            settings.zone if settings.date_in_zone else dt.UTC,
            naive_text=dialect == "sqlite",
            postgres=dialect == "postgresql",
            stores=_STORED_NUMBERS.get(dialect),
        )
        self._plans: dict[_Key, Plan] = {}
        self._errors: dict[_Key, DataError] = {}  # of the batch
        self._columns: dict[TableId, Columns] = {}

    def forget(self) -> None:
        """Reads the tables again for the next segments, and creates temporary tables again in a new connection."""
        self._plans.clear()
        self._columns.clear()

    def new_batch(self) -> None:
        """Forgets the errors of the last batch: the user may have added the missing columns."""
        self._errors.clear()

    def of(self, connection: Connection, segment: Segment) -> Plan | DataError | None:
        """The plan for a segment, or the error of its records; None if there is nothing to write. May change the table
        and commit: call it before the rows are written. ConnectError if no record can be written."""
        key = segment.table, segment.fields
        plan: Plan | DataError | None = self._plans.get(key) or self._errors.get(key)
        if plan is not None:
            return plan
        try:
            plan = self._planned(connection, segment)
        except DataError as error:
            plan = error
        connection.commit()
        if isinstance(plan, Plan):
            self._plans[key] = plan
        elif plan is not None:
            self._errors[key] = plan
        return plan

    def _planned(self, connection: Connection, segment: Segment) -> Plan | None:
        """As of(); DataError for errors of the segment's records."""
        table, fields = segment.table, segment.fields
        if not self._settings.quote:
            _check_names((table.schema or table.name, table.name, *(field.name for field in fields)))
        columns = self._columns.get(table) or self._described(connection, table)
        if not columns and self._settings.create and segment.only_deletes:
            return None  # only a record with a value tells the columns of a table
        if not columns:
            columns = self._created(connection, table, fields)
        missing = [field for field in fields if self._name(field) not in columns]
        if missing:
            columns = self._described(connection, table)
            missing = [field for field in fields if self._name(field) not in columns]
        if missing and not self._settings.evolve:
            names = ", ".join(field.name for field in missing)
            raise DataError(f"The table {table} has no column {names}: add it, or set auto.evolve=true")
        if missing:
            columns = self._extended(connection, table, missing)
        writer = self._writer(segment)
        writer.prepare(connection)
        types = [columns[self._name(field)].type for field in fields]
        converters = [converter(field.schema, kind, self._style) for field, kind in zip(fields, types, strict=True)]
        return Plan(writer, tuple(converters))

    def _described(self, connection: Connection, table: TableId) -> Columns:
        folded = table
        if not self._settings.quote and self._dialect == "postgresql":
            folded = TableId(table.schema and table.schema.lower(), table.name.lower())
        infos = self._catalog.columns(connection, folded)
        columns = self._columns[table] = {
            info.name if self._settings.quote else info.name.lower(): info for info in infos
        }
        return columns

    def _name(self, field: RowField) -> str:
        """The key of a field's column in Columns; the database folds names that are not quoted."""
        return field.name if self._settings.quote else field.name.lower()

    def _created(self, connection: Connection, table: TableId, fields: Sequence[RowField]) -> Columns:
        if not self._settings.create:
            raise ConnectError(f"The table {table} does not exist: create it, or set auto.create=true")
        statement = self._definitions(connection).create(table, fields)
        _log.info("Creating the table %s: %s", table, " ".join(statement.split()))
        return self._changed(connection, table, [statement])

    def _extended(self, connection: Connection, table: TableId, fields: Sequence[RowField]) -> Columns:
        statements = self._definitions(connection).add(table, fields)
        _log.info("Extending the table %s: %s", table, "; ".join(statements))
        return self._changed(connection, table, statements, fields)

    def _definitions(self, connection: Connection) -> Definitions:
        return Definitions(connection, self._settings.quote, self._settings.zone)

    def _changed(
        self, connection: Connection, table: TableId, statements: Sequence[str], added: Sequence[RowField] = ()
    ) -> Columns:
        """Runs the statements; another task may have done the same meanwhile. The table then has the columns `added`,
        or the error of the statements is raised."""
        failure: Exception | None = None
        try:
            for statement in statements:
                connection.exec_driver_sql(statement)
            connection.commit()
        except Exception as error:  # drivers raise errors of their own types
            connection.rollback()
            failure = error
        columns = self._described(connection, table)
        if failure is not None and not (columns and all(self._name(field) in columns for field in added)):
            raise failure
        return columns

    def _writer(self, segment: Segment) -> RowWriter:
        names = [field.name for field in segment.fields]
        keys = [field.name for field in segment.fields if field.key]
        mode, quote = self._settings.insert_mode, self._settings.quote
        if self._copies:
            return CopyWriter(segment.table, names, keys, mode, quote)
        return StatementWriter(segment.table, names, keys, mode, self._dialect, quote)


def _check_names(names: Sequence[str]) -> None:
    """DataError for a name that would be SQL without quotes: records may have any text as the name of a field."""
    for name in names:
        if _PLAIN_NAME.match(name) is None:
            raise DataError(f"{name!r} is not a name without quotes: rename it, or set {QUOTE}=ALWAYS")
