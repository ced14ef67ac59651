"""Types of the columns that a function takes and returns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

RECORD = "_record"
"""The column with the number of the record of each row in its batch. A function that drops or adds rows keeps it."""

_types = pa.types


def in_microseconds(kind: Any) -> Any:
    """The type with timestamps in microseconds, which the values of records may have."""
    return _changed(kind, lambda plain: pa.timestamp("us", plain.tz) if _types.is_timestamp(plain) else plain)


def without_variants(kind: Any) -> Any:
    """The type with one of several that have the same values for Connect: for texts, bytes, lists, decimals of any
    precision, and times of any unit."""
    return _changed(kind, _plain)


def _plain(kind: Any) -> Any:
    if _types.is_dictionary(kind):
        return without_variants(kind.value_type)
    if _types.is_large_string(kind) or _types.is_string_view(kind):
        return pa.string()
    if _types.is_large_binary(kind) or _types.is_binary_view(kind) or _types.is_fixed_size_binary(kind):
        return pa.binary()
    if _types.is_decimal(kind):
        return pa.decimal256(76, kind.scale)
    if _types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if _types.is_time(kind):
        return pa.time64("us")
    return pa.date32() if _types.is_date(kind) else kind


def _changed(kind: Any, change: Any) -> Any:
    if _types.is_struct(kind):
        return pa.struct([pa.field(field.name, _changed(field.type, change)) for field in kind])
    if _types.is_list(kind) or _types.is_large_list(kind) or _types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", _changed(kind.value_type, change)))
    if _types.is_map(kind):
        return pa.map_(_changed(kind.key_type, change), pa.field("value", _changed(kind.item_type, change)))
    return change(kind)


def cast(column: Any, kind: Any) -> Any:
    """A column as a type with the same values. Times may lose fractions."""
    if column.type.equals(kind):
        return column
    return column.cast(kind, safe=not _types.is_temporal(kind))
