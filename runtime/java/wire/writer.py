"""Writes values and columns for a task host JVM."""

from __future__ import annotations

import datetime as dt
import struct
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError, ValueBatch
from runtime.api.data.logical import DECIMAL, instant, logical_name, millis
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError
from runtime.java.wire import tags

_INT = struct.Struct("<i")
_NONE = type(None)
_ORDINALS = {kind: number for number, kind in enumerate(Type)}
_TAGS = {
    Type.INT8: tags.INT8,
    Type.INT16: tags.INT16,
    Type.INT32: tags.INT32,
    Type.INT64: tags.INT64,
    Type.FLOAT32: tags.FLOAT32,
    Type.FLOAT64: tags.FLOAT64,
    Type.BOOLEAN: tags.BOOL,
    Type.STRING: tags.STRING,
    Type.BYTES: tags.BYTES,
    Type.ARRAY: tags.ARRAY,
    Type.MAP: tags.MAP,
    Type.STRUCT: tags.STRUCT,
}
_KINDS = (
    (bool, tags.BOOL),
    (str, tags.STRING),
    (int, tags.INT64),
    (float, tags.FLOAT64),
    ((bytes, bytearray, memoryview), tags.BYTES),
    (Mapping, tags.MAP),
    (Decimal, tags.DECIMAL),
    ((dt.date, dt.time), tags.DATE),
    ((list, tuple), tags.ARRAY),
)


