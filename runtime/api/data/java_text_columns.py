"""java_text() for batches of values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, Final

import orjson

from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError, ValueBatch, value_types
from runtime.api.data.java_text import float_text, java_text, map_order
from runtime.api.data.schema import Schema, Type

_NAMED: Final = {None: "null", True: "true", False: "false"}
_NAMED_TYPES: Final = frozenset({type(None), bool})
_PLAIN_FLOATS: Final = 1e-3, 1e7
"""From the first to below the second, and for zero, Java prints the same text as JSON."""


def java_texts(values: ValueBatch) -> Sequence[str]:
    """One text for each value: `null`, `1.0E8`, `Struct{a=1}`."""
    schema = values.schema
    try:
        if schema is None:
            return _maps(values)
        if schema.type is Type.STRUCT:
            return _structs(schema, values)
    except MixedBatchError:
        pass
    return _texts(values.rows, schema)


def _texts(column: Column, schema: Schema | None) -> Sequence[str]:
    if type(column) is ConstantColumn:
        return ConstantColumn(java_text(column.value, schema), len(column))
    types = value_types(column)
    if types == {str}:
        return column
    if types == {int}:
        return _whole_numbers(column)
    if types == {float} and (schema is None or schema.type is Type.FLOAT64):
        return _floats(column)
    if types <= _NAMED_TYPES:
        return [_NAMED[value] for value in column]
    if types == {str, type(None)}:
        return ["null" if value is None else value for value in column]
    if schema is not None and schema.type is Type.STRUCT and types == {dict}:
        try:
            return _structs(schema, ValueBatch(schema, column))
        except MixedBatchError:
            pass
    return [java_text(value, schema) for value in column]


def _whole_numbers(column: Column) -> Sequence[str]:
    try:
        return orjson.dumps(list(column))[1:-1].decode().split(",")
    except TypeError:  # beyond 64 bits
        return list(map(str, column))


def _floats(column: Column) -> Sequence[str]:
    text = orjson.dumps(list(column))[1:-1].decode() if _are_plain(column) else ""
    return list(map(float_text, column)) if not text or "null" in text else text.split(",")  # null: a NaN between


def _are_plain(numbers: Column) -> bool:
    low, high = _PLAIN_FLOATS
    if min(numbers) >= low:
        return bool(max(numbers) < high)
    sizes = list(map(abs, filter(None, numbers)))
    return not sizes or (min(sizes) >= low and max(sizes) < high)


def _maps(values: ValueBatch) -> list[str]:
    """All maps of the batch have the same keys, and so the same order."""
    columns = values.columns
    order = map_order(values.first)
    if not order:
        return ["{}"] * values.count
    parts: list[Any] = []
    lead, comma = "{", ""
    for name in order:
        column = columns[name]
        lead += f"{comma}{name}="
        comma = ", "
        if type(column) is ConstantColumn:
            lead += java_text(column.value)
        else:
            parts += [repeat(lead), _texts(column, None)]
            lead = ""
    if not parts:
        return [lead + "}"] * values.count
    return list(map("".join, zip(*parts, repeat(lead + "}", values.count), strict=False)))


def _structs(schema: Schema, values: ValueBatch) -> list[str]:
    columns = values.columns
    parts: list[Any] = []
    lead, comma = "Struct{", ""
    for field in schema.fields:
        column = columns[field.name]
        if type(None) in value_types(column):  # null fields are omitted
            return _with_gaps(schema, values)
        lead += f"{comma}{field.name}="
        comma = ","
        if type(column) is ConstantColumn:
            lead += java_text(column.value, field.schema)
        else:
            parts += [repeat(lead), _texts(column, field.schema)]
            lead = ""
    return list(map("".join, zip(*parts, repeat(lead + "}", values.count), strict=False)))


def _with_gaps(schema: Schema, values: ValueBatch) -> list[str]:
    columns = values.columns
    fields = [
        [f"{field.name}={text}" if value is not None else None for value, text in zip(column, texts, strict=True)]
        for field in schema.fields
        for column in (columns[field.name],)
        for texts in (_texts(column, field.schema),)
    ]
    return ["Struct{" + ",".join([text for text in row if text is not None]) + "}" for row in zip(*fields, strict=True)]
