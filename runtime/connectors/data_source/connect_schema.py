"""Spark's types as Connect schemas and back, and functions that convert their values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from runtime.api.data import logical
from runtime.api.data.logical import DATE_SCHEMA, EXACT, TIMESTAMP_SCHEMA, decimal_schema, scale_of
from runtime.api.data.schema import Schema, Type, struct_schema
from runtime.api.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

Convert = Callable[[Any], Any] | None
"""A function for values that are not null; None if values are the same on both sides."""


def connect_type(kind: DataType, nullable: bool, path: str) -> tuple[Schema, Convert]:
    """The Connect schema of a Spark type, and how values are converted; ConfigError for a type that Connect lacks."""
    from pyspark.sql import types

    plain = {
        types.BooleanType: Type.BOOLEAN, types.ByteType: Type.INT8, types.ShortType: Type.INT16,
        types.IntegerType: Type.INT32, types.LongType: Type.INT64, types.FloatType: Type.FLOAT32,
        types.DoubleType: Type.FLOAT64, types.StringType: Type.STRING, types.VarcharType: Type.STRING,
        types.CharType: Type.STRING,
    }.get(type(kind))  # fmt: skip
    if plain is not None:
        return Schema(plain, optional=nullable), None
    if isinstance(kind, types.BinaryType):
        return Schema(Type.BYTES, optional=nullable), bytes
    if isinstance(kind, types.DateType):
        return DATE_SCHEMA.replace(optional=nullable), None
    if isinstance(kind, types.TimestampType):
        return TIMESTAMP_SCHEMA.replace(optional=nullable), _from_local
    if isinstance(kind, types.TimestampNTZType):
        return TIMESTAMP_SCHEMA.replace(optional=nullable), None
    if isinstance(kind, types.DecimalType):
        unit, schema = Decimal(1).scaleb(-kind.scale), decimal_schema(kind.scale).replace(optional=nullable)
        return schema, lambda value: Decimal(value).quantize(unit, context=EXACT)
    if isinstance(kind, types.ArrayType):
        element, convert = connect_type(kind.elementType, kind.containsNull, path)
        return Schema(Type.ARRAY, nullable, values=element), lambda value: [_one(convert, item) for item in value]
    if isinstance(kind, types.MapType):
        keys, of_key = connect_type(kind.keyType, False, path)
        values, of_value = connect_type(kind.valueType, kind.valueContainsNull, path)
        return Schema(Type.MAP, nullable, keys=keys, values=values), lambda value: {
            _one(of_key, key): _one(of_value, item) for key, item in dict(value).items()
        }
    if isinstance(kind, types.StructType):
        schema, converts = connect_struct(kind, path)
        names = list(converts)

        def convert_struct(value: Any) -> dict[str, Any]:
            items = [value.get(name) for name in names] if isinstance(value, Mapping) else value
            return {name: _one(converts[name], item) for name, item in zip(names, items, strict=True)}

        return schema.replace(optional=nullable), convert_struct
    raise ConfigError(f"The field {path} has the Spark type {kind.simpleString()}, which Connect does not have")


def connect_struct(schema: StructType, path: str = "") -> tuple[Schema, dict[str, Convert]]:
    schemas, converts = {}, {}
    for field in schema.fields:
        where = f"{path}.{field.name}" if path else field.name
        schemas[field.name], converts[field.name] = connect_type(field.dataType, field.nullable, where)
    return struct_schema(schemas), converts


def spark_type(schema: Schema, path: str) -> tuple[DataType, Convert]:
    """The Spark type of a Connect schema, and how values are converted; DataError for Time, which Spark lacks."""
    from pyspark.sql import types

    name = logical.logical_name(schema)
    if name == logical.DECIMAL:
        return types.DecimalType(38, scale_of(schema)), None
    if name == logical.DATE:
        return types.DateType(), None
    if name == logical.TIMESTAMP:
        return types.TimestampType(), _to_local
    if name is not None:
        raise DataError(f"The field {path} has the type {name}, which Spark does not have")
    if schema.type is Type.ARRAY:
        element, convert = spark_type(schema.element(), path)
        return types.ArrayType(element, schema.element().optional), lambda v: [_one(convert, item) for item in v]
    if schema.type is Type.MAP:
        keys, of_key = spark_type(schema.key(), path)
        values, of_value = spark_type(schema.element(), path)
        return types.MapType(keys, values, schema.element().optional), lambda value: {
            _one(of_key, key): _one(of_value, item) for key, item in value.items()
        }
    if schema.type is Type.STRUCT:
        return _spark_struct(schema, path)
    kinds: Mapping[Type, type[DataType]] = {
        Type.BOOLEAN: types.BooleanType, Type.INT8: types.ByteType, Type.INT16: types.ShortType,
        Type.INT32: types.IntegerType, Type.INT64: types.LongType, Type.FLOAT32: types.FloatType,
        Type.FLOAT64: types.DoubleType, Type.STRING: types.StringType, Type.BYTES: types.BinaryType,
    }  # fmt: skip
    return kinds[schema.type](), None


def _spark_struct(schema: Schema, path: str) -> tuple[StructType, Convert]:
    from pyspark.sql import types

    fields, converts = [], {}
    for field in schema.fields:
        kind, converts[field.name] = spark_type(field.schema, f"{path}.{field.name}" if path else field.name)
        fields.append(types.StructField(field.name, kind, field.schema.optional))
    make = types.Row(*converts)
    return types.StructType(fields), lambda value: make(
        *[_one(convert, value.get(name)) for name, convert in converts.items()]
    )


def _one(convert: Convert, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _from_local(value: dt.datetime) -> dt.datetime:
    """Spark's timestamps without a zone are in the process's local time."""
    return value.astimezone(dt.UTC)


def _to_local(value: dt.datetime) -> dt.datetime:
    """The inverse of _from_local(), as rows of Spark have it."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return aware.astimezone().replace(tzinfo=None)
