"""The catalog of any database, through SQLAlchemy's inspection."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import NoSuchTableError

from runtime.connectors.jdbc.catalog.fence import Fence
from runtime.connectors.jdbc.tables import TableId, like
from runtime.connectors.jdbc.types import ColumnInfo, DatabaseType, Kind

_SYSTEM_SCHEMAS = frozenset({"information_schema", "performance_schema", "mysql", "sys"})


class Catalog:
    """Tables and columns of a database."""

    earliest: ClassVar[dt.datetime | None] = None
    """The first point in time that a column can have; rows with earlier ones have none. None: all are valid."""

    def tables(
        self, connection: Connection, types: Iterable[str], schema_pattern: str | None, catalog_pattern: str | None
    ) -> list[TableId]:
        """The tables of these types (TABLE, VIEW, …) whose schema and catalog match JDBC's patterns."""
        if not like(catalog_pattern, str(connection.engine.url.database or "")):
            return []
        inspector = sa.inspect(connection)
        wanted = {kind.upper() for kind in types}
        tables: list[TableId] = []
        for schema in self._schemas(inspector):
            if not self._is_selected(schema or "", schema_pattern, connection):
                continue
            names: list[str] = inspector.get_table_names(schema) if "TABLE" in wanted else []
            views: list[str] = inspector.get_view_names(schema) if "VIEW" in wanted else []
            tables += [TableId(schema, name) for name in (*names, *views)]
        return tables

    def columns(self, connection: Connection, table: TableId) -> list[ColumnInfo]:
        """The columns of a table in their order; empty if it does not exist."""
        inspector = sa.inspect(connection)
        try:
            columns = inspector.get_columns(table.name, table.schema)
        except NoSuchTableError:
            return []
        keys = set(inspector.get_pk_constraint(table.name, table.schema)["constrained_columns"])
        return [
            ColumnInfo(
                column["name"],
                self.type_of(column["type"]),
                bool(column["nullable"]) and column["name"] not in keys,
                column["name"] in keys,
            )
            for column in columns
        ]

    def query_columns(self, connection: Connection, query: str) -> list[ColumnInfo] | None:
        """The columns of a query; None if the database tells them only with the first row."""
        return None

    def now(self, connection: Connection) -> dt.datetime:
        """The database's current time."""
        now = connection.scalar(sa.select(sa.func.current_timestamp()))
        assert isinstance(now, dt.datetime)
        return now if now.tzinfo is not None else now.replace(tzinfo=dt.UTC)

    def fence(self, connection: Connection, table: TableId | None, has_written: bool) -> Fence:
        """Waits for the transactions that are open now: those that have begun to write to the table (None: to any
        table) if `has_written`, otherwise all. Only for databases with lists_transactions()."""
        raise NotImplementedError

    def lists_transactions(self, connection: Connection) -> bool:
        """Whether the database tells this user which transactions are open."""
        return False

    def timestamp_term(self, expression: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """An expression of a timestamp column as it is compared and sorted."""
        return expression

    def timestamp_value(self, moment: dt.datetime, kind: Kind, zone: dt.tzinfo) -> Any:
        """The parameter with which a timestamp column is compared; `moment` has a time zone."""
        return moment if kind is Kind.TIMESTAMP_TZ else moment.astimezone(zone).replace(tzinfo=None)

    def type_of(self, column_type: Any) -> DatabaseType:
        """The type of a column from SQLAlchemy's."""
        for base, kind in _KINDS:
            if isinstance(column_type, base):
                return DatabaseType(kind)
        if isinstance(column_type, sa.Numeric | sa.Float):
            return _numeric(column_type)
        if isinstance(column_type, sa.DateTime):
            return DatabaseType(Kind.TIMESTAMP_TZ if column_type.timezone else Kind.TIMESTAMP)
        return DatabaseType(Kind.TEXT if isinstance(column_type, sa.String) else Kind.OTHER)

    def _is_selected(self, name: str, pattern: str | None, connection: Connection) -> bool:
        """Whether a schema matches JDBC's pattern; the default schema has no name."""
        return like(pattern, name)

    def _schemas(self, inspector: sa.Inspector) -> Sequence[str | None]:
        default = inspector.default_schema_name
        names = [name for name in inspector.get_schema_names() if name.lower() not in _SYSTEM_SCHEMAS]
        return [None if name == default else name for name in names] or [None]


_KINDS: tuple[tuple[type | tuple[type, ...], Kind], ...] = (
    (sa.Boolean, Kind.BOOLEAN),
    (sa.SmallInteger, Kind.INT16),
    (sa.BigInteger, Kind.INT64),
    (sa.Integer, Kind.INT32),
    (sa.Uuid, Kind.UUID),
    (sa.JSON, Kind.JSON),
    (sa.Enum, Kind.TEXT),
    (sa.LargeBinary, Kind.BYTES),
    ((sa.BINARY, sa.VARBINARY), Kind.BYTES),
    (sa.Date, Kind.DATE),
    (sa.Time, Kind.TIME),
    (sa.REAL, Kind.FLOAT32),
)


def _numeric(column_type: sa.Numeric[Any] | sa.Float[Any]) -> DatabaseType:
    if isinstance(column_type, sa.Float):
        single = column_type.precision is not None and column_type.precision <= 24
        return DatabaseType(Kind.FLOAT32 if single else Kind.FLOAT64)
    precision = column_type.precision
    return DatabaseType(Kind.DECIMAL, precision, column_type.scale or 0 if precision is not None else column_type.scale)
