"""The catalog of MySQL and MariaDB, where a database is a schema as well as a catalog.

The session is in UTC (database.py), so that TIMESTAMP columns are points in time and DATETIME columns are not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import mysql

from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.tables import TableId
from runtime.connectors.jdbc.types import DatabaseType, Kind

_UNSIGNED_BIGINT_DIGITS = 20


class MySqlCatalog(Catalog):
    """Lists the tables of the database that the URL names, unless a pattern selects others."""

    def tables(
        self, connection: Connection, types: Iterable[str], schema_pattern: str | None, catalog_pattern: str | None
    ) -> list[TableId]:
        found = super().tables(connection, types, schema_pattern or catalog_pattern, None)
        if schema_pattern or catalog_pattern or not connection.engine.url.database:
            return found
        return [table for table in found if table.schema is None]

    def now(self, connection: Connection) -> dt.datetime:
        found = connection.exec_driver_sql("SELECT CURRENT_TIMESTAMP(6)").scalar()
        assert isinstance(found, dt.datetime)
        return found.replace(tzinfo=dt.UTC)

    def timestamp_value(self, moment: dt.datetime, kind: Kind, zone: dt.tzinfo) -> Any:
        """Drivers ignore the time zone of a parameter."""
        return moment.astimezone(dt.UTC if kind is Kind.TIMESTAMP_TZ else zone).replace(tzinfo=None)

    def type_of(self, found: Any) -> DatabaseType:
        if isinstance(found, sa.Integer):
            return _integer(found)
        if isinstance(found, mysql.YEAR):
            return DatabaseType(Kind.INT32)
        if isinstance(found, mysql.BIT):
            return DatabaseType(Kind.BOOLEAN if found.length in (None, 1) else Kind.BYTES)
        if isinstance(found, mysql.TINYBLOB | mysql.MEDIUMBLOB | mysql.LONGBLOB):
            return DatabaseType(Kind.BYTES)
        if isinstance(found, mysql.FLOAT):
            return DatabaseType(Kind.FLOAT32)
        return DatabaseType(Kind.TIMESTAMP_TZ) if isinstance(found, sa.TIMESTAMP) else super().type_of(found)

    def _is_selected(self, name: str, pattern: str | None, connection: Connection) -> bool:
        """The database of the connection has no name in a TableId."""
        return super()._is_selected(name or str(connection.engine.url.database or ""), pattern, connection)


def _integer(found: Any) -> DatabaseType:
    """TINYINT(1) is the type that BOOLEAN stands for. Unsigned numbers need the next larger type."""
    unsigned = bool(getattr(found, "unsigned", False))
    if isinstance(found, mysql.TINYINT):
        if found.display_width == 1:
            return DatabaseType(Kind.BOOLEAN)
        return DatabaseType(Kind.INT16 if unsigned else Kind.INT8)
    if isinstance(found, sa.SmallInteger):
        return DatabaseType(Kind.INT32 if unsigned else Kind.INT16)
    if isinstance(found, sa.BigInteger):
        return DatabaseType(Kind.DECIMAL, _UNSIGNED_BIGINT_DIGITS, 0) if unsigned else DatabaseType(Kind.INT64)
    if isinstance(found, mysql.MEDIUMINT):
        return DatabaseType(Kind.INT32)
    return DatabaseType(Kind.INT64 if unsigned else Kind.INT32)
