"""Tables as the sink creates and extends them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.schema import CreateColumn, CreateTable
from sqlalchemy.sql.elements import quoted_name

from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError
from runtime.connectors.jdbc.sink.rows import RowField
from runtime.connectors.jdbc.sink.values import ZONED_TIMESTAMP, decoder, is_date, is_decimal, is_time, is_timestamp
from runtime.connectors.jdbc.tables import TableId
from runtime.connectors.jdbc.types import JSON_NAME, UUID_NAME

_KEY_LENGTH = 255
"""Characters of texts and bytes in a primary key, for databases that cannot index them without a limit."""


class Definitions:
    """Statements that create tables and columns for records, for Connection.exec_driver_sql()."""

    def __init__(self, connection: Connection, quote: bool, zone: dt.tzinfo) -> None:
        """`zone` is that of timestamps in columns without a time zone."""
        self._dialect, self._quote, self._zone = connection.dialect, quote, zone
        self._is_mysql = connection.dialect.name in ("mysql", "mariadb")

    def create(self, table: TableId, fields: Sequence[RowField]) -> str:
        """CREATE TABLE for these fields; DataError for a field whose type is unknown."""
        columns = [self._column(table, field) for field in fields]
        made = sa.Table(self._name(table.name), sa.MetaData(), *columns, schema=self._schema(table))
        return self._text(CreateTable(made, if_not_exists=True))

    def add(self, table: TableId, fields: Sequence[RowField]) -> list[str]:
        """ALTER TABLE for these fields; DataError for a field without a schema, or required and without a default."""
        statements = []
        for field in fields:
            if field.schema is not None and not field.schema.optional and field.schema.default is None:
                raise DataError(
                    f"The table {table} has no column {field.name}, and it cannot be added because the field is "
                    "required and has no default: add the column, or make the field optional"
                )
            made = sa.Table(
                self._name(table.name), sa.MetaData(), self._column(table, field), schema=self._schema(table)
            )
            name = self._dialect.identifier_preparer.format_table(made)
            keyword = "ADD" if self._dialect.name in ("oracle", "mssql") else "ADD COLUMN"
            statements.append(f"ALTER TABLE {name} {keyword} {self._text(CreateColumn(made.columns[0]))}")
        return statements

    def _text(self, element: CreateTable | CreateColumn) -> str:
        return str(element.compile(dialect=self._dialect)).strip()

    def _column(self, table: TableId, field: RowField) -> sa.Column[Any]:
        if field.schema is None:
            raise DataError(
                f"The column {field.name} of {table} cannot be created, since its records have no schema: create it, "
                "or use a converter with schemas"
            )
        default = self._default(field.schema)
        nullable = field.schema.optional and not field.key
        return sa.Column(
            self._name(field.name),
            self._type(field.schema, field.key),
            nullable=nullable,
            primary_key=field.key,
            autoincrement=False,
            server_default=None if default is None or field.key else sa.literal(default),
        )

    def _type(self, schema: Schema, key: bool = False) -> Any:
        if (special := self._named_type(schema)) is not None:
            return special
        if schema.type is Type.ARRAY:
            if self._dialect.name == "postgresql" and schema.values is not None and _simple(schema.values):
                return postgresql.ARRAY(self._type(schema.values))
            return self._json()
        if schema.type in (Type.MAP, Type.STRUCT):
            return self._json()
        bounded = key and self._dialect.name not in ("postgresql", "sqlite")
        if schema.type is Type.STRING:
            return sa.String(_KEY_LENGTH) if bounded else self._text_type()
        if schema.type is Type.BYTES:
            if self._is_mysql:
                return mysql.VARBINARY(_KEY_LENGTH) if bounded else mysql.LONGBLOB()
            return sa.LargeBinary()
        return _TYPES[schema.type]()

    def _named_type(self, schema: Schema) -> Any:
        postgres = self._dialect.name == "postgresql"
        if self._is_mysql and (mysql_type := _mysql_type(schema)) is not None:
            return mysql_type
        if is_decimal(schema):
            return _any_numeric(schema) if postgres else sa.Numeric(38, int(schema.parameter("scale") or 10))
        if is_timestamp(schema):
            zoned = schema.name == ZONED_TIMESTAMP
            return sa.TIMESTAMP(timezone=True) if zoned and postgres else sa.TIMESTAMP()
        if is_date(schema):
            return sa.Date()
        if is_time(schema):
            return sa.Time()
        if schema.name == UUID_NAME and postgres:
            return postgresql.UUID()
        return self._json() if schema.name == JSON_NAME else None

    def _json(self) -> Any:
        return postgresql.JSONB() if self._dialect.name == "postgresql" else self._text_type()

    def _text_type(self) -> Any:
        return mysql.LONGTEXT() if self._is_mysql else sa.Text()

    def _default(self, schema: Schema) -> Any:
        """The default of a field as a value of its column, if it can be written as a literal."""
        default, decode = schema.default, decoder(schema)
        if default is not None and decode is not None:
            default = decode(default)
        zoned = schema.name == ZONED_TIMESTAMP and self._dialect.name == "postgresql"
        if isinstance(default, dt.datetime) and default.tzinfo is not None and not zoned:
            default = default.astimezone(self._zone).replace(tzinfo=None)
        return default if isinstance(default, bool | int | float | str | Decimal | dt.date | dt.time) else None

    def _name(self, text: str) -> quoted_name:
        return quoted_name(text, self._quote)

    def _schema(self, table: TableId) -> quoted_name | None:
        return None if table.schema is None else self._name(table.schema)


_TYPES: dict[Type, Any] = {
    Type.INT8: sa.SmallInteger,
    Type.INT16: sa.SmallInteger,
    Type.INT32: sa.Integer,
    Type.INT64: sa.BigInteger,
    Type.FLOAT32: sa.REAL,
    Type.FLOAT64: sa.Double,
    Type.BOOLEAN: sa.Boolean,
}


def _any_numeric(schema: Schema) -> sa.Numeric[Any]:
    """The field's precision is seldom known; the scale alone cannot be declared."""
    precision, scale = schema.parameter("connect.decimal.precision"), schema.parameter("scale")
    return sa.Numeric(int(precision), int(scale)) if precision and scale else sa.Numeric()


def _mysql_type(schema: Schema) -> Any:
    """Types of MySQL with fractions of a second, and with as many digits as it has."""
    if is_decimal(schema):
        return mysql.DECIMAL(65, min(int(schema.parameter("scale") or 10), 30))
    if is_timestamp(schema):
        return mysql.DATETIME(fsp=6)
    return mysql.TIME(fsp=6) if is_time(schema) else None


def _simple(schema: Schema) -> bool:
    return schema.type.primitive
