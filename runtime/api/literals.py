"""Values as the text of a header, and back: `17` is a number, `[1,2]` an array, `2019-08-23` a date."""

from __future__ import annotations

import base64
import datetime as dt
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from runtime.api.errors import DataError
from runtime.api.java_date import DatePattern
from runtime.api.java_text import float_text, iso_text, shortest_single, single_value, widened
from runtime.api.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.schema import BOOLEAN_SCHEMA, FLOAT32_SCHEMA, FLOAT64_SCHEMA, STRING_SCHEMA, Schema, Type
from runtime.api.values import java_trim

Literal = tuple[Schema | None, Any]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|(?<=[+-])\.\d+)(?:[eE][+-]?\d+)?\Z")
_TIMES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", TIMESTAMP_SCHEMA),
    (re.compile(r"\d\d:\d\d:\d\d\.\d{3}Z"), "HH:mm:ss.SSS'Z'", TIME_SCHEMA),
    (re.compile(r"\d{4}-\d\d-\d\d"), "yyyy-MM-dd", DATE_SCHEMA),
)
_PATTERNS = [DatePattern(pattern) for _, pattern, _ in _TIMES]
_INTEGERS = ((1 << 7, Type.INT8), (1 << 15, Type.INT16), (1 << 31, Type.INT32), (1 << 63, Type.INT64))
_NUMBERS = [Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64]
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BARE = re.compile(r"[^\s,:\[\]{}\"]+")
_DELIMITERS = tuple(',:[]{}"')
_UP_TO_DELIMITER = re.compile(r"[,:\[\]{}\"]")
_DEEPEST = 50  # arrays and maps within each other


