"""Batches of values that share a schema, stored as columns, for converters and transformations that process many
records in one call.

Each field of a struct is a column, so adding, removing or extracting a field costs nothing per record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from runtime.api.data.java_text import JavaMap
from runtime.api.data.record import Headers
from runtime.api.data.schema import Schema, Type

Column = Sequence[Any]
"""One value for each record of a batch."""


class MixedBatchError(Exception):
    """The values of a batch differ in schema, keys or topic: process its records one by one."""


class ConstantColumn(Sequence[Any]):
    """A column with the same value for every record."""

    __slots__ = ("_count", "value")

    def __init__(self, value: Any, count: int) -> None:
        self.value, self._count = value, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.value, self._count)

    def __getitem__(self, index: Any) -> Any:
        """IndexError behind the end, which ends every iteration by index."""
        selected = range(self._count)[index]
        return ConstantColumn(self.value, len(selected)) if isinstance(selected, range) else self.value


class StructColumn(Sequence[dict[str, Any]]):
    """A column of structs, or of maps with the same text keys, none of them null: a column for each field. The
    dictionaries are created when one is asked for."""

    __slots__ = ("_count", "_rows", "columns")

    def __init__(self, columns: Mapping[str, Column], count: int) -> None:
        self.columns, self._count = columns, count
        self._rows: list[dict[str, Any]] | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each record."""
        if self._rows is None:
            names, rows = tuple(self.columns), zip(*self.columns.values(), strict=True)
            self._rows = [dict(zip(names, row, strict=True)) for row in rows] if names else self._empty()
        return self._rows

    def _empty(self) -> list[dict[str, Any]]:
        return [{} for _ in range(self._count)]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]


def constant_if_equal(values: Sequence[Any]) -> Column:
    """The values; a ConstantColumn if all are equal and there is at least one."""
    count = len(values)
    return ConstantColumn(values[0], count) if count and values.count(values[0]) == count else values


class HashMapLayout(NamedTuple):
    """How Java would have created the maps of a batch, which determines the order of their keys (see JavaMap)."""

    copied: int
    capacity: int | None = None


class ValueBatch:
    """Values in the order of their records, and their common schema (or None). Immutable."""

    __slots__ = ("_columns", "_rows", "count", "layout", "schema", "utf8")

    def __init__(self, schema: Schema | None, rows: Column) -> None:
        self.schema, self.count = schema, len(rows)
        self.layout: HashMapLayout | None = None
        self.utf8: Sequence[bytes] | None = None
        """The values as they were read, if they are texts in UTF-8 that may have invalid bytes."""
        self._rows: Column | None = rows
        self._columns: Mapping[str, Column] | None = None

    @classmethod
    def texts(cls, schema: Schema | None, utf8: Sequence[bytes]) -> ValueBatch:
        """Texts, decoded on first access. Bytes that are not valid UTF-8 become surrogate escapes."""
        values = cls(schema, ())
        values.count, values.utf8, values._rows = len(utf8), utf8, None
        return values

    @classmethod
    def struct(cls, schema: Schema | None, columns: Mapping[str, Column], count: int) -> ValueBatch:
        """Structs with a value (or None) in each of the schema's fields."""
        values = cls(schema, ())
        values.count, values._rows, values._columns = count, None, columns
        return values

    @classmethod
    def maps(cls, columns: Mapping[str, Column], count: int, layout: HashMapLayout | None = None) -> ValueBatch:
        """Maps without a schema that have the same keys, in this order; `layout` is None for maps read from JSON."""
        values = cls.struct(None, columns, count)
        values.layout = layout
        return values

    @property
    def rows(self) -> Column:
        """One value for each record."""
        if self._rows is None and self.utf8 is not None:
            self._rows = _decoded(self.utf8)
        if self._rows is None:
            rows = StructColumn(self._columns or {}, self.count)
            self._rows = rows.rows if self.layout is None else [_java_map(row, self.layout) for row in rows]
        return self._rows

    @property
    def first(self) -> Any:
        """The first value."""
        if self._rows is not None or self.utf8 is not None:
            return self.rows[0]
        row = {name: column[0] for name, column in (self._columns or {}).items()}
        return row if self.layout is None else _java_map(row, self.layout)

    @property
    def columns(self) -> Mapping[str, Column]:
        """The fields of structs in the schema's order, or the entries of maps without a schema.

        Raises MixedBatchError for any other values and for maps with different keys."""
        if self._columns is None:
            if not self.count or (self.schema is not None and self.schema.type is not Type.STRUCT):
                raise MixedBatchError
            schema, rows = self.schema, self.rows
            if schema is None:
                self._columns = _columns_of_maps(rows)
            else:
                self._columns = _fields_of(tuple(field.name for field in schema.fields), rows)
        return self._columns

    @property
    def all_null(self) -> bool | None:
        """True if all values are null, False if none is, None if only some are."""
        types = set() if self._rows is None or self._columns is not None else value_types(self._rows)
        return type(None) in types if len(types) == 1 or type(None) not in types else None

    def with_schema(self, schema: Schema | None) -> ValueBatch:
        """The same values under another schema."""
        values = ValueBatch(schema, ())
        values.count, values.layout, values._rows, values._columns = self.count, self.layout, self._rows, self._columns
        values.utf8 = self.utf8
        return values


