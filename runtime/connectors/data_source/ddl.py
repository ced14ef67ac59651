"""Spark's schemas as text: `id INT NOT NULL, tags ARRAY<STRING>`. PySpark itself parses them only with a JVM."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runtime.api.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|[A-Za-z0-9_]+|[<>(),:])")


def parse_ddl(text: str) -> StructType:
    """The schema that the text describes; ConfigError with the position if it is not understood."""
    from pyspark.sql.types import StructType

    tokens = _Tokens(text)
    stripped = text.strip().lower()
    if stripped.startswith("struct<"):
        schema = _type(tokens)
        tokens.end()
        assert isinstance(schema, StructType)
        return schema
    fields = _fields(tokens, None)
    tokens.end()
    return StructType(fields)


class _Tokens:
    """The tokens of a text, one after another."""

    def __init__(self, text: str) -> None:
        self._at = 0
        self._all: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise ConfigError(f"Cannot read the Spark schema at {text[position:].strip()[:20]!r}")
            self._all.append(match[1])
            position = match.end()

    def peek(self) -> str | None:
        return self._all[self._at] if self._at < len(self._all) else None

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if token is None or (expected is not None and token != expected):
            raise ConfigError(
                f"Cannot read the Spark schema: expected {expected or 'more'} instead of {token or 'its end'}"
            )
        self._at += 1
        return token

    def accept(self, token: str) -> bool:
        following = self.peek()
        if following is None or following.upper() != token:
            return False
        self._at += 1
        return True

    def end(self) -> None:
        if self.peek() is not None:
            raise ConfigError(f"Cannot read the Spark schema at {self.peek()!r}")


def _fields(tokens: _Tokens, end: str | None) -> list[StructField]:
    from pyspark.sql.types import StructField

    fields = []
    while True:
        if tokens.peek() in (None, end):
            raise ConfigError("Cannot read the Spark schema: a field is missing")
        name = tokens.take()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        tokens.accept(":")
        kind = _type(tokens)
        nullable = True
        if tokens.accept("NOT"):
            if not tokens.accept("NULL"):
                raise ConfigError("Cannot read the Spark schema: expected NULL after NOT")
            nullable = False
        if tokens.accept("COMMENT"):
            tokens.take()
        fields.append(StructField(name, kind, nullable))
        if not tokens.accept(","):
            break
    return fields


def _type(tokens: _Tokens) -> DataType:
    from pyspark.sql import types

    name = tokens.take().lower()
    if name == "array":
        tokens.take("<")
        element = _type(tokens)
        tokens.take(">")
        return types.ArrayType(element)
    if name == "map":
        tokens.take("<")
        key = _type(tokens)
        tokens.take(",")
        value = _type(tokens)
        tokens.take(">")
        return types.MapType(key, value)
    if name == "struct":
        tokens.take("<")
        fields = _fields(tokens, ">")
        tokens.take(">")
        return types.StructType(fields)
    arguments = _arguments(tokens)
    if name in ("decimal", "dec", "numeric"):
        return types.DecimalType(*(arguments or [10]))
    simple = {
        "boolean": types.BooleanType, "tinyint": types.ByteType, "byte": types.ByteType,
        "smallint": types.ShortType, "short": types.ShortType, "int": types.IntegerType,
        "integer": types.IntegerType, "bigint": types.LongType, "long": types.LongType,
        "float": types.FloatType, "real": types.FloatType, "double": types.DoubleType,
        "string": types.StringType, "varchar": types.StringType, "char": types.StringType,
        "binary": types.BinaryType, "date": types.DateType, "timestamp": types.TimestampType,
        "timestamp_ltz": types.TimestampType, "timestamp_ntz": types.TimestampNTZType,
    }.get(name)  # fmt: skip
    if simple is None:
        raise ConfigError(f"The Spark type {name} is not supported")
    return simple()


def _arguments(tokens: _Tokens) -> list[int]:
    numbers = []
    if tokens.accept("("):
        while not tokens.accept(")"):
            text = tokens.take()
            if not text.isdigit():
                raise ConfigError(f"Cannot read the Spark schema at {text!r}")
            numbers.append(int(text))
            tokens.accept(",")
    return numbers
