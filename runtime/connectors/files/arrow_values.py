"""Arrow record batches, and the rows of Parquet files, as values of Connect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_types import connect_schema

_types = pa.types

_UNFIT_ERRORS = (pa.ArrowException, ValueError, OverflowError, KeyError)
"""The errors of Arrow for values that Python does not have, such as times after the year 9999, or maps in which a key
occurs twice."""


def parquet_values(file: Any, count: int, start: int) -> Iterator[ValueBatch]:
    """The rows of an open Parquet file from row `start` (counted from 0), at most `count` at a time. Errors as of
    ArrowValues."""
    rows = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    first = 0
    while first < len(rows) and start >= rows[first]:
        start -= rows[first]
        first += 1
    to_values = ArrowValues(file.schema_arrow)
    for batch in file.iter_batches(count, row_groups=range(first, len(rows)), use_threads=False):
        if start >= len(batch):
            start -= len(batch)
            continue
        yield to_values(batch.slice(start))
        start = 0


class ArrowValues:
    """Converts record batches of one schema. DataError for a type that Connect does not have."""

    def __init__(self, schema: Any) -> None:
        self._signed = [_signed(field.type) for field in schema]
        self._target = pa.schema([field.with_type(_readable(field.type)) for field in schema])
        fields = tuple(Field(field.name, connect_schema(field.type, field.nullable)) for field in self._target)
        self._schema = Schema(Type.STRUCT, fields=fields)

    def __call__(self, batch: Any) -> ValueBatch:
        """The rows. DataError for a value that Connect does not have; it names the column."""
        named = {}
        for column, signed, field in zip(batch.columns, self._signed, self._target, strict=True):
            try:
                named[field.name] = _values(column, signed, field.type)
            except _UNFIT_ERRORS as error:
                raise DataError(f"Connect has no type for a value of column {field.name}: {error}") from error
        return ValueBatch.struct(self._schema, named, len(batch))


def _values(column: Any, signed: Any, kind: Any) -> list[Any]:
    if not column.type.equals(kind):
        column = column.cast(signed).cast(kind, safe=_overflows(column.type))
    values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    return values


def _overflows(kind: Any) -> bool:
    """Whether a cast has to check for values that do not fit: all but times, which lose fractions."""
    return not _types.is_temporal(kind) and not _types.is_nested(kind)


def _signed(kind: Any) -> Any:
    """The type with signed integers, to which values are cast first: a cast that allows times to lose fractions does
    not check integers in the same nested value."""
    if _types.is_uint64(kind):
        return pa.int64()
    if _types.is_struct(kind):
        return pa.struct([field.with_type(_signed(field.type)) for field in kind])
    if _is_list(kind):
        return pa.list_(kind.value_field.with_type(_signed(kind.value_type)))
    if _types.is_map(kind):
        return pa.map_(_signed(kind.key_type), kind.item_field.with_type(_signed(kind.item_type)))
    return kind


def _readable(kind: Any) -> Any:
    """The type with Connect's counterparts of types that it does not have: times in microseconds, not nanoseconds,
    signed integers, values instead of dictionaries."""
    if _types.is_dictionary(kind):
        return _readable(kind.value_type)
    if _types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if _types.is_time64(kind):
        return pa.time64("us")
    if _types.is_uint64(kind) or _types.is_duration(kind):
        return pa.int64()
    if _types.is_null(kind):
        return pa.string()
    if _types.is_struct(kind):
        return pa.struct([field.with_type(_readable(field.type)) for field in kind])
    if _is_list(kind):
        return pa.list_(kind.value_field.with_type(_readable(kind.value_type)))
    if _types.is_map(kind):
        if _types.is_nested(kind.key_type):
            raise DataError(f"The keys of a map must be single values, not {kind.key_type}")
        return pa.map_(_readable(kind.key_type), kind.item_field.with_type(_readable(kind.item_type)))
    return kind


def _is_list(kind: Any) -> bool:
    return any(is_kind(kind) for is_kind in (_types.is_list, _types.is_large_list, _types.is_fixed_size_list))
