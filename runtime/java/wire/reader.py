"""Reads values and columns of a frame from a task host JVM."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from runtime.api.data.columns import Column, ConstantColumn, StructColumn, ValueBatch
from runtime.api.data.java_text import single_value
from runtime.api.data.logical import DATE, TIME, date_of, datetime_of, decimal_of, time_of
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import DataError
from runtime.java.wire import tags

_INT = struct.Struct("<i")
_TYPES = list(Type)
_DAY_MS = 86_400_000

MAX_COLUMN = 1 << 26
"""The most values of a column, those of all its arrays or maps together: a few bytes describe a constant column of any
length."""


class SchemaReader:
    """The schemas that the JVM has defined on a link, by number. Each remains the same object."""

    def __init__(self) -> None:
        self._schemas: list[Schema | None] = [None]

    def __getitem__(self, number: int) -> Schema | None:
        return self._schemas[number]

    def read(self, frame: FrameReader) -> None:
        """Reads the definitions at the start of a frame."""
        for _ in range(frame.i32()):
            if frame.i32() != len(self._schemas):
                raise ValueError("a schema was defined out of order")
            self._schemas.append(self._definition(frame))

    def _definition(self, frame: FrameReader) -> Schema:
        kind, optional, name = _TYPES[frame.u8()], frame.u8() == 1, frame.string()
        number = frame.i32()
        version = number if frame.u8() else None
        doc = frame.string()
        keys, values = self[frame.i32()], self[frame.i32()]
        fields = tuple(_field(frame.string(), self[frame.i32()]) for _ in range(frame.i32()))
        parameters = tuple(frame.value().items())
        plain = Schema(kind, optional, None, name, version, doc, keys, values, fields, parameters)
        try:
            default = frame.value(plain)
        except DataError:  # beyond Python's years; the numbers of later schemas depend on this one
            default = None
        return plain if default is None else plain.replace(default=default)


def _field(name: str | None, schema: Schema | None) -> Field:
    if name is None or schema is None:
        raise ValueError("a field has neither name nor schema")
    return Field(name, schema)


class FrameReader:
    """A frame and the position up to which it has been read."""

    def __init__(self, data: bytes, schemas: SchemaReader) -> None:
        self._data, self._schemas = data, schemas
        self._at = 0

    def u8(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def i32(self) -> int:
        self._at += 4
        number: int = _INT.unpack_from(self._data, self._at - 4)[0]
        return number

    def string(self) -> str | None:
        """A string with its length; None for -1."""
        length = self.i32()
        return None if length < 0 else self._take(length).decode()

    def numbers(self, count: int, code: str = "i") -> array[Any]:
        """An array of numbers; `code` as in the module `array`."""
        numbers = array(code)
        numbers.frombytes(self._take(count * numbers.itemsize))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def schema(self) -> Schema | None:
        """The schema of a number; None for 0."""
        return self._schemas[self.i32()]

    def value(self, schema: Schema | None = None) -> Any:
        """A single value."""
        return self.column(1, schema)[0]

    def batch(self, count: int, schema: Schema | None) -> ValueBatch:
        """A column as the values of records: structs, and maps with the same keys, remain columns."""
        tag = self._data[self._at]
        if tag == tags.STRUCT:
            self._at += 1
            own = self.schema()
            return ValueBatch.struct(schema or own, self._fields(count, own), count)
        if tag == tags.RECORD and schema is None:
            self._at += 1
            return ValueBatch.maps(self._named(count, None), count)
        return ValueBatch(schema, self.column(count, schema))

    def column(self, count: int, schema: Schema | None = None) -> Column:
        """A column of values; `schema` decides on the class of dates and times."""
        if not 0 <= count <= MAX_COLUMN:
            raise ValueError(f"a column of {count:,} values is longer than the {MAX_COLUMN:,} allowed")
        tag = self.u8()
        if tag == tags.NULLS:
            return ConstantColumn(None, count)
        if tag == tags.CONSTANT:
            return ConstantColumn(self.value(schema), count)
        return _READERS[tag](self, count, schema)

    def _take(self, size: int) -> bytes:
        start = self._at
        self._at = end = start + size
        if end > len(self._data):
            raise ValueError("a frame ends inside a value")
        return self._data[start:end]

    def _nullable(self, count: int, schema: Schema | None) -> Column:
        present = self._take(count)
        values = iter(self.column(sum(present), schema))
        return [next(values) if there else None for there in present]

    def _mixed(self, count: int, schema: Schema | None) -> Column:
        kinds = self.i32()
        kind_of = self.numbers(count)
        columns = [iter(self.column(kind_of.count(kind), schema)) for kind in range(kinds)]
        return [next(columns[kind]) for kind in kind_of]

    def _bools(self, count: int, schema: Schema | None) -> Column:
        return [there == 1 for there in self._take(count)]

    def _pieces(self, count: int) -> tuple[bytes, list[int], list[int]]:
        """All values, and the start and end of each."""
        ends = list(accumulate(self.numbers(count)))
        return self._take(ends[-1] if ends else 0), [0, *ends[:-1]], ends

    def _strings(self, count: int, schema: Schema | None) -> Column:
        data, starts, ends = self._pieces(count)
        if data.isascii():
            text = data.decode("ascii")
            return [text[start:end] for start, end in zip(starts, ends, strict=True)]
        return [data[start:end].decode() for start, end in zip(starts, ends, strict=True)]

    def _binaries(self, count: int, schema: Schema | None) -> Column:
        data, starts, ends = self._pieces(count)
        return [data[start:end] for start, end in zip(starts, ends, strict=True)]

    def _arrays(self, count: int, schema: Schema | None) -> Column:
        ends = list(accumulate(self.numbers(count)))
        items = self.column(ends[-1] if ends else 0, schema.values if schema is not None else None)
        return [list(items[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def _maps(self, count: int, schema: Schema | None) -> Column:
        ends = list(accumulate(self.numbers(count)))
        total = ends[-1] if ends else 0
        keys = self.column(total, schema.keys if schema is not None else None)
        values = self.column(total, schema.values if schema is not None else None)
        return [
            dict(zip(keys[start:end], values[start:end], strict=True))
            for start, end in zip([0, *ends[:-1]], ends, strict=True)
        ]

    def _named(self, count: int, schema: Schema | None) -> dict[str, Column]:
        """Columns by name: the entries of maps, or the fields of a struct that is the default of its own schema."""
        columns: dict[str, Column] = {}
        for _ in range(self.i32()):
            name = self.string() or ""
            columns[name] = self.column(count, schema and (schema.field(name) or schema.values))
        return columns

    def _records(self, count: int, schema: Schema | None) -> Column:
        return StructColumn(self._named(count, schema), count)

    def _fields(self, count: int, schema: Schema | None) -> dict[str, Column]:
        return {field.name: self.column(count, field.schema) for field in (schema.fields if schema is not None else ())}

    def _structs(self, count: int, schema: Schema | None) -> Column:
        return StructColumn(self._fields(count, self.schema()), count)

    def _decimals(self, count: int, schema: Schema | None) -> Column:
        return [decimal_of(unscaled, scale) for scale, unscaled in (self._decimal() for _ in range(count))]

    def _decimal(self) -> tuple[int, int]:
        return self.i32(), self._integer()

    def _integer(self) -> int:
        return int.from_bytes(self._take(self.i32()), "big", signed=True)

    def _integers(self, count: int, schema: Schema | None) -> Column:
        return [self._integer() for _ in range(count)]

    def _dates(self, count: int, schema: Schema | None) -> Column:
        name = schema.name if schema is not None else None
        times = self.numbers(count, "q")
        if name == DATE:
            return [date_of(ms // _DAY_MS) for ms in times]
        return [time_of(ms) for ms in times] if name == TIME else [datetime_of(ms) for ms in times]


def _floats(frame: FrameReader, count: int, schema: Schema | None) -> Column:
    """Floats of 32 bits. Without a schema they are written as doubles, with the digits that Java prints."""
    numbers = frame.numbers(count, "f")
    return numbers.tolist() if schema is not None else list(map(single_value, numbers))


def _array(code: str) -> Callable[[FrameReader, int, Schema | None], Column]:
    return lambda frame, count, schema: frame.numbers(count, code).tolist()


_READERS: dict[int, Callable[[Any, int, Schema | None], Column]] = {
    tags.NULLABLE: FrameReader._nullable,
    tags.MIXED: FrameReader._mixed,
    tags.BOOL: FrameReader._bools,
    tags.STRING: FrameReader._strings,
    tags.BYTES: FrameReader._binaries,
    tags.ARRAY: FrameReader._arrays,
    tags.MAP: FrameReader._maps,
    tags.RECORD: FrameReader._records,
    tags.STRUCT: FrameReader._structs,
    tags.DECIMAL: FrameReader._decimals,
    tags.BIGINT: FrameReader._integers,
    **{tag: _array(code) for tag, code in tags.ARRAYS.items()},
    tags.FLOAT32: _floats,
    tags.DATE: FrameReader._dates,
}