def header_text(value: Any, schema: Schema | None = None) -> str:
    """The text of a header's value: a string as it is, anything else so that parse_literal() reads it back."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return _embedded(value, schema)


def _embedded(value: Any, schema: Schema | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, float):
        return float_text(value, single=schema is not None and schema.type is Type.FLOAT32)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f'"{base64.b64encode(value).decode()}"'
    if isinstance(value, dt.date | dt.time):
        return iso_text(value)
    return _container(value, schema)


def _container(value: Any, schema: Schema | None) -> str:
    keys, values = (None, None) if schema is None else (schema.keys, schema.values)
    if isinstance(value, list | tuple):
        return f"[{','.join(_embedded(item, values) for item in value)}]"
    if isinstance(value, Mapping) and (schema is None or schema.type is Type.MAP):
        return f"{{{','.join(f'{_embedded(k, keys)}:{_embedded(v, values)}' for k, v in value.items())}}}"
    if isinstance(value, Mapping) and schema is not None and schema.type is Type.STRUCT:
        fields = (f"{_embedded(f.name, None)}:{_embedded(value.get(f.name), f.schema)}" for f in schema.fields)
        return f"{{{','.join(fields)}}}"
    raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}")


def parse_literal(text: str) -> Literal:
    """The schema and value that a text stands for; what cannot be read as anything else is a string."""
    trimmed = java_trim(text)
    if trimmed == "null":
        return None, None
    if trimmed and trimmed[0] in "[{":
        try:
            return _Reader(trimmed).container()
        except (_NotALiteral, RecursionError):
            return STRING_SCHEMA, text
    if trimmed and not trimmed[0].isdecimal() and trimmed[0] not in "+-tf":  # what the others begin with
        return STRING_SCHEMA, text
    return _scalar(trimmed) or _beginning(trimmed) or (STRING_SCHEMA, text)


def _beginning(text: str) -> Literal | None:
    """The time or number that a text begins with, as `14:34` with 14: what is read ends at the first delimiter."""
    for shape, _, _ in _TIMES:
        match = shape.match(text)
        if match is not None and text[match.end() : match.end() + 1] in _DELIMITERS:
            return _time(match.group()) or (STRING_SCHEMA, text)
    head = java_trim(_UP_TO_DELIMITER.split(text, 1)[0])
    return _number(head) if _NUMBER.match(head) else None


def _scalar(text: str) -> Literal | None:
    if text in ("true", "false"):
        return BOOLEAN_SCHEMA, text == "true"
    if _NUMBER.match(text):
        return _number(text)
    return _time(text)


def _time(text: str) -> Literal | None:
    for (shape, _, schema), pattern in zip(_TIMES, _PATTERNS, strict=True):
        if shape.fullmatch(text):
            time = pattern.parse(text)
            if schema is TIME_SCHEMA and time.year + time.month + time.day != 1972:  # 24:00
                return None
            if schema is TIMESTAMP_SCHEMA:
                return schema, time
            return schema, time.date() if schema is DATE_SCHEMA else time.time()
    return None


def _number(text: str) -> Literal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if (number == number.to_integral_value() and abs(number) < 1 << 63) or number == -(1 << 63):
        whole = int(number)
        kind = next(kind for bound, kind in _INTEGERS if -bound <= whole < bound)
        return Schema(kind), whole
    scale = -int(number.as_tuple().exponent)
    if scale != 0:
        for schema, shape in ((FLOAT32_SCHEMA, ">f"), (FLOAT64_SCHEMA, ">d")):
            try:
                struct.pack(shape, float(number))
            except OverflowError:
                continue
            if abs(float(number)) != float("inf"):
                return schema, float(shortest_single(float(number))) if schema is FLOAT32_SCHEMA else float(number)
    return decimal_schema(scale), number


class _NotALiteral(Exception):
    """The text is no array and no map after all."""


class _Reader:
    """Reads one array or map from the beginning of a text; what follows it is not looked at."""

    def __init__(self, text: str) -> None:
        self._text, self._position, self._depth = text, 0, 0

    def container(self) -> Literal:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotALiteral
        found = self._array() if self._take("[") else self._map()
        self._depth -= 1
        return found

    def _array(self) -> Literal:
        items: list[Literal] = []
        while not self._take("]"):
            items.append(self._element())
            if not self._take(",") and not self._peek("]"):
                raise _NotALiteral
        schema, values = _common(items)
        return Schema(Type.ARRAY, values=schema), values

    def _map(self) -> Literal:
        if not self._take("{"):
            raise _NotALiteral
        keys: list[Literal] = []
        values: list[Literal] = []
        while not self._take("}"):
            keys.append(self._element())
            if not self._take(":"):
                raise _NotALiteral
            values.append(self._element())
            self._take(",")
        if any(value is None or isinstance(value, list | dict) for _, value in keys):
            raise _NotALiteral
        key_schema, key_values = _common(keys)
        value_schema, found = _common(values)
        return Schema(Type.MAP, keys=key_schema, values=value_schema), dict(zip(key_values, found, strict=True))

    def _element(self) -> Literal:
        self._skip_blanks()
        if self._peek("[") or self._peek("{"):
            return self.container()
        if match := _QUOTED.match(self._text, self._position):
            self._position = match.end()
            return _time(match[1]) or (STRING_SCHEMA, match[1])
        for shape, _, _ in _TIMES:
            if match := shape.match(self._text, self._position):
                self._position = match.end()
                return _time(match.group()) or (None, None)
        match = _BARE.match(self._text, self._position)
        if match is None:
            raise _NotALiteral
        self._position = match.end()
        if match.group() == "null":
            return None, None
        found = _scalar(match.group())
        if found is None:
            raise _NotALiteral
        return found

    def _skip_blanks(self) -> None:
        while self._text[self._position : self._position + 1].isspace():
            self._position += 1

    def _peek(self, char: str) -> bool:
        self._skip_blanks()
        if self._position >= len(self._text):
            raise _NotALiteral
        return self._text[self._position] == char

    def _take(self, char: str) -> bool:
        if not self._peek(char):
            return False
        self._position += 1
        return True


def _float_of(kind: Type) -> Callable[[Type, Any], float]:
    """What makes a number of any type one of this floating type."""
    if kind is Type.FLOAT32:
        return lambda was, value: float(value) if was is kind else single_value(float(value))
    return lambda was, value: widened(value) if was is Type.FLOAT32 else float(value)


def _common(items: list[Literal]) -> Literal:
    """One schema for all, None when there is none such, with the values as it wants them."""
    values = [value for _, value in items]
    schemas = [schema for schema, _ in items if schema is not None]
    common: Schema | None = schemas[0] if schemas else None
    for position, (schema, _) in enumerate(items):
        if common is None:
            return None, values
        if schema is None:
            raise _NotALiteral
        if position:
            common = _of_both(common, schema)
    if common is None:
        return None, values
    if common.type in (Type.FLOAT32, Type.FLOAT64):
        values = [_float_of(common.type)(schema.type, item) for schema, item in zip(schemas, values, strict=True)]
    return common, values


def _of_both(one: Schema, other: Schema) -> Schema | None:
    """The wider of two numbers' schemas, the other one of two of the same type; None when they have nothing in
    common."""
    if one.name != other.name and Type.STRING not in (one.type, other.type):
        raise _NotALiteral
    if one.type is other.type:
        return other
    if one.type not in _NUMBERS or other.type not in _NUMBERS:
        return None
    return max(one, other, key=lambda schema: _NUMBERS.index(schema.type))
