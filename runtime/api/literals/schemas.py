"""A common schema for the elements of an array, or for the keys or values of a map, parsed from text."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from runtime.api.data.java_text import single_value, widened
from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP, date_of, datetime_of, time_of
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError

Literal = tuple[Schema | None, Any]
_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_OF_NUMBER = {DATE: date_of, TIME: time_of, TIMESTAMP: datetime_of}


class NotALiteral(Exception):
    """The text is not an array, a map, or an element of an array or map."""


class CommonSchema:
    """Collects values and finds their common schema: the widest number type, or the one type of other values."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self.raw: list[Any] = []
        self._of: list[Schema | None] = []
        self._compatible = True

    def add(self, literal: Literal) -> None:
        """Adds a value with its own schema."""
        schema, value = literal
        self.raw.append(value)
        self._of.append(schema)
        if schema is not None and self._compatible:
            self.schema = schema if self.schema is None else _of_both(self.schema, schema)
            self._compatible = self.schema is not None

    def values(self) -> list[Any]:
        """The values converted to the common schema, or unchanged without one; NotALiteral if a value has no
        conversion."""
        common = self.schema
        if common is None:
            return self.raw
        try:
            return [_converted(common, schema, value) for schema, value in zip(self._of, self.raw, strict=True)]
        except DataError as error:
            raise NotALiteral from error


def _of_both(first: Schema, other: Schema) -> Schema | None:
    if first.type is other.type:
        return other
    if first.type not in _NUMBERS or other.type not in _NUMBERS:
        return None
    return max(first, other, key=lambda schema: _NUMBERS.index(schema.type))


def _converted(common: Schema, schema: Schema | None, value: Any) -> Any:
    if value is None:
        raise NotALiteral
    if common.name in _OF_NUMBER:
        return value if isinstance(value, dt.date | dt.time) else _OF_NUMBER[common.name](_whole(value, common.type))
    if common.type in _BITS:
        return _whole(value, common.type)
    if common.type is Type.FLOAT32:
        return value if schema is not None and schema.type is Type.FLOAT32 else single_value(float(_number(value)))
    if common.type is Type.FLOAT64:
        single = schema is not None and schema.type is Type.FLOAT32
        return widened(value) if single else float(_number(value))
    if common.type is Type.BYTES and common.name == DECIMAL and not isinstance(value, Decimal):
        raise NotALiteral
    return value


def _number(value: Any) -> int | float:
    if isinstance(value, int | float):
        return value
    raise NotALiteral  # for example a date


def _whole(value: Any, kind: Type) -> int:
    """A number narrowed to an integer type, as in Java."""
    number = _number(value)
    bits = _BITS[kind]
    bound = 1 << (bits - 1)
    if isinstance(number, int):
        return (number + bound) % (2 * bound) - bound
    if math.isnan(number):
        return 0
    return int(max(-bound, min(bound - 1, number)))
