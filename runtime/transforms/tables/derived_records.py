"""A table that a transformation has computed, as records. Columns that it has not computed are those of the records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runtime.api.data.columns import Column, Derived, ValueBatch, column_at, value_types
from runtime.api.data.logical import millis
from runtime.api.data.record import Headers
from runtime.api.data.schema import STRING_SCHEMA, Schema, struct_schema
from runtime.api.errors import DataError
from runtime.transforms.tables.record_table import HEADERS, KEY, TIMESTAMP, TOPIC, VALUE, RecordTable

PARTS = (KEY, TOPIC, TIMESTAMP, HEADERS)
"""Columns of the result that are parts of the record, unless its value has a field of that name."""

_TEXTS: dict[type, Callable[[Any], str]] = {
    dt.datetime: lambda value: value.isoformat(),
    dt.date: lambda value: value.isoformat(),
    dt.time: lambda value: value.isoformat(),
    Decimal: str,
}
"""How values without a schema, which have only JSON's types, show others."""


@dataclass(frozen=True, slots=True)
class TableResult:
    """`outputs`: the name of each column, and the column of the records that it is, unchanged, or None if it is one of
    `columns`. `places`: for each row the index of its record, in ascending order. `schemas`: Connect's schemas of
    `columns`; None if values are to have none. `by`: what has computed the columns, for messages."""

    outputs: Mapping[str, str | None]
    places: Sequence[int]
    columns: Mapping[str, Column]
    schemas: Mapping[str, Schema] | None
    by: str


def derived(result: TableResult, table: RecordTable) -> Derived:
    """The records of a result. DataError if a record cannot be made."""
    return _Assembly(result, table).derived()


class _Assembly:
    def __init__(self, result: TableResult, table: RecordTable) -> None:
        self._table, self._places, self._by = table, result.places, result.by
        self._columns, self._schemas = result.columns, result.schemas
        self._source = dict(result.outputs)

    def derived(self) -> Derived:
        parts = [name for name in self._source if name in PARTS and not self._table.is_field(name)]
        values = self._values([name for name in self._source if name not in parts])
        changed = [name for name in parts if self._source[name] != name]
        key = ValueBatch(self._schema(KEY), self._column(KEY)) if KEY in changed else None
        topics = self._topics() if TOPIC in changed else None
        times = self._times() if TIMESTAMP in changed else None
        headers = [self._headers(own) for own in self._column(HEADERS)] if HEADERS in changed else None
        return Derived(values, self._places, key, topics, times, headers)

    def _values(self, names: Sequence[str]) -> ValueBatch:
        table = self._table
        if not names or (names == [VALUE] and not table.is_field(VALUE)):
            if not names or self._source[VALUE] == VALUE:
                rows = column_at(table.values.rows, self._places)
                return ValueBatch(table.values.schema, rows)
            return ValueBatch(self._schema(VALUE), self._column(VALUE))
        columns = {name: self._column(name) for name in names}
        if self._schemas is None and (table.fields or None in self._source.values()):
            return ValueBatch.maps(columns, len(self._places))
        return ValueBatch.struct(self._struct(names), columns, len(self._places))

    def _struct(self, names: Sequence[str]) -> Schema:
        whole = self._table.values.schema
        if whole is not None and self._is_kept(whole, names):
            return whole
        schemas = {}
        for name in names:
            schema = self._schema(name)
            if schema is None:
                raise DataError(f"{name} has no schema, as the record's key: use CAST({name} AS …)")
            schemas[name] = schema
        return struct_schema(schemas)

    def _is_kept(self, whole: Schema, names: Sequence[str]) -> bool:
        """Whether all fields have the schemas that they had."""
        return [field.name for field in whole.fields or ()] == list(names) and all(
            self._source[name] in (name, None) and self._schema(name) is whole.field(name) for name in names
        )

    def _column(self, name: str) -> Column:
        source = self._source[name]
        column = self._columns[name] if source is None else column_at(self._table.column(source), self._places)
        return column if self._schemas is not None or name in PARTS else _plain(column)

    def _schema(self, name: str) -> Schema | None:
        source = self._source[name]
        if source is not None:
            return self._table.schema(source)
        return None if self._schemas is None else self._schemas[name]

    def _times(self) -> list[int | None]:
        times = self._column(TIMESTAMP)
        if others := value_types(times) - {dt.datetime, type(None)}:
            raise DataError(f"{self._by} gives a {others.pop().__name__} as timestamp of the record, not a TIMESTAMP")
        return [None if time is None else millis(time) for time in times]

    def _headers(self, own: Any) -> Headers | None:
        if not own:
            return None
        if not isinstance(own, Mapping) or not {*map(type, own), *map(type, own.values())} <= {str, type(None)}:
            raise DataError(f"{self._by} gives headers that are not a MAP<STRING, STRING>")
        return [(name, STRING_SCHEMA, value) for name, value in own.items()]

    def _topics(self) -> Column:
        topics = self._column(TOPIC)
        if not all(type(topic) is str and topic for topic in topics):
            raise DataError(f"{self._by} gives a topic that is null, empty or not a string")
        if self._table.has_offsets and len({*zip(self._places, topics, strict=True)}) > len({*self._places}):
            raise DataError(f"{self._by} gives a record several topics, which a sink cannot have for one offset")
        return topics


def _plain(column: Column) -> Column:
    """The values with JSON's types only."""
    if not (value_types(column) & _TEXTS.keys()):
        return column
    return [text(value) if (text := _TEXTS.get(type(value))) else value for value in column]
