"""A parser of literals. Tokens are the delimiters `:,{}[]"` and the texts between them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from runtime.api.config.types import java_trim
from runtime.api.data.java_text import JavaMap, single_value
from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.schema import BOOLEAN_SCHEMA, FLOAT32_SCHEMA, FLOAT64_SCHEMA, STRING_SCHEMA, Schema, Type
from runtime.api.java_compat.date_format import DatePattern
from runtime.api.literals.schemas import CommonSchema, Literal, NotALiteral

__all__ = ["Literal", "LiteralParser", "NotALiteral"]

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:[^\\:,{}\[\]"]|\\.|\\\Z)+', re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?\Z")
_INTEGERS = ((1 << 7, Type.INT8), (1 << 15, Type.INT16), (1 << 31, Type.INT32), (1 << 63, Type.INT64))
_NULL: Literal = None, None
_TIMES = {
    13: (TIME_SCHEMA, DatePattern("HH:mm:ss.SSS'Z'")),
    24: (TIMESTAMP_SCHEMA, DatePattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")),
    10: (DATE_SCHEMA, DatePattern("yyyy-MM-dd")),
}
"""Schema and pattern of times, by the length of the text."""
_MAX_DEPTH = 100  # levels of nested arrays and maps


class LiteralParser:
    """Parses one text."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._at, self._depth = text, _TOKEN.findall(text), 0, 0

    def parse(self, *, embedded: bool) -> Literal:
        """Schema and value; `embedded`: of an element of an array or map. Raises NotALiteral for an invalid element."""
        if self._at >= len(self._tokens):
            return _NULL
        if embedded and self._take('"'):
            return self._quoted()
        for word, literal in (("null", _NULL), ("true", (BOOLEAN_SCHEMA, True)), ("false", (BOOLEAN_SCHEMA, False))):
            if self._word(word, embedded):
                return literal
        start = self._at
        try:
            if self._take("["):
                return self._nested(self._array)
            if self._take("{"):
                return self._nested(self._map)
        except NotALiteral:
            self._at = start
        token = self._next()
        trimmed = java_trim(token)
        return self._scalar(trimmed, embedded) if trimmed else (STRING_SCHEMA, token)

    def _next(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        return str(token)

    def _take(self, expected: str) -> bool:
        """Skips the expected token and blanks before it; skips only the blanks if the token differs."""
        tokens = self._tokens
        while self._at < len(tokens) - 1 and not java_trim(tokens[self._at]):
            self._at += 1
        if self._at >= len(tokens) or java_trim(tokens[self._at]) != expected:
            return False
        self._at += 1
        return True

    def _word(self, word: str, embedded: bool) -> bool:
        """Skips the word; outside of arrays and maps it must be the whole text."""
        start = self._at
        if self._take(word) and (embedded or self._at >= len(self._tokens)):
            return True
        self._at = start
        return False

    def _nested(self, read: Any) -> Literal:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise NotALiteral
        literal: Literal = read()
        self._depth -= 1
        return literal

    def _array(self) -> Literal:
        items = CommonSchema()
        while self._at < len(self._tokens):
            if self._take("]"):
                return Schema(Type.ARRAY, values=items.schema), items.values()
            if self._take(","):
                raise NotALiteral
            items.add(self.parse(embedded=True))
            before = self._at
            if self._take("]"):
                self._at = before
            elif not self._take(","):
                raise NotALiteral
        raise NotALiteral

    def _map(self) -> Literal:
        keys, values = CommonSchema(), CommonSchema()
        while self._at < len(self._tokens):
            if self._take("}"):
                return _map_of(keys, values)
            if self._take(","):
                raise NotALiteral
            key = self.parse(embedded=True)
            if key[1] is None or not self._take(":"):
                raise NotALiteral
            values.add(self.parse(embedded=True))
            self._take(",")
            keys.add(key)
        raise NotALiteral

    def _quoted(self) -> Literal:
        parts: list[str] = []
        while self._at < len(self._tokens) and not self._take('"'):
            parts.append(self._next())
        content = "".join(parts)
        try:
            return _time(content) or (STRING_SCHEMA, content)
        except NotALiteral:
            return STRING_SCHEMA, content

    def _scalar(self, token: str, embedded: bool) -> Literal:
        digit = token[0].isdecimal()
        literal = self._time_of_tokens(token) if digit else None
        if literal is None and (digit or token[0] in "+-"):
            literal = _number(token)
        if literal is not None:
            return literal
        if embedded:
            raise NotALiteral
        return STRING_SCHEMA, self._text

    def _time_of_tokens(self, token: str) -> Literal | None:
        """A time contains colons, so it consists of five tokens."""
        rest = self._tokens[self._at : self._at + 4]
        if len(rest) == 4 and (literal := _time(token + "".join(rest))) is not None:
            self._at += 4
            return literal
        return _time(token)


def _map_of(keys: CommonSchema, values: CommonSchema) -> Literal:
    """The map has a schema for its values only if it has one for its keys."""
    found_keys = keys.values()
    found_values = values.values() if keys.schema is not None else values.raw
    try:
        made = JavaMap(zip(found_keys, found_values, strict=True))
    except TypeError as error:  # keys that are arrays or maps
        raise NotALiteral from error
    if len(made) != len({(type(key), key) for key in found_keys}):  # keys that are equal in Python
        raise NotALiteral
    made.order = lambda: list(made)
    value_schema = values.schema if keys.schema is not None else None
    return Schema(Type.MAP, keys=keys.schema, values=value_schema), made


def _time(text: str) -> Literal | None:
    """A time, timestamp or date; None for other texts. Raises NotALiteral for a time of day beyond 24 hours."""
    text = text.replace("\\:", ":")
    known = _TIMES.get(len(text))
    if known is None:
        return None
    schema, pattern = known
    try:
        time = pattern.parse(text)
    except (ValueError, OverflowError):
        return None
    if schema is TIMESTAMP_SCHEMA:
        return schema, time
    if schema is DATE_SCHEMA:
        return schema, time.date()
    if (time.year, time.month, time.day) != (1970, 1, 1):
        raise NotALiteral
    return schema, time.time()


def _number(text: str) -> Literal | None:
    if not _NUMBER.match(text):
        return None
    try:
        number = Decimal(text)
        exponent = int(number.as_tuple().exponent)
        if not -(1 << 31) <= -exponent < 1 << 31:
            return None
    except (InvalidOperation, ValueError):
        return None
    if number.adjusted() < 19 and number == number.to_integral_value():
        whole = int(number)
        for bound, kind in _INTEGERS:
            if -bound <= whole < bound:
                return Schema(kind), whole
    if exponent:
        for schema, value in ((FLOAT32_SCHEMA, single_value(float(number))), (FLOAT64_SCHEMA, float(number))):
            if abs(value) != float("inf"):
                return schema, value
    return decimal_schema(-exponent), number
