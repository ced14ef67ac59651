"""Conversion of values to JSON payloads, by a function that is compiled once for each schema."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from runtime.api.data.class_names import java_class
from runtime.api.data.java_text import map_order
from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP, decimal_to_bytes, to_plain
from runtime.api.data.schema import Schema, Type
from runtime.api.data.validate import BOUNDS
from runtime.api.errors import DataError
from runtime.converters.json.scalars import number
from runtime.converters.json.text import plain

Writer = Callable[[Any], Any]

_NULL = "Conversion error: null value for field that is required and has no default value"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """`fill`: nulls become the default of their schema. `numeric`: decimals are JSON numbers instead of bytes.
    `in_hash_order`: map entries have the order of Java's HashMap, so that a key has the same bytes and partition."""

    fill: bool = True
    numeric: bool = False
    in_hash_order: bool = False
    is_union: Callable[[Schema], bool] | None = None
    """With a JSON schema: recognizes structs whose only field with a value is written in their place. A null that is
    required is left out of its struct, and entries of maps without text keys are objects."""


def writer(schema: Schema | None, options: WriteOptions) -> Writer:
    """A function that converts values for dumps(); DataError if a value does not match the schema."""
    if schema is None:
        return plain
    write = _logical(schema, options) or _MAKERS[schema.type](schema, options)
    default = schema.default if options.fill else None
    if default is not None:
        return _with_default(write, default)
    optional = schema.optional
    kind = _EXACT.get(schema.type) if schema.name not in _LOGICAL else None
    if kind is not None:
        return _exact(write, kind, optional)

    def write_or_null(value: Any) -> Any:
        if value is None:
            if optional:
                return None
            raise DataError(_NULL)
        return write(value)

    return write_or_null


_EXACT = {Type.STRING: str, Type.BOOLEAN: bool}
"""Python types whose values need no conversion."""


def _exact(write: Writer, kind: type, optional: bool) -> Writer:
    def write_exact(value: Any) -> Any:
        if type(value) is kind:
            return value
        if value is None and optional:
            return None
        if value is None:
            raise DataError(_NULL)
        return write(value)

    return write_exact


def _with_default(write: Writer, default: Any) -> Writer:
    """The default is converted when first needed, so an invalid default fails nulls only."""
    filled: list[Any] = []

    def write_or_default(value: Any) -> Any:
        if value is not None:
            return write(value)
        if not filled:
            filled.append(write(default))
        return filled[0]

    return write_or_default


def _invalid(schema: Schema, value: Any) -> DataError:
    return DataError(f"Invalid type for {schema.type.name}: class {java_class(value)}")


def _integer(schema: Schema, options: WriteOptions) -> Writer:
    bound = BOUNDS[schema.type]

    def write(value: Any) -> Any:
        if type(value) is int and -bound <= value < bound:
            return value
        raise _invalid(schema, value)

    return write


def _float(schema: Schema, options: WriteOptions) -> Writer:
    single = schema.type is Type.FLOAT32

    def write(value: Any) -> Any:
        if type(value) is float or type(value) is int:
            return number(float(value), single)
        raise _invalid(schema, value)

    return write


