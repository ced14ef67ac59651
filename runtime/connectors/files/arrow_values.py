"""Values of Connect in Arrow record batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Field, Schema, Type
from runtime.connectors.files.arrow_types import connect_schema


class ArrowValues:
    """Converts record batches of one schema."""

    def __init__(self, schema: Any) -> None:
        self._target = pa.schema([field.with_type(_readable(field.type)) for field in schema])
        self._cast = not self._target.equals(schema)
        fields = tuple(Field(field.name, connect_schema(field.type, field.nullable)) for field in self._target)
        self._schema = Schema(Type.STRUCT, fields=fields)

    def __call__(self, batch: Any) -> ValueBatch:
        if self._cast:
            columns = [
                column if column.type.equals(field.type) else column.cast(field.type, safe=_overflows(column.type))
                for column, field in zip(batch.columns, self._target, strict=True)
            ]
        else:
            columns = batch.columns
        named = {
            field.name: column.to_pylist(maps_as_pydicts="strict")
            for field, column in zip(self._target, columns, strict=True)
        }
        return ValueBatch.struct(self._schema, named, len(batch))


def _overflows(kind: Any) -> bool:
    """Whether a cast has to check for values that do not fit: all but times, which lose fractions."""
    return not pa.types.is_temporal(kind) and not pa.types.is_nested(kind)


def _readable(kind: Any) -> Any:
    """The type with Connect's counterparts of types that it does not have: times in microseconds, not nanoseconds,
    signed integers, values instead of dictionaries."""
    if pa.types.is_dictionary(kind):
        return _readable(kind.value_type)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_time64(kind):
        return pa.time64("us")
    if pa.types.is_uint64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_readable(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_readable(kind.value_type)))
    return kind
