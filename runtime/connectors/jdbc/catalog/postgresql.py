"""PostgreSQL's catalog, with the types that SQLAlchemy's inspection does not tell exactly."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, text

from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.catalog.fence import Fence
from runtime.connectors.jdbc.catalog.postgresql_fence import postgres_fence
from runtime.connectors.jdbc.tables import TableId, like, quoted
from runtime.connectors.jdbc.types import ColumnInfo, DatabaseType, Kind

_RELATIONS = {
    "TABLE": "r",
    "PARTITIONED TABLE": "p",
    "VIEW": "v",
    "MATERIALIZED VIEW": "m",
    "FOREIGN TABLE": "f",
}
"""Types of tables, as the JDBC driver calls them, and PostgreSQL's letters for them."""

_TABLES = text(
    "SELECT n.nspname, c.relname, c.relkind::text FROM pg_catalog.pg_class c "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind = ANY(:kinds) AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' "
    "AND NOT (c.relispartition AND 'p' = ANY(:kinds)) AND pg_catalog.has_table_privilege(c.oid, 'SELECT')"
)
_COLUMNS = text(
    "SELECT a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull, "
    "EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary "
    "AND a.attnum = ANY(i.indkey)) "
    "FROM pg_catalog.pg_attribute a WHERE a.attrelid = to_regclass(:name) AND a.attnum > 0 AND NOT a.attisdropped "
    "ORDER BY a.attnum"
)
_TYPES = text(
    "SELECT t.oid::int8, t.typname, t.typtype::text, t.typelem::int8, t.typbasetype::int8, t.typtypmod, "
    "t.typcategory::text FROM pg_catalog.pg_type t WHERE t.oid = ANY(:oids)"
)

_KINDS = {
    "bool": Kind.BOOLEAN,
    "int2": Kind.INT16,
    "int4": Kind.INT32,
    "int8": Kind.INT64,
    "oid": Kind.INT64,
    "float4": Kind.FLOAT32,
    "float8": Kind.FLOAT64,
    "text": Kind.TEXT,
    "varchar": Kind.TEXT,
    "bpchar": Kind.TEXT,
    "name": Kind.TEXT,
    "bytea": Kind.BYTES,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMP_TZ,
    "uuid": Kind.UUID,
    "json": Kind.JSON,
    "jsonb": Kind.JSON,
}


_MOST_DIGITS = 6  # of fractions of seconds, the default


class PostgresCatalog(Catalog):
    """Knows arrays, domains, enums and the precision of numerics; types without a counterpart are read as text."""

    def __init__(self) -> None:
        self._types: dict[int, Any] = {}

    def tables(
        self, connection: Connection, types: Iterable[str], schema_pattern: str | None, catalog_pattern: str | None
    ) -> list[TableId]:
        database = connection.scalar(text("SELECT current_database()"))
        if not like(catalog_pattern, str(database)):
            return []
        kinds = [_RELATIONS[kind.upper()] for kind in types if kind.upper() in _RELATIONS]
        rows = connection.execute(_TABLES, {"kinds": kinds})
        return [TableId(schema, name) for schema, name, _ in rows if like(schema_pattern, schema)]

    def columns(self, connection: Connection, table: TableId) -> list[ColumnInfo]:
        rows = connection.execute(_COLUMNS, {"name": _name(table)}).all()
        self._learn(connection, {row[1] for row in rows})
        return [
            ColumnInfo(column, self._type(oid, modifier), not required, key)
            for column, oid, modifier, required, key in rows
        ]

    def query_columns(self, connection: Connection, query: str) -> list[ColumnInfo] | None:
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({query}) AS headrace_query LIMIT 0")
            result = cursor.pgresult
            columns = [
                (column.name, column.type_code, result.fmod(index)) for index, column in enumerate(cursor.description)
            ]
        self._learn(connection, {oid for _, oid, _ in columns})
        return [ColumnInfo(name, self._type(oid, modifier)) for name, oid, modifier in columns]

    def now(self, connection: Connection) -> dt.datetime:
        now = connection.scalar(text("SELECT clock_timestamp()"))
        assert isinstance(now, dt.datetime)
        return now

    def lists_transactions(self, connection: Connection) -> bool:
        return (connection.dialect.server_version_info or ()) >= (10,)  # unlike databases with its protocol

    def fence(self, connection: Connection, table: TableId | None, has_written: bool) -> Fence:
        return postgres_fence(connection, None if table is None else _name(table), has_written)

    def type_of(self, column_type: Any) -> DatabaseType:
        return DatabaseType(Kind.OTHER) if isinstance(column_type, sa.ARRAY) else super().type_of(column_type)

    def _learn(self, connection: Connection, oids: set[int]) -> None:
        """Reads the descriptions of types, and of those that they are based on."""
        unknown = oids - self._types.keys() - {0}
        while unknown:
            rows = connection.execute(_TYPES, {"oids": list(unknown)}).all()
            self._types.update((row[0], row) for row in rows)
            unknown = {oid for row in rows for oid in (row[3], row[4])} - self._types.keys() - {0}

    def _type(self, oid: int, modifier: int) -> DatabaseType:
        row = self._types.get(oid)
        if row is None:
            return DatabaseType(Kind.OTHER)
        _, name, variety, element, base, base_modifier, category = row
        if variety == "d":
            return self._type(base, base_modifier)
        if category == "A" and element:
            return DatabaseType(Kind.ARRAY, element=self._type(element, modifier))
        if name == "numeric":
            return _numeric(modifier)
        if name in ("timestamp", "timestamptz"):
            return DatabaseType(_KINDS[name], _MOST_DIGITS if modifier < 0 else modifier)
        return DatabaseType(_KINDS.get(name, Kind.OTHER))


def _name(table: TableId) -> str:
    return ".".join(quoted(part) for part in (table.schema, table.name) if part is not None)


def _numeric(modifier: int) -> DatabaseType:
    """PostgreSQL packs precision and scale, which may be negative, into the modifier; -1 for neither."""
    if modifier < 0:
        return DatabaseType(Kind.DECIMAL)
    packed = modifier - 4
    return DatabaseType(Kind.DECIMAL, (packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024)
