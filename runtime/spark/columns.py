"""The columns of records: the fields of their values, or key, value, topic, timestamp and headers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import orjson

from runtime.api.converter import Converter
from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import Column, ConstantColumn, ValueBatch
from runtime.api.data.java_text import java_text
from runtime.api.data.logical import TIMESTAMP_SCHEMA, datetime_of
from runtime.api.data.record import Headers, SourceRecord
from runtime.api.data.schema import (
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
    struct_schema,
)
from runtime.api.errors import DataError
from runtime.connectors.http.json_values import json_bytes
from runtime.spark.options import Columns

KEY, VALUE, TOPIC, TIMESTAMP, HEADERS = "key", "value", "topic", "timestamp", "headers"
RECORD_COLUMNS = (KEY, VALUE, TOPIC, TIMESTAMP, HEADERS)

_TIMESTAMP = TIMESTAMP_SCHEMA.replace(optional=True)
_HEADERS = Schema(Type.MAP, optional=True, keys=STRING_SCHEMA, values=OPTIONAL_STRING_SCHEMA)


def columns_for(schema: Schema | None, converted: bool) -> Columns:
    """The columns of records whose values have this schema if the options choose none."""
    struct = schema is not None and schema.type is Type.STRUCT
    return Columns.VALUE if struct and not converted else Columns.RECORD


def columns_of_names(names: Sequence[str], converted: bool) -> Columns:
    """The columns of a given schema if the options choose none."""
    return Columns.RECORD if converted or set(names) <= set(RECORD_COLUMNS) else Columns.VALUE


class DataFrameColumns:
    """Records as structs with the columns of a DataFrame. Keys and values with a converter are its bytes; those without
    a schema are text: strings as they are, others as JSON."""

    def __init__(
        self, columns: Columns, key: Converter | None, value: Converter | None,
        wanted: Collection[str] = RECORD_COLUMNS, parses: bool = False,
    ) -> None:  # fmt: skip
        """`wanted`: the columns of records that are computed. `parses`: the fields of values that are JSON texts are
        columns, too."""
        self._columns, self._key, self._value, self._wanted = columns, key, value, wanted
        self._parses = parses
        self._schemas: dict[tuple[int, int], Schema] = {}
        self._used: list[Schema] = []  # keeps the ids in _schemas valid

    def of(self, records: Sequence[SourceRecord], values: ValueBatch, keys: ValueBatch) -> ValueBatch:
        """The records, which share their schemas. DataError if values are null but their fields are the columns."""
        if self._columns is Columns.VALUE:
            if values.all_null is not False:
                raise DataError(
                    "The value is null, so that it has no fields: use headrace.columns=record, or drop such records "
                    "with the transformation Filter and the predicate RecordIsTombstone"
                )
            return _parsed(values) if self._parses and isinstance(values.first, str | bytes) else values
        topics, times, headers = _metadata(records)
        key_schema, key_column = _column(self._key, topics, keys)
        value_schema, value_column = _column(self._value, topics, values)
        columns: Mapping[str, Callable[[], Column]] = {
            KEY: lambda: key_column,
            VALUE: lambda: value_column,
            TOPIC: lambda: topics,
            TIMESTAMP: lambda: [None if time is None else datetime_of(time) for time in times],
            HEADERS: lambda: [_headers(own) for own in headers],
        }
        schema = self._schema(key_schema, value_schema)
        parts = {name: make() for name, make in columns.items() if name in self._wanted}
        return ValueBatch.struct(schema, parts, len(records))

    def _schema(self, key: Schema, value: Schema) -> Schema:
        schema = self._schemas.get((id(key), id(value)))
        if schema is None:
            fields = {KEY: _optional(key), VALUE: _optional(value), TOPIC: STRING_SCHEMA, TIMESTAMP: _TIMESTAMP}
            wanted = {name: schema for name, schema in {**fields, HEADERS: _HEADERS}.items() if name in self._wanted}
            schema = self._schemas[(id(key), id(value))] = struct_schema(wanted)
            self._used += [key, value]
        return schema


def _parsed(values: ValueBatch) -> ValueBatch:
    """JSON texts as maps without a schema. DataError if one is something else than a JSON object."""
    rows = []
    for text in values.rows:
        try:
            row = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise DataError(f"The value is not JSON, whose fields are to be columns: {error}") from error
        if not isinstance(row, dict):
            raise DataError(f"The value is a JSON {type(row).__name__}, not an object whose fields could be columns")
        rows.append(row)
    return ValueBatch(None, rows)


def _metadata(records: Sequence[SourceRecord]) -> tuple[Column, Column, Column]:
    """Topics, timestamps and headers."""
    if isinstance(records, SourceBatch):
        return records.topics(), records.timestamps(), records.headers
    return (
        [record.topic for record in records],
        [record.timestamp for record in records],
        [record.headers for record in records],
    )


def _optional(schema: Schema) -> Schema:
    return schema if schema.optional else schema.replace(optional=True)


def _column(converter: Converter | None, topics: Column, values: ValueBatch) -> tuple[Schema, Column]:
    schema, rows = values.schema, values.rows
    if converter is not None:
        return OPTIONAL_BYTES_SCHEMA, [
            None if value is None and schema is None else converter.from_connect(topic, schema, value)
            for topic, value in zip(topics, rows, strict=True)
        ]
    if schema is not None:
        return schema, rows
    if isinstance(rows, ConstantColumn) and rows.value is None:
        return OPTIONAL_STRING_SCHEMA, rows
    if any(isinstance(value, bytes) for value in rows):
        return OPTIONAL_BYTES_SCHEMA, [value if value is None or isinstance(value, bytes) else _text(value).encode()
                                       for value in rows]  # fmt: skip
    return OPTIONAL_STRING_SCHEMA, [None if value is None else _text(value) for value in rows]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()


def _headers(headers: Headers | None) -> dict[str, str | None] | None:
    if not headers:
        return None
    return {name: None if value is None else java_text(value, schema) for name, schema, value in headers}
