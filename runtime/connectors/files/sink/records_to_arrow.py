"""Values of records as Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate, chain
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

    def record_batch(self, values: ValueBatch, known: Any = None) -> Any:
        """The values as a record batch. With a Connect schema, its fields; otherwise the keys of the maps, in the order
        in which they first occur, with the types of their values. `known`: the fields of which some are known already,
        as in inferred_array(). Raises one of CONVERSION_ERRORS."""
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
        kinds = _kinds(known or ())
        arrays = [inferred_array(column, kinds.get(name)) for name, column in named.items()]
        return pa.RecordBatch.from_arrays(arrays, names=list(named))


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


def inferred_array(column: Column, kind: Any = None) -> Any:
    """The values of one type; integers and floating-point numbers are mixed as the latter. `kind`: the type for which
    they are meant, which decides what is a map: otherwise dictionaries are structs, each with the keys of all."""
    if kind is not None and _has_maps(kind):
        return _with_maps(list(column), kind)
    if type(column) is ConstantColumn:
        return pa.repeat(pa.scalar(column.value), len(column))
    array = pa.array(column, from_pandas=False)
    if _has_booleans(column, array.type):
        raise DataError("Booleans and floating-point numbers cannot be stored in the same field")
    return array


def _kinds(fields: Iterable[Any]) -> dict[str, Any]:
    return {field.name: field.type for field in fields}


def _has_maps(kind: Any) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_maps(field.type) for field in kind)
    return pa.types.is_map(kind) or (pa.types.is_list(kind) and _has_maps(kind.value_type))


def _with_maps(values: list[Any], kind: Any) -> Any:
    present = [value for value in values if value is not None]
    nulls = pa.array([value is None for value in values], pa.bool_())
    if pa.types.is_list(kind) and all(isinstance(value, list) for value in present):
        items = inferred_array(list(chain.from_iterable(present)), kind.value_type)
        return pa.ListArray.from_arrays(_offsets(values), items, mask=nulls)
    if pa.types.is_list(kind) or not all(isinstance(value, Mapping) for value in present):
        return inferred_array(values)
    if pa.types.is_map(kind):
        names = list(chain.from_iterable(present))
        keys = pa.array(names, None if names else kind.key_type)
        items = inferred_array([item for value in present for item in value.values()], kind.item_type)
        return pa.MapArray.from_arrays(_offsets(values), keys, items, mask=nulls)
    fields, kinds = dict.fromkeys(chain.from_iterable(present)), _kinds(kind)
    if not fields:
        return inferred_array(values)
    columns = {name: [None if value is None else value.get(name) for value in values] for name in fields}
    arrays = [inferred_array(column, kinds.get(name)) for name, column in columns.items()]
    return pa.StructArray.from_arrays(arrays, names=list(fields), mask=nulls)


def _offsets(values: Iterable[Any]) -> Any:
    return pa.array(accumulate((len(value or ()) for value in values), initial=0), pa.int32())


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
