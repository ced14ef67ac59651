"""Merges the types of records, and brings columns to a merged type.

The result depends on the records alone, not on how they are divided into batches. Null merges with any type, integers
with wider integers and with floating-point numbers, structs field by field. A missing field is null.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from runtime.connectors.files.arrow_casts import cast

_types = pa.types
EXACT_INTEGERS = 1 << 53
"""Integers up to this size are exact as 64-bit floating-point numbers."""


class MergeError(Exception):
    """Two types have no common type."""


def merged_schema(first: Any, second: Any) -> Any:
    """A schema for records of both schemas; fields that only one of them has become nullable. MergeError."""
    if first is second or first.equals(second):
        return first
    return pa.schema(_merged_fields(list(first), list(second)))


def merged_type(first: Any, second: Any) -> Any:
    """The common type of two types; MergeError if there is none."""
    if first.equals(second):
        return first
    if _types.is_null(first) or _types.is_null(second):
        return second if _types.is_null(first) else first
    if _types.is_struct(first) and _types.is_struct(second):
        return pa.struct(_merged_fields(list(first), list(second)))
    if _types.is_list(first) and _types.is_list(second):
        return pa.list_(_merged_field(first.value_field, second.value_field))
    if _types.is_map(first) and _types.is_map(second) and first.key_type.equals(second.key_type):
        return pa.map_(first.key_type, _merged_field(first.item_field, second.item_field))
    if _is_number(first) and _is_number(second):
        return _merged_number(first, second)
    raise MergeError(f"{first} and {second} have no common type")


def _is_number(kind: Any) -> bool:
    return bool(_types.is_integer(kind) or _types.is_floating(kind))


def _merged_number(first: Any, second: Any) -> Any:
    if _types.is_integer(first) and _types.is_integer(second):
        return first if first.bit_width >= second.bit_width else second
    if _types.is_floating(first) and _types.is_floating(second):
        return pa.float64()
    return pa.float64()


def _merged_fields(first: list[Any], second: list[Any]) -> list[Any]:
    others = {field.name: field for field in second}
    merged = [
        _merged_field(field, others.pop(field.name)) if field.name in others else field.with_nullable(True)
        for field in first
    ]
    return merged + [field.with_nullable(True) for field in others.values()]


def _merged_field(first: Any, second: Any) -> Any:
    nullable = first.nullable or second.nullable
    return pa.field(first.name, merged_type(first.type, second.type), nullable=nullable)


def large_integers(batch: Any) -> set[str]:
    """The paths of integers in a record batch that are not exact as floating-point numbers."""
    paths: set[str] = set()
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        paths.update(_large(name, column))
    return paths


def _large(path: str, column: Any) -> Iterator[str]:
    kind = column.type
    if _types.is_int64(kind):
        bounds = pc.min_max(column).as_py()
        if bounds["min"] is not None and (bounds["min"] < -EXACT_INTEGERS or bounds["max"] > EXACT_INTEGERS):
            yield path
    elif _types.is_struct(kind):
        for position, field in enumerate(kind):
            yield from _large(f"{path}.{field.name}", column.field(position))
    elif _types.is_list(kind) or _types.is_map(kind):
        values = column.values if _types.is_list(kind) else column.items
        yield from _large(f"{path}[]", values)


def floating_paths(schema: Any) -> set[str]:
    """The paths of the floating-point numbers in a schema."""
    return {path for field in schema for path in _floating(field.name, field.type)}


def _floating(path: str, kind: Any) -> Iterator[str]:
    if _types.is_floating(kind):
        yield path
    elif _types.is_struct(kind):
        for field in kind:
            yield from _floating(f"{path}.{field.name}", field.type)
    elif _types.is_list(kind):
        yield from _floating(f"{path}[]", kind.value_type)
    elif _types.is_map(kind):
        yield from _floating(f"{path}[]", kind.item_type)


def writable_schema(schema: Any) -> Any:
    """The schema with types that every format can store: values of unknown type (only nulls) and structs without fields
    become strings. Records without fields get one, which is null."""
    if not len(schema):
        return pa.schema([pa.field("value", pa.string())])
    return pa.schema([field.with_type(_writable(field.type)) for field in schema])


def _writable(kind: Any) -> Any:
    if _types.is_null(kind) or (_types.is_struct(kind) and not kind.num_fields):
        return pa.string()
    if _types.is_struct(kind):
        return pa.struct([field.with_type(_writable(field.type)) for field in kind])
    if _types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_writable(kind.value_type)))
    if _types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_writable(kind.item_type)))
    return kind


def conformed(batch: Any, schema: Any) -> Any:
    """A record batch of a merged schema."""
    if batch.schema.equals(schema):
        return batch
    own = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = [
        conformed_column(own[field.name], field.type) if field.name in own else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def conformed_column(column: Any, kind: Any) -> Any:
    """A column as another type. MergeError, DataError, or an error of Arrow, if a value does not fit."""
    if column.type.equals(kind):
        return column
    if _types.is_null(column.type):
        return pa.nulls(len(column), kind)
    if _types.is_struct(column.type) and not column.type.num_fields and _types.is_string(kind):
        return pc.if_else(column.is_valid(), pa.scalar("{}"), pa.scalar(None, pa.string()))
    if any(is_kind(kind) and not is_kind(column.type) for is_kind in (_types.is_struct, _types.is_list)):
        raise MergeError(f"{column.type} cannot be stored as {kind}")
    if _types.is_struct(kind):
        return _conformed_struct(column, kind)
    if _types.is_list(kind):
        whole = _whole(column)
        values = conformed_column(whole.values, kind.value_type)
        return pa.ListArray.from_arrays(whole.offsets, values, type=kind, mask=_mask(whole))
    if _types.is_map(kind):
        return _conformed_map(column, kind)
    return cast(column, kind)


def _whole(column: Any) -> Any:
    """The column with nested values that are not those of a longer one."""
    return column.take(pa.array(range(len(column)))) if column.offset else column


def _conformed_map(column: Any, kind: Any) -> Any:
    if _types.is_struct(column.type):
        item = reduce(merged_type, (field.type for field in column.type), pa.null())
        column = pa.array(column.to_pylist(), pa.map_(pa.string(), item))
    if not _types.is_map(column.type):
        raise MergeError(f"{column.type} cannot be stored as {kind}")
    whole = _whole(column)
    keys, items = conformed_column(whole.keys, kind.key_type), conformed_column(whole.items, kind.item_type)
    return pa.MapArray.from_arrays(whole.offsets, keys, items, type=kind, mask=_mask(whole))


def _conformed_struct(column: Any, kind: Any) -> Any:
    position = {field.name: index for index, field in enumerate(column.type)}
    children = [
        conformed_column(column.field(position[field.name]), field.type)
        if field.name in position
        else pa.nulls(len(column), field.type)
        for field in kind
    ]
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=_mask(column))


def _mask(column: Any) -> Any:
    return column.is_null() if column.null_count else None
