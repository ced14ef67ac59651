"""Values of records as Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa

from runtime.api.data.arrow_column import arrow_array
from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError, ValueBatch, value_types
from runtime.api.data.schema import Schema, Type
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_types import arrow_type

VALUE = "value"
"""The field of values that are neither structs nor maps."""

CONVERSION_ERRORS = (pa.ArrowException, DataError, OverflowError, UnicodeError, ValueError, TypeError)
"""What record_batch() raises if a value cannot be converted."""


class ArrowConversion:
    """Converts values; remembers the Arrow schemas of Connect's schemas."""

    def __init__(self) -> None:
        self._schemas = SchemaCache(_arrow_schema)

    def record_batch(self, values: ValueBatch) -> Any:
        """The values as a record batch. With a Connect schema, its fields; otherwise the keys of the maps, in the order
        in which they first occur, with the types of their values. Raises one of CONVERSION_ERRORS."""
        schema = values.schema
        if schema is not None and schema.type is not Type.MAP:
            arrow = self._schemas.get(schema)
            if not len(arrow):
                return _without_fields(values.count)
            columns = values.columns if schema.type is Type.STRUCT else {VALUE: values.rows}
            return pa.RecordBatch.from_arrays(
                [typed_array(columns[field.name], field) for field in arrow], schema=arrow
            )
        named = _columns(values)
        if not named:
            return _without_fields(values.count)
        return pa.RecordBatch.from_arrays([inferred_array(column) for column in named.values()], names=list(named))


def _arrow_schema(schema: Schema) -> Any:
    if schema.type is not Type.STRUCT:
        return pa.schema([pa.field(VALUE, arrow_type(schema), nullable=schema.optional)])
    return pa.schema(list(arrow_type(schema)))


def _without_fields(count: int) -> Any:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


def typed_array(column: Column, field: Any) -> Any:
    """The values of a field as Arrow's type of the field. One of CONVERSION_ERRORS; DataError for a null that is not
    allowed."""
    array = arrow_array(column, field.type)
    if not field.nullable and array.null_count:
        raise DataError(f"The required field {field.name} is null")
    return array


def _columns(values: ValueBatch) -> Mapping[str, Column]:
    """The entries of maps as columns; a missing entry is null."""
    try:
        return values.columns
    except MixedBatchError:
        rows = values.rows
    kinds = value_types(rows)
    if kinds != {dict} and not all(isinstance(row, Mapping) for row in rows):
        if any(isinstance(row, Mapping) for row in rows):
            raise DataError("Maps and other values cannot be stored in the same file")
        return {VALUE: rows}
    names = dict.fromkeys(chain.from_iterable(rows))
    if not all(type(name) is str for name in names):
        raise DataError("The keys of a map without a schema must be strings to be stored as fields")
    return {name: [row.get(name) for row in rows] for name in names}


def inferred_array(column: Column) -> Any:
    """The values of one type; integers and floating-point numbers are mixed as the latter."""
    if type(column) is ConstantColumn:
        return pa.repeat(pa.scalar(column.value), len(column))
    array = pa.array(column, from_pandas=False)
    if _has_booleans(column, array.type):
        raise DataError("Booleans and floating-point numbers cannot be stored in the same field")
    return array


def _has_booleans(values: Iterable[Any], kind: Any) -> bool:
    """Whether booleans are among the floating-point numbers of this Arrow type: Arrow would convert them to 0.0 and
    1.0."""
    if pa.types.is_floating(kind):
        return bool in set(map(type, values))
    if not pa.types.is_nested(kind):
        return False
    present = [value for value in values if value is not None]
    if pa.types.is_struct(kind):
        return any(_has_booleans([value.get(field.name) for value in present], field.type) for field in kind)
    return _has_booleans(chain.from_iterable(present), kind.value_type)
