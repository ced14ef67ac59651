"""Many values of one schema at once: what converters and transformations hand each other where records are alike.

The fields of structs are columns: to leave one out, to add one or to take one costs nothing per record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Protocol

from runtime.api.schema import Schema, Type

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


class Values:
    """Values in the order of their records. Never changed: what is made of them is another one."""

    __slots__ = ("_columns", "_rows", "count", "schema")

    def __init__(self, schema: Schema | None, rows: Column) -> None:
        self.schema, self.count = schema, len(rows)
        self._rows: Column | None = rows
        self._columns: Mapping[str, Column] | None = None

    @classmethod
    def struct(cls, schema: Schema, columns: Mapping[str, Column], count: int) -> Values:
        """Structs that have a value (or None) in each of the schema's fields."""
        made = cls.__new__(cls)
        made.schema, made.count, made._rows, made._columns = schema, count, None, columns
        return made

    @property
    def rows(self) -> Column:
        """One value for each record."""
        if self._rows is None:
            columns = self._columns
            if columns:
                names = tuple(columns)
                self._rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            else:
                self._rows = [{} for _ in range(self.count)]
        return self._rows

    @property
    def columns(self) -> Mapping[str, Column]:
        """The fields of structs, in the schema's order; Mixed when a value is null or lacks one."""
        if self._columns is None:
            if self.schema is None or self.schema.type is not Type.STRUCT or not self.count:
                raise Mixed
            assert self._rows is not None
            self._columns = columns_of(tuple(field.name for field in self.schema.fields), self._rows)
        return self._columns

    def but(self, schema: Schema | None) -> Values:
        """The same values under another schema."""
        made = Values.__new__(Values)
        made.schema, made.count, made._rows, made._columns = schema, self.count, self._rows, self._columns
        return made


def columns_of(names: tuple[str, ...], rows: Column) -> dict[str, Column]:
    """These fields of mappings; Mixed when one of them lacks one, or is no mapping."""
    if not names:
        raise Mixed
    try:
        return {name: list(map(itemgetter(name), rows)) for name in names}
    except (KeyError, TypeError, IndexError) as error:
        raise Mixed from error


def kinds(column: Column) -> set[type]:
    """The Python types in a column."""
    return {type(column.value)} if type(column) is Constant else set(map(type, column))


class Origins(Protocol):
    """Where the records of a batch are from, or go to: what a transformation of values may ask for."""

    def topics(self) -> Column: ...

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