class FrameWriter:
    """The parts of a frame, and the schemas that have been defined on its link. A body need not be sent: its
    definitions go with the next frame."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._definitions: list[bytes] = []
        self._defined = 0  # in this frame
        self._numbers: dict[Schema, int] = {}
        self._recent: dict[int, tuple[Schema, int]] = {}

    def frame(self, with_schemas: bool = True) -> bytes:
        """The complete frame. The next one starts empty."""
        body = self.body()
        return self.head(body) + body if with_schemas else _INT.pack(len(body)) + body

    def body(self) -> bytes:
        """The frame without its head. The next one starts empty."""
        body, self._parts = b"".join(self._parts), []
        return body

    def head(self, body: bytes) -> bytes:
        """The length of a frame with this body, and the definitions that have not been sent yet. They may be those of
        another body, if bodies are not sent in the order in which they were written."""
        definitions = b"".join([_INT.pack(self._defined), *self._definitions])
        self._definitions, self._defined = [], 0
        return _INT.pack(len(definitions) + len(body)) + definitions

    def abandon(self) -> None:
        """Discards a frame that could not be completed, except for its definitions, which the next frame sends."""
        self._parts = []

    def u8(self, value: int) -> None:
        self._parts.append(bytes((value,)))

    def i32(self, value: int) -> None:
        self._parts.append(_INT.pack(value))

    def string(self, text: str | None) -> None:
        """A string with its length; -1 for None."""
        if text is None:
            self.i32(-1)
            return
        data = _utf8(text)
        self._parts += (_INT.pack(len(data)), data)

    def numbers(self, values: Sequence[int], code: str = "i") -> None:
        """An array of numbers; `code` as in the module `array`."""
        numbers = array(code, values)
        if sys.byteorder == "big":
            numbers.byteswap()
        self._parts.append(numbers.tobytes())

    def schema(self, schema: Schema | None) -> None:
        """The number of a schema."""
        self.i32(self.number(schema))

    def number(self, schema: Schema | None) -> int:
        """The number of a schema, which is defined in this frame if the JVM does not know it; 0 for None."""
        if schema is None:
            return 0
        known = self._recent.get(id(schema))
        if known is None:
            number = self._numbers.get(schema) or self._define(schema)
            if len(self._recent) >= _REMEMBERED:
                self._recent.clear()
            known = self._recent[id(schema)] = (schema, number)
        return known[1]

    def _define(self, schema: Schema) -> int:
        keys, values = self.number(schema.keys), self.number(schema.values)
        fields = [(field.name, self.number(field.schema)) for field in schema.fields]
        outer, self._parts = self._parts, []
        try:
            number = len(self._numbers) + 1
            self.i32(number)
            self.u8(_ORDINALS[schema.type])
            self.u8(schema.optional)
            self.string(schema.name)
            self.i32(-1 if schema.version is None else schema.version)
            self.u8(schema.version is not None)
            self.string(schema.doc)
            self.i32(keys)
            self.i32(values)
            self.i32(len(fields))
            for name, own in fields:
                self.string(name)
                self.i32(own)
            self.value(dict(schema.parameters))
            self._default(schema, schema.default)
            self._definitions += self._parts
        finally:
            self._parts = outer
        self._defined += 1
        self._numbers[schema] = number
        return number

    def _default(self, schema: Schema, value: Any) -> None:
        """A struct as a map, since its schema is just being defined."""
        if schema.type is not Type.STRUCT or value is None:
            self.value(value, schema)
            return
        self.u8(tags.RECORD)
        self.i32(len(schema.fields))
        for field in schema.fields:
            self.string(field.name)
            self._default(field.schema, value.get(field.name))

    def value(self, value: Any, schema: Schema | None = None) -> None:
        """A single value."""
        self.column((value,), schema)

    def batch(self, values: ValueBatch) -> None:
        """The values of records; structs with fields are written column by column."""
        schema = values.schema
        if schema is not None and schema.fields and values.all_null is False:
            try:
                columns = values.columns
            except MixedBatchError:  # a value is not a struct
                self.column(values.rows, schema)
            else:
                self._struct(schema, columns, values.count)
        elif values.utf8 and (schema is None or schema.type is Type.STRING):
            self.u8(tags.STRING)
            self._pieces(values.utf8)
        else:
            self.column(values.rows, schema)

    def longs(self, values: Sequence[int]) -> None:
        """A column of integers of 64 bits."""
        self._array(tags.INT64, values)

    def column(self, values: Column, schema: Schema | None = None) -> None:
        """A column. DataError if a value does not match its schema."""
        if type(values) is ConstantColumn:
            if values.value is None or not len(values):
                self.u8(tags.NULLS)
            else:
                self.u8(tags.CONSTANT)
                self.value(values.value, schema)
            return
        kinds = set(map(type, values))
        if _NONE in kinds:
            if len(kinds) == 1:
                self.u8(tags.NULLS)
                return
            self.u8(tags.NULLABLE)
            self._parts.append(bytes(value is not None for value in values))
            values = [value for value in values if value is not None]
            kinds.discard(_NONE)
        elif not kinds:
            self.u8(tags.NULLS)
            return
        try:
            self._present(values, schema, kinds)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise DataError(f"A value does not match its schema {schema and schema.java_text}: {error}") from error

    def _present(self, values: Column, schema: Schema | None, kinds: set[type]) -> None:
        if schema is None:
            self._untyped(values, kinds)
            return
        logical = logical_name(schema)
        if logical is not None:
            _WRITERS[tags.DECIMAL if logical == DECIMAL else tags.DATE](self, values, schema)
            return
        _WRITERS[_TAGS[schema.type]](self, values, schema)

    def _untyped(self, values: Column, kinds: set[type]) -> None:
        """Values without a schema: their classes decide."""
        distinct = {_tag_of(kind) for kind in kinds}
        if len(distinct) == 1:
            _WRITERS[distinct.pop()](self, values, None)
            return
        order = sorted(distinct)
        kind_of = [order.index(_tag_of(type(value))) for value in values]
        self.u8(tags.MIXED)
        self.i32(len(order))
        self.numbers(kind_of)
        for number, tag in enumerate(order):
            part = [value for value, kind in zip(values, kind_of, strict=True) if kind == number]
            _WRITERS[tag](self, part, None)

    def _array(self, tag: int, values: Column) -> None:
        self.u8(tag)
        self.numbers(values, tags.ARRAYS[tag])

    def _longs(self, values: Column, schema: Schema | None) -> None:
        """Integers without a schema may have any size."""
        start = len(self._parts)
        try:
            self._array(tags.INT64, values)
        except OverflowError:
            if schema is not None:
                raise
            del self._parts[start:]
            self.u8(tags.BIGINT)
            for value in values:
                self._integer(value)

    def _integer(self, value: int) -> None:
        data = value.to_bytes((8 + (value if value >= 0 else -1 - value).bit_length()) // 8, "big", signed=True)
        self._parts += (_INT.pack(len(data)), data)

    def _bools(self, values: Column, schema: Schema | None) -> None:
        self.u8(tags.BOOL)
        self._parts.append(bytes(values))

    def _strings(self, values: Column, schema: Schema | None) -> None:
        self.u8(tags.STRING)
        text = "".join(values)
        if text.isascii():
            self.numbers(list(map(len, values)))
            self._parts.append(text.encode())
        else:
            self._pieces([_utf8(value) for value in values])

    def _binaries(self, values: Column, schema: Schema | None) -> None:
        self.u8(tags.BYTES)
        self._pieces([value if type(value) is bytes else bytes(value) for value in values])

    def _pieces(self, values: Sequence[bytes]) -> None:
        self.numbers(list(map(len, values)))
        self._parts += values

    def _arrays(self, values: Column, schema: Schema | None) -> None:
        self.u8(tags.ARRAY)
        self.numbers(list(map(len, values)))
        self.column([item for value in values for item in value], schema.values if schema is not None else None)

    def _maps(self, values: Column, schema: Schema | None) -> None:
        names = tuple(values[0])
        if schema is None and names and set(map(type, names)) == {str} and all(tuple(row) == names for row in values):
            self.u8(tags.RECORD)
            self.i32(len(names))
            for name in names:
                self.string(name)
                self.column([row[name] for row in values])
            return
        self.u8(tags.MAP)
        self.numbers(list(map(len, values)))
        self.column([key for row in values for key in row], schema.keys if schema is not None else None)
        self.column([item for row in values for item in row.values()], schema.values if schema is not None else None)

    def _structs(self, values: Column, schema: Schema | None) -> None:
        assert schema is not None
        columns = {field.name: [value.get(field.name) for value in values] for field in schema.fields}
        self._struct(schema, columns, len(values))

    def _struct(self, schema: Schema, columns: Mapping[str, Column], count: int) -> None:
        self.u8(tags.STRUCT)
        self.schema(schema)
        for field in schema.fields:
            self.column(columns.get(field.name) or ConstantColumn(None, count), field.schema)

    def _decimals(self, values: Column, schema: Schema | None) -> None:
        self.u8(tags.DECIMAL)
        for value in values:
            if not isinstance(value, Decimal) or not value.is_finite():
                raise DataError(f"Invalid value for Decimal: {value!r}")
            sign, digits, exponent = value.as_tuple()
            self.i32(-int(exponent))
            unscaled = int("".join(map(str, digits)) or "0")
            self._integer(-unscaled if sign else unscaled)

    def _dates(self, values: Column, schema: Schema | None) -> None:
        self._array(tags.DATE, [millis(instant(value)) for value in values])


def _utf8(text: str) -> bytes:
    """The text with the bytes that were not valid UTF-8. Java replaces them, as its StringDeserializer does."""
    for errors in ("strict", "surrogateescape"):
        try:
            return text.encode("utf-8", errors)
        except UnicodeEncodeError:
            continue
    return text.encode("utf-8", "replace")  # as Java's getBytes()


def _tag_of(kind: type) -> int:
    for base, tag in _KINDS:
        if issubclass(kind, base):
            return tag
    raise DataError(f"A value of {kind.__qualname__} cannot be passed to a Java plugin")


def _fixed(tag: int) -> Callable[[FrameWriter, Column, Schema | None], None]:
    return lambda frame, values, schema: frame._array(tag, values)


_REMEMBERED = 2000  # schemas found by identity

_WRITERS: dict[int, Callable[[Any, Column, Schema | None], None]] = {
    tags.BOOL: FrameWriter._bools,
    tags.STRING: FrameWriter._strings,
    tags.INT64: FrameWriter._longs,
    tags.BYTES: FrameWriter._binaries,
    tags.ARRAY: FrameWriter._arrays,
    tags.MAP: FrameWriter._maps,
    tags.STRUCT: FrameWriter._structs,
    tags.DECIMAL: FrameWriter._decimals,
    tags.DATE: FrameWriter._dates,
    **{tag: _fixed(tag) for tag in (tags.INT8, tags.INT16, tags.INT32, tags.FLOAT32, tags.FLOAT64)},
}
