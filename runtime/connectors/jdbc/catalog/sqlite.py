"""SQLite's catalog. A column's declared type is a hint there; its values are converted to it where possible."""

from __future__ import annotations

import datetime as dt
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import DATETIME

from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.types import ColumnInfo, DatabaseType, Kind

_FORMAT = "%Y-%m-%d %H:%M:%f"


class SqliteCatalog(Catalog):
    """Timestamps are texts in ISO 8601 or milliseconds since 1970; they are compared in milliseconds."""

    def query_columns(self, connection: Connection, query: str) -> list[ColumnInfo] | None:
        """The declared types of the columns that the query returns unchanged; other columns are of no known type."""
        name = "headrace_query"
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS temp.{name}")
        connection.exec_driver_sql(f"CREATE TEMP VIEW {name} AS {query}")
        try:
            columns = sa.inspect(connection).get_columns(name, "temp")
        finally:
            connection.exec_driver_sql(f"DROP VIEW temp.{name}")
        return [ColumnInfo(column["name"], self.type_of(column["type"])) for column in columns]

    def now(self, connection: Connection) -> dt.datetime:
        now = connection.exec_driver_sql("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')").scalar()
        return dt.datetime.fromisoformat(str(now)).replace(tzinfo=dt.UTC)

    def timestamp_term(self, expression: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        of_number = sa.func.strftime(_FORMAT, sa.cast(expression, sa.REAL) / 1000.0, "unixepoch")
        return sa.case(
            (sa.func.typeof(expression) == "integer", of_number), else_=sa.func.strftime(_FORMAT, expression)
        )

    def timestamp_value(self, moment: dt.datetime, kind: Kind, zone: dt.tzinfo) -> Any:
        local = moment.astimezone(zone).replace(tzinfo=None)
        return local.isoformat(" ", "milliseconds")

    def type_of(self, column_type: Any) -> DatabaseType:
        if isinstance(column_type, sa.types.NullType):
            return DatabaseType(Kind.OTHER)
        if isinstance(column_type, sa.Integer):  # of 64 bits, whatever the declared type
            return DatabaseType(Kind.INT64)
        if isinstance(column_type, sa.Float):
            return DatabaseType(Kind.FLOAT64)
        return (
            DatabaseType(Kind.TIMESTAMP)
            if isinstance(column_type, DATETIME | sa.DateTime)
            else super().type_of(column_type)
        )