def _boolean_or_string(schema: Schema, options: WriteOptions) -> Writer:
    kind = _EXACT[schema.type]

    def write(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise _invalid(schema, value)

    return write


def _bytes(schema: Schema, options: WriteOptions) -> Writer:
    def write(value: Any) -> Any:
        if isinstance(value, bytes | bytearray | memoryview):
            return base64.b64encode(value).decode()
        raise DataError(f"Invalid type for bytes type: class {java_class(value)}")

    return write


def _array(schema: Schema, options: WriteOptions) -> Writer:
    item = writer(schema.values, options)

    def write(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [item(element) for element in value]
        raise _invalid(schema, value)

    return write


def _map(schema: Schema, options: WriteOptions) -> Writer:
    """An object when keys are strings, otherwise an array of pairs."""
    if options.is_union is not None and (schema.key().type is not Type.STRING or schema.key().optional):
        return _entries(schema, options)
    keys, item = writer(schema.key(), options), writer(schema.values, options)
    as_object, in_hash_order = schema.key().type is Type.STRING, options.in_hash_order

    def write(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _invalid(schema, value)
        if as_object:
            order = map_order(value) if in_hash_order else value
            return {_name(keys(key)): item(value[key]) for key in order}
        return [[keys(key), item(value[key])] for key in map_order(value, schema.keys)]

    return write


def _entries(schema: Schema, options: WriteOptions) -> Writer:
    keys, item = writer(schema.key(), options), writer(schema.values, options)

    def write(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _invalid(schema, value)
        order = map_order(value, schema.keys) if options.in_hash_order else value
        return [{"key": keys(key), "value": item(value[key])} for key in order]

    return write


def _name(key: Any) -> Any:
    return "null" if key is None else key


def _struct(schema: Schema, options: WriteOptions) -> Writer:
    if options.is_union is not None:
        return _union(schema, options) if options.is_union(schema) else _loose_struct(schema, options)
    plan = [(field.name, writer(field.schema, options)) for field in schema.fields]
    names = tuple(name for name, _ in plan)
    kinds = tuple(_EXACT.get(f.schema.type) if f.schema.name not in _LOGICAL else None for f in schema.fields)
    exact = None not in kinds

    def write(value: Any) -> Any:
        if exact and type(value) is dict and tuple(value) == names and tuple(map(type, value.values())) == kinds:
            return value
        if not isinstance(value, Mapping):
            raise _invalid(schema, value)
        get = value.get
        return {name: field(get(name)) for name, field in plan}

    return write


def _loose_struct(schema: Schema, options: WriteOptions) -> Writer:
    plan = [
        (f.name, writer(f.schema, options), f.schema.optional or (options.fill and f.schema.default is not None))
        for f in schema.fields
    ]

    def write(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _invalid(schema, value)
        get = value.get
        return {
            name: field(own)
            for name, field, nullable in plan
            if (own := get(name)) is not None or nullable
        }  # fmt: skip

    return write


def _union(schema: Schema, options: WriteOptions) -> Writer:
    plan = [(f.name, writer(f.schema, options), f.schema.default if options.fill else None) for f in schema.fields]

    def write(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _invalid(schema, value)
        for name, field, default in plan:
            own = value.get(name)
            if own is not None or default is not None:
                return field(own)
        if schema.optional:
            return None
        raise DataError(_NULL)

    return write


_MAKERS: dict[Type, Callable[[Schema, WriteOptions], Writer]] = {
    **dict.fromkeys(BOUNDS, _integer),
    Type.FLOAT32: _float,
    Type.FLOAT64: _float,
    Type.BOOLEAN: _boolean_or_string,
    Type.STRING: _boolean_or_string,
    Type.BYTES: _bytes,
    Type.ARRAY: _array,
    Type.MAP: _map,
    Type.STRUCT: _struct,
}

_LOGICAL = (DATE, TIME, TIMESTAMP, DECIMAL)


def _logical(schema: Schema, options: WriteOptions) -> Writer | None:
    if schema.name == DECIMAL:
        return _decimal(schema, options.numeric)
    return _time(schema) if schema.name in _LOGICAL else None


def _time(schema: Schema) -> Writer:
    short = (schema.name or "").rpartition(".")[2]

    def write(value: Any) -> Any:
        if not isinstance(value, dt.date | dt.time):
            raise DataError(f"Invalid type for {short}, expected Date but was class {java_class(value, schema)}")
        return to_plain(schema, value)

    return write


def _decimal(schema: Schema, numeric: bool) -> Writer:
    def write(value: Any) -> Any:
        if not isinstance(value, Decimal):
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(value, schema)}")
        if numeric:
            return orjson.Fragment(str(value if value else value.copy_abs()))  # -0.0 becomes 0.0
        return base64.b64encode(decimal_to_bytes(schema, value)).decode()

    return write
