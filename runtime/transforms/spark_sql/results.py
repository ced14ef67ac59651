"""Results of Spark as records: computed columns from Spark, the others from the records that were sent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from runtime.api.data.columns import Column, Derived, ValueBatch, column_at, value_types
from runtime.api.data.logical import millis
from runtime.api.data.record import Headers
from runtime.api.data.schema import STRING_SCHEMA, Schema, struct_schema
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.transforms.spark_sql.query import PreparedQuery
from runtime.transforms.spark_sql.record_table import HEADERS, KEY, TIMESTAMP, TOPIC, VALUE, RecordTable

_PARTS = (KEY, TOPIC, TIMESTAMP, HEADERS)
"""Columns of the result that are parts of the record, unless its value has a field of that name."""

_TEXTS: dict[type, Callable[[Any], str]] = {
    dt.datetime: lambda value: value.isoformat(),
    dt.date: lambda value: value.isoformat(),
    dt.time: lambda value: value.isoformat(),
    Decimal: str,
}
"""How values without a schema, which have only JSON's types, show others."""


def read_results(content: bytes) -> Any:
    """The results in a file of the session: Arrow streams, each behind its length. None if there are none."""
    tables, start = [], 0
    while start < len(content):
        end = start + 4 + int.from_bytes(content[start : start + 4], "big")
        with pa.ipc.open_stream(pa.py_buffer(memoryview(content)[start + 4 : end])) as stream:
            tables.append(stream.read_all())
        start = end
    batches = pa.concat_tables(tables).combine_chunks().to_batches() if tables else []
    return batches[0] if batches and batches[0].num_rows else None


def derived(query: PreparedQuery, table: RecordTable, results: Any) -> Derived:
    """The records. `results`: a record batch with the index of the record of each result and the computed columns; None
    if nothing was computed."""
    if results is None:
        if query.needs_spark:
            return Derived(ValueBatch(None, ()), ())
        return _Assembly(query, table, range(table.count), {}, {}).derived()
    places = _in_order(results.column(0).to_pylist())
    computed = ArrowValues(results.schema.remove(0))(results.remove_column(0)) if results.num_columns > 1 else None
    columns = {} if computed is None else dict(computed.columns)
    schemas = {} if computed is None or computed.schema is None else {f.name: f.schema for f in computed.schema.fields}
    return _Assembly(query, table, places if query.changes_count else range(table.count), columns, schemas).derived()


class _Assembly:
    def __init__(
        self, query: PreparedQuery, table: RecordTable, places: Sequence[int],
        columns: Mapping[str, Column], schemas: Mapping[str, Schema],
    ) -> None:  # fmt: skip
        self._table, self._places = table, places
        self._columns, self._schemas = columns, schemas
        self._source = dict(query.outputs)

    def derived(self) -> Derived:
        parts = [name for name in self._source if name in _PARTS and not self._table.is_field(name)]
        values = self._values([name for name in self._source if name not in parts])
        changed = [name for name in parts if self._source[name] != name]
        key = ValueBatch(self._schema(KEY), self._column(KEY)) if KEY in changed else None
        topics = self._topics() if TOPIC in changed else None
        times = [None if time is None else millis(time) for time in self._column(TIMESTAMP)] \
            if TIMESTAMP in changed else None  # fmt: skip
        headers = [_headers(own) for own in self._column(HEADERS)] if HEADERS in changed else None
        return Derived(values, self._places, key, topics, times, headers)

    def _values(self, names: Sequence[str]) -> ValueBatch:
        table = self._table
        if not names or (names == [VALUE] and not table.is_field(VALUE)):
            if not names or self._source[VALUE] == VALUE:
                rows = column_at(table.values.rows, self._places)
                return ValueBatch(table.values.schema, rows)
            return ValueBatch(self._schema(VALUE), self._column(VALUE))
        columns = {name: self._column(name) for name in names}
        if table.values.schema is None and table.fields:
            return ValueBatch.maps(columns, len(self._places))
        return ValueBatch.struct(self._struct(names), columns, len(self._places))

    def _struct(self, names: Sequence[str]) -> Schema:
        whole = self._table.values.schema
        unchanged = all(self._source[name] == name for name in names)
        if whole is not None and unchanged and [field.name for field in whole.fields or ()] == list(names):
            return whole
        schemas = {}
        for name in names:
            schema = self._schema(name)
            if schema is None:
                raise DataError(f"{name} has no schema, as the record's key: use CAST({name} AS …)")
            schemas[name] = schema
        return struct_schema(schemas)

    def _column(self, name: str) -> Column:
        source = self._source[name]
        column = self._columns[name] if source is None else column_at(self._table.column(source), self._places)
        return column if self._table.values.schema is not None or name in _PARTS else _plain(column)

    def _schema(self, name: str) -> Schema | None:
        source = self._source[name]
        if source is not None:
            return self._table.schema(source)
        return None if self._table.values.schema is None else self._schemas[name]

    def _topics(self) -> Column:
        topics = self._column(TOPIC)
        if not all(type(topic) is str and topic for topic in topics):
            raise DataError("sql gives a topic that is null, empty or not a string")
        if self._table.has_offsets and len({*zip(self._places, topics, strict=True)}) > len({*self._places}):
            raise DataError("sql gives a record several topics, which a sink cannot have for one offset")
        return topics


def _in_order(places: list[int]) -> list[int]:
    if any(map(int.__gt__, places, places[1:])):
        raise DataError("Spark has returned the results of a batch in another order")
    return places


def _plain(column: Column) -> Column:
    """The values with JSON's types only."""
    if not (value_types(column) & _TEXTS.keys()):
        return column
    return [text(value) if (text := _TEXTS.get(type(value))) else value for value in column]


def _headers(headers: Mapping[str, str | None] | None) -> Headers | None:
    return [(name, STRING_SCHEMA, value) for name, value in headers.items()] if headers else None
