"""Reads and writes JSON for batches of values that share a schema, one column at a time.

The types of a column often show that its values need no conversion. All other values go through the readers and writers
for single values in read.py and write.py, which also report errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import orjson

from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError, ValueBatch, columns_of, value_types
from runtime.api.data.java_text import map_order
from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP
from runtime.api.data.schema import Schema, Type
from runtime.api.data.validate import BOUNDS
from runtime.api.java_compat.jackson import beyond_bmp_escaped
from runtime.converters.json.read import Reader, gap_check, reader
from runtime.converters.json.scalars import number
from runtime.converters.json.text import dumps, dumps_plain, in_hash_order
from runtime.converters.json.write import WriteOptions, writer

ColumnReader = Callable[[Column], Column]
Part = bytes | Sequence[bytes]
"""A part of each message: the same for all messages, or one for each."""
ColumnWriter = Callable[[Column], list[Part]]

_LOGICAL = (DATE, TIME, TIMESTAMP, DECIMAL)
_NULL = type(None)
_SCALARS = {str, int, float, bool, _NULL}


Single = Callable[[Schema], Reader]
"""Makes the reader of single values."""
IsUnion = Callable[[Schema], bool]


def values_reader(
    schema: Schema, fill: bool, single: Single | None = None, is_union: IsUnion | None = None
) -> Callable[[list[Any]], ValueBatch]:
    """A function that converts payloads to values; any exception means that they must be converted one by one.

    `single` makes the readers of single values, instead of reader(); `is_union`: as in WriteOptions."""
    reading = _Reading(fill, single or (lambda own: reader(own, fill)), is_union or (lambda _: False))
    return _values_reader(schema, reading)


class _Reading(NamedTuple):
    fill: bool
    single: Single
    is_union: IsUnion


def _values_reader(schema: Schema, reading: _Reading) -> Callable[[list[Any]], ValueBatch]:
    if schema.type is not Type.STRUCT or schema.name in _LOGICAL or not schema.fields or reading.is_union(schema):
        read = _column_reader(schema, reading)
        return lambda payloads: ValueBatch(schema, read(payloads))
    names = tuple(field.name for field in schema.fields)
    plan = [
        (field.name, _column_reader(field.schema, reading), gap_check(field.schema, "field", field.name))
        for field in schema.fields
    ]

    def read_structs(payloads: list[Any]) -> ValueBatch:
        payloads_of = _fields(names, payloads)
        columns = {}
        for name, read_column, check in plan:
            columns[name] = column = read_column(payloads_of[name])
            if check is not None and column is not payloads_of[name]:
                for value in column:
                    check(value)
        return ValueBatch.struct(schema, columns, len(payloads))

    return read_structs


def _fields(names: tuple[str, ...], payloads: list[Any]) -> Mapping[str, Column]:
    try:
        return columns_of(names, payloads)
    except MixedBatchError:  # a missing field is null
        if set(map(type, payloads)) != {dict}:
            raise
        return {name: [payload.get(name) for payload in payloads] for name in names}


def _column_reader(schema: Schema, reading: _Reading) -> ColumnReader:
    read, read_usual = reading.single(schema), _usual_reader(schema, reading)

    def read_column(column: Column) -> Column:
        usual = read_usual(column)
        return [read(payload) for payload in column] if usual is None else usual

    return read_column


def _usual_reader(schema: Schema, reading: _Reading) -> Callable[[Column], Column | None]:
    """A reader of columns with the common types of the schema; it returns None for others."""
    if schema.name in _LOGICAL or reading.is_union(schema):
        return lambda column: None
    if schema.type is Type.STRUCT and schema.fields:
        read_structs = _values_reader(schema, reading)
        return lambda column: read_structs(list(column)).rows if value_types(column) == {dict} else None
    if schema.type is Type.FLOAT64:  # JSON numbers have no -0.0
        return lambda column: [number + 0.0 for number in column] if value_types(column) == {float} else None
    usual, bound = _usual(schema, reading.fill), BOUNDS.get(schema.type)
    return lambda column: column if usual and value_types(column) <= usual and _within(column, bound) else None


def _usual(schema: Schema, fill: bool) -> set[type]:
    """The Python types of payloads that need no conversion; empty if each payload does."""
    kind = {Type.STRING: str, Type.BOOLEAN: bool, **dict.fromkeys(BOUNDS, int)}.get(schema.type)
    if kind is None or schema.name in _LOGICAL:
        return set()
    return {kind, _NULL} if schema.optional and (schema.default is None or not fill) else {kind}


def _within(column: Column, bound: int | None) -> bool:
    if bound is None:
        return True
    numbers = column if _NULL not in value_types(column) else [number for number in column if number is not None]
    return not numbers or (min(numbers) >= -bound and max(numbers) < bound)


def values_writer(
    schema: Schema, options: WriteOptions, prefix: bytes, suffix: bytes
) -> Callable[[ValueBatch], list[bytes]]:
    """A function that converts values to messages: `prefix`, the payload, `suffix`."""
    if schema.type is not Type.STRUCT or schema.name in _LOGICAL or not schema.fields or _is_union(schema, options):
        write = _column_writer(schema, options)
        return lambda values: _joined([prefix, *write(values.rows), suffix], values.count)
    write_fields = _fields_writer(schema, options)
    return lambda values: _joined([prefix, *write_fields(values.columns), suffix], values.count)


def _is_union(schema: Schema, options: WriteOptions) -> bool:
    return options.is_union is not None and options.is_union(schema)


def _fields_writer(schema: Schema, options: WriteOptions) -> Callable[[Mapping[str, Column]], list[Part]]:
    plan = [(field.name, dumps(field.name), _column_writer(field.schema, options)) for field in schema.fields]

    def write_fields(columns: Mapping[str, Column]) -> list[Part]:
        parts: list[Part] = [b"{"]
        for name, text, write_column in plan:
            parts += [text, b":", *write_column(columns[name]), b","]
        parts[-1] = b"}"
        return parts

    return write_fields


def write_maps(values: ValueBatch, prefix: bytes, suffix: bytes, hash_order: bool) -> list[bytes]:
    """Messages of maps without a schema that have the same keys; MixedBatchError for other values. `hash_order`: sort
    keys as WriteOptions.in_hash_order does."""
    parts: list[Part] = [prefix, b"{"]
    columns = values.columns
    for name in map_order(values.first) if hash_order else columns:
        column = columns[name]
        if hash_order and not value_types(column) <= _SCALARS:
            column = list(map(in_hash_order, column))
        parts += [dumps(name), b":", *_write_plain(column), b","]
    if len(parts) > 2:
        parts.pop()
    return _joined([*parts, b"}", suffix], values.count)


def _write_plain(column: Column) -> list[Part]:
    if type(column) is ConstantColumn:
        return [dumps_plain(column.value)]
    if (texts := _write_texts(column)) is not None:
        return texts
    types = value_types(column)
    if types <= {int, bool, _NULL}:
        return _numbers(column)
    if types == {float}:
        return _numbers(list(map(number, column)))
    return [list(map(dumps_plain, column))]


def _joined(parts: Sequence[Part], count: int) -> list[bytes]:
    """Joins the parts of each message."""
    merged: list[Any] = []
    for part in parts:
        if isinstance(part, bytes) and merged and isinstance(merged[-1], bytes):
            merged[-1] += part
        else:
            merged.append(part)
    if all(isinstance(part, bytes) for part in merged):
        return [b"".join(merged)] * count
    columns = [repeat(part, count) if isinstance(part, bytes) else part for part in merged]
    return list(map(b"".join, zip(*columns, strict=True)))


def _column_writer(schema: Schema, options: WriteOptions) -> ColumnWriter:
    write, write_usual = writer(schema, options), _usual_writer(schema, options)

    def write_column(column: Column) -> list[Part]:
        if type(column) is ConstantColumn:
            return [dumps(write(column.value))]
        usual = write_usual(column)
        return [[dumps(write(value)) for value in column]] if usual is None else usual

    return write_column


def _usual_writer(schema: Schema, options: WriteOptions) -> Callable[[Column], list[Part] | None]:
    """A writer of columns with the common types of the schema; it returns None for others."""
    if schema.name in _LOGICAL or _is_union(schema, options):
        return lambda column: None
    if schema.type is Type.STRUCT and schema.fields:
        return _inner_writer(schema, options)
    if schema.type is Type.FLOAT64:
        return lambda column: _numbers(list(map(number, column))) if value_types(column) == {float} else None
    usual, bound = _usual(schema, options.fill), BOUNDS.get(schema.type)
    if not usual:
        return lambda column: None
    if schema.type is Type.STRING:
        return _write_texts
    return lambda column: _numbers(column) if value_types(column) <= usual and _within(column, bound) else None


def _inner_writer(schema: Schema, options: WriteOptions) -> Callable[[Column], list[Part] | None]:
    write_fields, names = _fields_writer(schema, options), tuple(field.name for field in schema.fields)

    def write_structs(column: Column) -> list[Part] | None:
        try:
            return write_fields(columns_of(names, column)) if value_types(column) == {dict} else None
        except MixedBatchError:  # a field is missing
            return None

    return write_structs


def _write_texts(column: Column) -> list[Part] | None:
    if value_types(column) != {str} or len(texts := _texts(column)) != len(column):
        return None
    return [b'"', texts, b'"']


def _numbers(column: Column) -> list[Part]:
    """The JSON of values without commas: numbers, booleans, null."""
    return [orjson.dumps(column, default=list)[1:-1].split(b",")]


_BETWEEN = "\x7f"  # JSON does not escape this character, and texts seldom contain it


def _texts(column: Column) -> list[bytes]:
    """The JSON of all strings without quotes, in one call. The result has another length if a string contains the
    separator or needs special escapes."""
    try:
        whole = orjson.dumps(_BETWEEN.join(column))
    except TypeError:  # bytes that are not UTF-8
        return []
    if b"\\" in whole and b"\\u00" in whole:
        return []
    if not whole.isascii():
        whole = beyond_bmp_escaped(whole)
    return whole[1:-1].split(_BETWEEN.encode())
