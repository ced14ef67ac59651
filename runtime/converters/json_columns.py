"""Payloads of one schema read, and values of one schema written, a field of all records at a time.

What a column's types already guarantee is not looked at again for each value; anything out of the common goes value by
value through the readers and writers of json_read and json_write, which also say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import orjson

from runtime.api.columns import Column, Constant, Mixed, Values, columns_of, kinds
from runtime.api.logical import DATE, DECIMAL, TIME, TIMESTAMP
from runtime.api.schema import Schema, Type
from runtime.api.validate import BOUNDS
from runtime.converters.json_read import gap_check, reader
from runtime.converters.json_text import beyond_bmp_escaped, clean, dumps, plain
from runtime.converters.json_write import WriteOptions, writer

ColumnReader = Callable[[Column], Column]
Part = bytes | Sequence[bytes]
"""A piece of every message: one that all have, or one for each."""
ColumnWriter = Callable[[Column], list[Part]]

_LOGICAL = (DATE, TIME, TIMESTAMP, DECIMAL)
_NULL = type(None)


def values_reader(schema: Schema, fill: bool) -> Callable[[list[Any]], Values]:
    """What makes values of payloads; raises what an unusual payload brings."""
    if schema.type is not Type.STRUCT or schema.name in _LOGICAL or not schema.fields:
        read = _column_reader(schema, fill)
        return lambda payloads: Values(schema, read(payloads))
    names = tuple(field.name for field in schema.fields)
    plan = [
        (field.name, _column_reader(field.schema, fill), gap_check(field.schema, "field", field.name))
        for field in schema.fields
    ]

    def read_structs(payloads: list[Any]) -> Values:
        found = _fields(names, payloads)
        columns = {}
        for name, read_column, check in plan:
            columns[name] = column = read_column(found[name])
            if check is not None and column is not found[name]:
                for value in column:
                    check(value)
        return Values.struct(schema, columns, len(payloads))

    return read_structs


def _fields(names: tuple[str, ...], payloads: list[Any]) -> Mapping[str, Column]:
    try:
        return columns_of(names, payloads)
    except Mixed:  # a missing field is a null one
        if set(map(type, payloads)) != {dict}:
            raise
        return {name: [payload.get(name) for payload in payloads] for name in names}


def _column_reader(schema: Schema, fill: bool) -> ColumnReader:
    read = reader(schema, fill)
    usual = _usual(schema, fill)
    bound = BOUNDS.get(schema.type)

    def read_column(column: Column) -> Column:
        if usual and kinds(column) <= usual and (bound is None or _within(column, bound)):
            return column
        return [read(found) for found in column]

    return read_column


def _usual(schema: Schema, fill: bool) -> set[type]:
    """The types of payloads that are values already; empty when each has to be looked at."""
    kind = {Type.STRING: str, Type.BOOLEAN: bool, **dict.fromkeys(BOUNDS, int)}.get(schema.type)
    if kind is None or schema.name in _LOGICAL:
        return set()
    return {kind, _NULL} if schema.optional and (schema.default is None or not fill) else {kind}


def _within(column: Column, bound: int) -> bool:
    numbers = column if _NULL not in kinds(column) else [number for number in column if number is not None]
    return not numbers or (min(numbers) >= -bound and max(numbers) < bound)


def values_writer(
    schema: Schema, options: WriteOptions, prefix: bytes, suffix: bytes
) -> Callable[[Values], list[bytes]]:
    """What makes messages of values: `prefix`, the payload, `suffix`."""
    if schema.type is not Type.STRUCT or schema.name in _LOGICAL or not schema.fields:
        write = _column_writer(schema, options)
        return lambda values: _joined([prefix, *write(values.rows), suffix], values.count)
    plan = [(field.name, _column_writer(field.schema, options)) for field in schema.fields]
    names = [dumps(name) for name, _ in plan]

    def write_structs(values: Values) -> list[bytes]:
        columns = values.columns
        parts: list[Part] = [prefix, b"{"]
        for (name, write_column), text in zip(plan, names, strict=True):
            parts += [text, b":", *write_column(columns[name]), b","]
        parts[-1] = b"}"
        return _joined([*parts, suffix], values.count)

    return write_structs


def write_maps(values: Values, prefix: bytes, suffix: bytes) -> list[bytes]:
    """Messages of maps without a schema that have the same keys; Mixed for others."""
    parts: list[Part] = [prefix, b"{"]
    for name, column in values.columns.items():
        parts += [dumps(clean(name)), b":", *_write_plain(column), b","]
    if len(parts) > 2:
        parts.pop()
    return _joined([*parts, b"}", suffix], values.count)


def _write_plain(column: Column) -> list[Part]:
    if type(column) is Constant:
        return [dumps(plain(column.value))]
    found = kinds(column)
    if found == {str} and len(texts := _texts(column)) == len(column):
        return [b'"', texts, b'"']
    if found <= {int, bool, _NULL}:
        return [orjson.dumps(column)[1:-1].split(b",")]
    return [[dumps(plain(value)) for value in column]]


def _joined(parts: Sequence[Part], count: int) -> list[bytes]:
    """One text for each record, of parts that are the same for all and parts that are not."""
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
    write = writer(schema, options)
    usual = _usual(schema, options.fill)
    text = schema.type is Type.STRING
    bound = BOUNDS.get(schema.type)

    def write_column(column: Column) -> list[Part]:
        if type(column) is Constant:
            return [dumps(write(column.value))]
        found = kinds(column) if usual else None
        if text and found == {str} and usual:
            texts = _texts(column)
            if len(texts) == len(column):
                return [b'"', texts, b'"']
        elif found and found <= usual and not text and (bound is None or _within(column, bound)):
            return [orjson.dumps(column)[1:-1].split(b",")]
        return [[dumps(write(value)) for value in column]]

    return write_column


_BETWEEN = "\x7f"  # a character that JSON leaves as it is, and that texts seldom hold


def _texts(column: Column) -> list[bytes]:
    """Strings as JSON without their quotes, all in one go; of another number when they cannot be told apart, or hold
    what has to be spelled with care."""
    try:
        whole = orjson.dumps(_BETWEEN.join(column))
    except TypeError:  # bytes that are not UTF-8
        return []
    if b"\\" in whole and b"\\u00" in whole:
        return []
    if not whole.isascii():
        whole = beyond_bmp_escaped(whole)
    return whole[1:-1].split(_BETWEEN.encode())
