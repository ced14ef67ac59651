"""Rows of a DataFrame as messages, from which the pipeline of sinks makes records.

Without a converter, keys and values of messages are cells: references to values that have a schema already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from runtime.api.converter import Converter, HeaderConverter
from runtime.api.data.columns import Column, ConstantColumn, ValueBatch, selected
from runtime.api.data.logical import millis
from runtime.api.data.schema import STRING_SCHEMA, Schema
from runtime.api.errors import ConfigError
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.connectors.http.json_values import json_bytes
from runtime.pipeline.task.failure import Failure
from runtime.spark.columns import HEADERS, KEY, RECORD_COLUMNS, TIMESTAMP, TOPIC, VALUE
from runtime.spark.options import Columns


class Cell:
    """A value among others of the same column."""

    __slots__ = ("place", "values")

    def __init__(self, values: ValueBatch, place: int) -> None:
        self.values, self.place = values, place

    @property
    def value(self) -> Any:
        """The value itself."""
        return self.values.rows[self.place]


class CellConverter(Converter):
    """Takes cells instead of bytes."""

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        """Does nothing: this converter has no settings."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else json_bytes(value)

    def to_connect(self, topic: str, data: Any) -> tuple[Schema | None, Any]:
        return (None, None) if data is None else (data.values.schema, data.value)

    def to_connect_batch(self, topic: str, data: Sequence[Any]) -> ValueBatch | None:
        values = data[0].values
        if any(cell.values is not values for cell in data):
            return None
        places = [cell.place for cell in data]
        return values if len(places) == values.count else selected(values, places)


class TextHeaderConverter(HeaderConverter):
    """Takes texts instead of bytes."""

    def configure(self, config: Mapping[str, str]) -> None:
        """Does nothing: this converter has no settings."""

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_connect_header(self, topic: str, key: str, data: Any) -> tuple[Schema | None, Any]:
        return (None, None) if data is None else (STRING_SCHEMA, data)


class RowMessage(NamedTuple):
    """A row with the methods of a client's message that the pipeline uses."""

    row_topic: str
    row_partition: int
    row_offset: int
    row_timestamp: int | None
    row_key: Any
    row_value: Any
    row_headers: Sequence[tuple[str, Any]] = ()

    def topic(self) -> str:
        return self.row_topic

    def partition(self) -> int:
        return self.row_partition

    def offset(self) -> int:
        return self.row_offset

    def timestamp(self) -> tuple[int, int]:
        return (0, -1) if self.row_timestamp is None else (1, self.row_timestamp)

    def key(self) -> Any:
        return self.row_key

    def value(self) -> Any:
        return self.row_value

    def headers(self) -> Sequence[tuple[str, Any]]:
        return self.row_headers

    def error(self) -> None:
        return None


def as_letter(failure: Failure) -> Failure:
    """The failure with its row as bytes, for the dead letter topic: values without a converter are JSON."""
    row: RowMessage = failure.record
    headers = [(name, None if text is None else text.encode()) for name, text in row.row_headers]
    record = row._replace(row_key=_bytes(row.row_key), row_value=_bytes(row.row_value), row_headers=headers)
    return Failure(failure.stage, failure.plugin, failure.error, record, failure.where)


def _bytes(data: Any) -> bytes | None:
    return data if data is None or isinstance(data, bytes) else json_bytes(data.value)


class RowMessages:
    """Turns Arrow batches of a DataFrame into messages."""

    def __init__(self, columns: Columns | None, schema: Any, topic: str, converted: tuple[bool, bool]) -> None:
        """`topic` of rows without a column for it; `converted`: whether keys and values have a converter, which needs
        their bytes. ConfigError if the columns do not fit."""
        names = list(schema.names)
        if columns is Columns.VALUE and any(converted):
            raise ConfigError(
                "headrace.columns=value writes the fields of values, which need no converter: leave it out"
            )
        alike = VALUE in names and set(names) <= set(RECORD_COLUMNS)
        self._record = columns is Columns.RECORD or (columns is None and (any(converted) or alike))
        if self._record:
            _check_record(schema, converted)
        self._topic, self._converted = topic, converted
        self._to_values = ArrowValues(pa.schema([field.with_nullable(True) for field in schema]))

    def of(self, rows: Any, partition: int, first: int) -> list[RowMessage]:
        """The rows of an Arrow batch, in order; `first` is the offset of the first one."""
        values = self._to_values(rows)
        if not self._record:
            topic = self._topic
            return [
                RowMessage(topic, partition, first + place, None, None, Cell(values, place))
                for place in range(values.count)
            ]
        return list(self._records(values, partition, first))

    def _records(self, values: ValueBatch, partition: int, first: int) -> Iterator[RowMessage]:
        assert values.schema is not None
        nothing = ConstantColumn(None, values.count)
        schemas = {field.name: field.schema for field in values.schema.fields}
        parts = [
            _cells(values.columns.get(name, nothing), schemas.get(name), converted)
            for name, converted in zip((KEY, VALUE), self._converted, strict=True)
        ]
        others = [values.columns.get(name, nothing) for name in (TOPIC, TIMESTAMP, HEADERS)]
        for place, (key, value, topic, time, headers) in enumerate(zip(*parts, *others, strict=True)):
            stamp = None if time is None else millis(time)
            own = () if not headers else list(headers.items())
            yield RowMessage(topic or self._topic, partition, first + place, stamp, key, value, own)


def _cells(column: Column, schema: Schema | None, converted: bool) -> Column:
    if converted:
        return [text.encode() if isinstance(text, str) else text for text in column]
    values = ValueBatch(schema, column)
    return [None if value is None else Cell(values, place) for place, value in enumerate(column)]


def _check_record(schema: Any, converted: tuple[bool, bool]) -> None:
    names = list(schema.names)
    if VALUE not in names:
        raise ConfigError(
            f"The DataFrame has no column {VALUE}, which converters and headrace.columns=record need: add it, or write "
            "the fields of values with headrace.columns=value and without a converter"
        )
    if unknown := sorted(set(names) - set(RECORD_COLUMNS)):
        raise ConfigError(
            f"Column {unknown[0]} is not one of {', '.join(RECORD_COLUMNS)}: drop it, or write the fields of values "
            "with headrace.columns=value"
        )
    for name, needs_bytes in zip((KEY, VALUE), converted, strict=True):
        kind = schema.field(name).type if name in names else pa.null()
        if needs_bytes and not (pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_null(kind)):
            raise ConfigError(
                f"Column {name} is {kind}, but {name}.converter reads bytes: cast it to BINARY or STRING, or leave the "
                "converter out"
            )
