"""Connect's schemas as Arrow types, and Arrow types as Connect's schemas."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from runtime.api.data.logical import (
    DATE,
    DATE_SCHEMA,
    DECIMAL,
    TIME,
    TIME_SCHEMA,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    decimal_schema,
    logical_name,
    scale_of,
)
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import DataError

MAX_PRECISION = 38
PRECISION = "connect.decimal.precision"
"""Parameter of a Decimal schema: its number of digits."""

_PLAIN = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}
_CONNECT = {
    "int8": Type.INT8, "int16": Type.INT16, "int32": Type.INT32, "int64": Type.INT64, "uint8": Type.INT16,
    "uint16": Type.INT32, "uint32": Type.INT64, "uint64": Type.INT64, "halffloat": Type.FLOAT32,
    "float": Type.FLOAT32, "double": Type.FLOAT64, "bool": Type.BOOLEAN, "string": Type.STRING,
    "large_string": Type.STRING, "string_view": Type.STRING, "binary": Type.BYTES, "large_binary": Type.BYTES,
    "binary_view": Type.BYTES, "null": Type.STRING, "duration[ms]": Type.INT64,
}  # fmt: skip


def arrow_type(schema: Schema) -> Any:
    """The Arrow type of a schema; DataError if there is none."""
    logical = logical_name(schema)
    if logical == DECIMAL:
        return _decimal(schema)
    if logical is not None:
        return {DATE: pa.date32(), TIME: pa.time32("ms"), TIMESTAMP: pa.timestamp("ms", "UTC")}[logical]
    if schema.type is Type.ARRAY:
        return pa.list_(_field("element", schema.element()))
    if schema.type is Type.MAP:
        return pa.map_(arrow_type(schema.key()), _field("value", schema.element()))
    if schema.type is Type.STRUCT:
        return pa.struct([_field(field.name, field.schema) for field in schema.fields])
    return _PLAIN[schema.type]


def _field(name: str, schema: Schema) -> Any:
    return pa.field(name, arrow_type(schema), nullable=schema.optional)


def _decimal(schema: Schema) -> Any:
    scale = scale_of(schema)
    given = schema.parameter(PRECISION)
    precision = int(given) if given is not None and given.isdigit() else MAX_PRECISION
    if not 0 <= scale <= MAX_PRECISION:
        raise DataError(f"A decimal with scale {scale} does not fit the {MAX_PRECISION} digits of file formats")
    return pa.decimal128(min(max(precision, scale, 1), MAX_PRECISION), scale)


def connect_schema(arrow: Any, optional: bool = False) -> Schema:
    """The Connect schema of an Arrow type; DataError if there is none."""
    return _connect(arrow).replace(optional=optional) if optional else _connect(arrow)


def _connect(arrow: Any) -> Schema:
    if (plain := _CONNECT.get(str(arrow))) is not None:
        return Schema(plain)
    types = pa.types
    if types.is_struct(arrow):
        return Schema(Type.STRUCT, fields=tuple(Field(f.name, connect_schema(f.type, f.nullable)) for f in arrow))
    if types.is_map(arrow):
        item = arrow.item_field
        return Schema(Type.MAP, keys=_connect(arrow.key_type), values=connect_schema(item.type, item.nullable))
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow):
        element = arrow.value_field
        return Schema(Type.ARRAY, values=connect_schema(element.type, element.nullable))
    if types.is_decimal(arrow):
        made = decimal_schema(arrow.scale)
        return made.replace(parameters=(*made.parameters, (PRECISION, str(arrow.precision))))
    if types.is_dictionary(arrow):
        return _connect(arrow.value_type)
    if types.is_fixed_size_binary(arrow):
        return Schema(Type.BYTES)
    for matches, made in _TIMES:
        if matches(arrow):
            return made
    raise DataError(f"Connect has no type for Arrow's {arrow}")


_TIMES = (
    (pa.types.is_date, DATE_SCHEMA),
    (pa.types.is_time, TIME_SCHEMA),
    (pa.types.is_timestamp, TIMESTAMP_SCHEMA),
)
