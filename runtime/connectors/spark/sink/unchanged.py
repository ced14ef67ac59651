"""Values that an update has not changed and the database has not sent: the row in the table keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from runtime.connectors.spark.staging import UNCHANGED
from runtime.connectors.unchanged import Placeholder

_types = pa.types


def without_unchanged(rows: Any, placeholder: Placeholder) -> tuple[Any, Any]:
    """The rows of a record batch with null in place of a placeholder, and the names of these columns for each row; None
    if there are none."""
    masks = {}
    for place, (name, column) in enumerate(zip(rows.schema.names, rows.columns, strict=True)):
        mask = _unchanged(column, placeholder)
        if mask is not None and pc.any(mask).as_py():
            masks[name] = mask.to_pylist()
            rows = rows.set_column(place, name, pc.if_else(mask, pa.scalar(None, column.type), column))
    if not masks:
        return rows, None
    names = [[name for name, mask in masks.items() if mask[row]] or None for row in range(len(rows))]
    return rows, pa.array(names, pa.list_(pa.string()))


def with_earlier_values(rows: Any, keys: Sequence[str]) -> Any:
    """Changes in their order, of which unchanged values are those of the change of the same key before, if it has
    them."""
    if UNCHANGED not in rows.schema.names or rows.column(UNCHANGED).null_count == len(rows):
        return rows
    unchanged = rows.column(UNCHANGED).to_pylist()
    names = {name for each in unchanged for name in each or ()} & {*rows.schema.names}
    sources = {name: list(range(len(rows))) for name in names}
    last: dict[tuple[Any, ...], int] = {}
    for row, key in enumerate(zip(*(rows.column(name).to_pylist() for name in keys), strict=True)):
        before = last.get(key)
        if unchanged[row] and before is not None:
            for name in names.intersection(unchanged[row]):
                sources[name][row] = sources[name][before]
            unchanged[row] = [name for name in unchanged[row] if name in (unchanged[before] or ())] or None
        last[key] = row
    for name, places in sources.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows.column(name).take(pa.array(places)))
    column = pa.array(unchanged, rows.schema.field(UNCHANGED).type)
    return rows.set_column(rows.schema.get_field_index(UNCHANGED), UNCHANGED, column)


def _unchanged(column: Any, placeholder: Placeholder) -> Any:
    """Which values of a column are the placeholder; None for a type that cannot have it."""
    kind = column.type
    if _is_text(kind):
        return pc.is_in(column, value_set=pa.array(placeholder.texts, kind))
    if _is_binary(kind):
        return pc.fill_null(pc.equal(column, pa.scalar(placeholder.bytes, kind)), False)
    if _types.is_list(kind) or _types.is_large_list(kind):
        if _is_text(kind.value_type):
            return _of_length(column, 1, lambda value: value[0] in placeholder.texts)
        if _is_binary(kind.value_type):
            return _of_length(column, 1, lambda value: value[0] == placeholder.bytes)
        if _types.is_integer(kind.value_type) or _types.is_floating(kind.value_type):
            return _of_length(column, len(placeholder.numbers), lambda value: value == placeholder.numbers)
    if _types.is_map(kind) and _is_text(kind.key_type):
        return _of_length(column, 1, lambda value: value == list(placeholder.pairs.items()))
    if _types.is_struct(kind) and [part.name for part in kind] == [placeholder.text]:  # a map without a schema
        return pc.is_valid(column)
    return None


def _of_length(column: Any, length: int, is_placeholder: Callable[[Any], bool]) -> Any:
    """Tries the values of a column of lists or maps that have this length."""
    lengths = pc.subtract(column.offsets[1:], column.offsets[:-1])
    places = pc.indices_nonzero(pc.and_(column.is_valid(), pc.equal(lengths, length))).to_pylist()
    matching = {place for place in places if is_placeholder(column[place].as_py())}
    return pa.array([place in matching for place in range(len(column))]) if matching else None


def _is_text(kind: Any) -> bool:
    return bool(_types.is_string(kind) or _types.is_large_string(kind))


def _is_binary(kind: Any) -> bool:
    return bool(_types.is_binary(kind) or _types.is_large_binary(kind))
