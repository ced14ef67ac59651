"""Many values of one schema at once: what converters and transformations hand each other where records are alike.

The fields of structs are columns: to leave one out, to add one or to take one costs nothing per record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from runtime.api.data.java_text import JavaMap
from runtime.api.data.record import Headers
from runtime.api.data.schema import Schema, Type

Column = Sequence[Any]


class Mixed(Exception):
    """The values are not alike: they are to be taken one by one."""


class Constant(Sequence[Any]):
    """A column that says the same for all."""

    __slots__ = ("_count", "value")

    def __init__(self, value: Any, count: int) -> None:
        self.value, self._count = value, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.value, self._count)

    def __getitem__(self, index: Any) -> Any:
        return Constant(self.value, len(range(self._count)[index])) if isinstance(index, slice) else self.value


class Made(NamedTuple):
    """How a transformation made maps (see JavaMap)."""

    taken: int
    room: int | None = None


class Values:
    """Values in the order of their records. Never changed: what is made of them is another one."""

    __slots__ = ("_columns", "_rows", "count", "made", "schema")

    def __init__(self, schema: Schema | None, rows: Column) -> None:
        self.schema, self.count = schema, len(rows)
        self.made: Made | None = None
        self._rows: Column | None = rows
        self._columns: Mapping[str, Column] | None = None

    @classmethod
    def struct(cls, schema: Schema | None, columns: Mapping[str, Column], count: int) -> Values:
        """Structs that have a value (or None) in each of the schema's fields."""
        values = cls(schema, ())
        values.count, values._rows, values._columns = count, None, columns
        return values

    @classmethod
    def maps(cls, columns: Mapping[str, Column], count: int, made: Made | None = None) -> Values:
        """Maps without a schema that all have the same keys, in this order. `made`: how Java made them, where that is
        not as JSON is read."""
        values = cls.struct(None, columns, count)
        values.made = made
        return values

    @property
    def rows(self) -> Column:
        """One value for each record."""
        if self._rows is None:
            columns = self._columns or {}
            names, rows = tuple(columns), zip(*columns.values(), strict=True)
            found: Column = [dict(zip(names, row, strict=True)) for row in rows] if names else self._empty()
            self._rows = found if self.made is None else [_java_map(row, self.made) for row in found]
        return self._rows

    @property
    def first(self) -> Any:
        """The first value."""
        if self._rows is not None:
            return self._rows[0]
        row = {name: column[0] for name, column in (self._columns or {}).items()}
        return row if self.made is None else _java_map(row, self.made)

    def _empty(self) -> Column:
        return [{} for _ in range(self.count)]

    @property
    def columns(self) -> Mapping[str, Column]:
        """The fields of structs, in the schema's order, or the entries of maps without a schema; Mixed for any other
        values and for maps with different keys."""
        if self._columns is None:
            if not self.count or (self.schema is not None and self.schema.type is not Type.STRUCT):
                raise Mixed
            assert self._rows is not None
            schema = self.schema
            if schema is None:
                self._columns = columns_of(_keys(self._rows), self._rows)
            else:
                self._columns = _fields_of(tuple(field.name for field in schema.fields), self._rows)
        return self._columns

    @property
    def null(self) -> bool | None:
        """Whether all values are null (True) or none is (False); None where only some are."""
        found = set() if self._rows is None else kinds(self._rows)
        return type(None) in found if len(found) == 1 or type(None) not in found else None

    def but(self, schema: Schema | None) -> Values:
        """The same values under another schema."""
        values = Values(schema, ())
        values.count, values.made, values._rows, values._columns = self.count, self.made, self._rows, self._columns
        return values


def _keys(rows: Column) -> tuple[str, ...]:
    """The keys that all of these maps have, in the same order."""
    if set(map(type, rows)) != {dict}:
        raise Mixed
    found = set(map(tuple, rows))
    names = found.pop()
    if found or set(map(type, names)) != {str}:
        raise Mixed
    return names


def _java_map(row: dict[str, Any], made: Made) -> JavaMap:
    found = JavaMap(row)
    found.taken = made.taken
    if made.room is not None:
        found.room = made.room
    return found


def columns_of(names: tuple[str, ...], rows: Column) -> dict[str, Column]:
    """These fields of mappings; Mixed when one of them lacks one, or is no mapping."""
    if not names:
        raise Mixed
    try:
        return {name: list(map(itemgetter(name), rows)) for name in names}
    except (KeyError, TypeError, IndexError) as error:
        raise Mixed from error


def _fields_of(names: tuple[str, ...], rows: Column) -> dict[str, Column]:
    """As columns_of(), for structs: a missing field is null."""
    try:
        return columns_of(names, rows)
    except Mixed:
        if not names or not all(isinstance(row, Mapping) for row in rows):
            raise
    return {name: [row.get(name) for row in rows] for name in names}


def kinds(column: Column) -> set[type]:
    """The Python types in a column."""
    return {type(column.value)} if type(column) is Constant else set(map(type, column))


class Origins(Protocol):
    """Where the records of a batch are from, or go to: what a transformation of values may ask for."""

    topic: str
    """The topic of all records; reading it raises Mixed if the records go to different topics."""
    keys: Values
    headers: Sequence[Headers | None]

    def topics(self) -> Column: ...

    def route(self, topics: Column) -> None:
        """Each record goes to a topic of its own."""

    def partitions(self) -> Column: ...

    def offsets(self) -> Column:
        """Of records read from Kafka; Mixed for others."""

    def timestamps(self) -> Column: ...


def together(plugin: object, single: str, batch: str) -> Any:
    """The plugin's method for many values, where it says the same as the one for a single value: that one has not been
    overridden in a class below it. None otherwise."""
    for kind in type(plugin).__mro__:
        if batch in vars(kind):
            return getattr(plugin, batch)
        if single in vars(kind):
            return None
    return None