def _decoded(texts: Sequence[bytes]) -> list[str]:
    """Decodes all texts in one call, joined by line feeds, unless a text has one."""
    decoded = b"\n".join(texts).decode("utf-8", "surrogateescape").split("\n")
    return decoded if len(decoded) == len(texts) else [text.decode("utf-8", "surrogateescape") for text in texts]


def _columns_of_maps(rows: Column) -> Mapping[str, Column]:
    """The entries of maps; MixedBatchError if the maps differ in keys or in their order, or have none."""
    if type(rows) is StructColumn and rows.columns:
        return rows.columns
    if set(map(type, rows)) != {dict}:
        raise MixedBatchError
    names = list(rows[0])
    if not names or set(map(type, names)) != {str} or list(chain.from_iterable(rows)) != names * len(rows):
        raise MixedBatchError
    values = list(chain.from_iterable(map(dict.values, rows)))  # slices are faster than lookups in each map
    return {name: values[place :: len(names)] for place, name in enumerate(names)}


def _java_map(row: dict[str, Any], layout: HashMapLayout) -> JavaMap:
    result = JavaMap(row)
    result.copied = layout.copied
    if layout.capacity is not None:
        result.capacity = layout.capacity
    return result


def columns_of(names: tuple[str, ...], rows: Column) -> dict[str, Column]:
    """These fields of mappings; MixedBatchError if a value is not a mapping or lacks a field."""
    if not names:
        raise MixedBatchError
    try:
        if type(rows) is StructColumn:
            return {name: rows.columns[name] for name in names}
        return {name: list(map(itemgetter(name), rows)) for name in names}
    except (KeyError, TypeError, IndexError) as error:
        raise MixedBatchError from error


def _fields_of(names: tuple[str, ...], rows: Column) -> dict[str, Column]:
    """As columns_of(), for structs: a missing field is null."""
    try:
        return columns_of(names, rows)
    except MixedBatchError:
        if not names or not all(isinstance(row, Mapping) for row in rows):
            raise
    return {name: [row.get(name) for row in rows] for name in names}


def value_types(column: Column) -> set[type]:
    """The Python types in a column."""
    if type(column) is ConstantColumn:
        return {type(column.value)}
    if type(column) is StructColumn:
        return {dict} if len(column) else set()
    return set(map(type, column))


def selected(values: ValueBatch, places: Sequence[int]) -> ValueBatch:
    """The values at these indices."""
    try:
        columns = values.columns
    except MixedBatchError:
        return ValueBatch(values.schema, column_at(values.rows, places))
    chosen = {name: column_at(column, places) for name, column in columns.items()}
    part = ValueBatch.struct(values.schema, chosen, len(places))
    part.layout = values.layout
    return part


def column_at(column: Column, places: Sequence[int]) -> Column:
    """The values of a column at these indices."""
    if type(column) is ConstantColumn:
        return ConstantColumn(column.value, len(places))
    if isinstance(places, range) and places.step == 1:
        return column if len(places) == len(column) else column[places.start : places.stop]
    return [column[place] for place in places]


class BatchMetadata(Protocol):
    """Everything but the values of a batch of records: topics, partitions, offsets, timestamps, keys and headers.

    A transformation may assign `topic`, `keys` and `headers`, or call route(); the other columns are read-only."""

    topic: str
    """The topic of all records; reading it raises MixedBatchError if the records have different topics."""
    keys: ValueBatch
    headers: Sequence[Headers | None]

    def topics(self) -> Column:
        """The topic of each record."""

    def route(self, topics: Column) -> None:
        """Sends each record to its own topic."""

    def partitions(self) -> Column:
        """The Kafka partition of each record; None where it has not been chosen yet."""

    def offsets(self) -> Column:
        """The offset of each record read from Kafka; MixedBatchError for records from a source."""

    def timestamps(self) -> Column:
        """Milliseconds since 1970 for each record; None for a record without a timestamp."""


class Derived(NamedTuple):
    """The records that a transformation has made from those of a batch. Parts that are None are those of the record
    from which each was made."""

    values: ValueBatch
    places: Sequence[int]
    """For each record the index of the one from which it was made, in ascending order: an index that is missing is that
    of a dropped record, one that occurs several times gave several records."""
    keys: ValueBatch | None = None
    topics: Column | None = None
    times: Column | None = None
    """Milliseconds since 1970."""
    headers: Sequence[Headers | None] | None = None


def batch_method(plugin: object, single: str, batch: str) -> Any:
    """The plugin's method `batch` for many values, or None if a subclass overrides only its counterpart `single`, which
    the inherited batch method would ignore."""
    for cls in type(plugin).__mro__:
        if batch in vars(cls):
            return getattr(plugin, batch)
        if single in vars(cls):
            return None
    return None
