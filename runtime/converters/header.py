"""SimpleHeaderConverter: strings as they are, other values as JSON."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Any

import orjson

from runtime.api.converter import HeaderConverter
from runtime.api.schema import OPTIONAL_STRING_SCHEMA, Schema, Type
from runtime.converters.java_text import float_text
from runtime.converters.json_values import plain

_INTEGER = re.compile(r"[+-]?\d+\Z")
_FLOAT = re.compile(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?\Z")
_INTEGER_TYPES = ((1 << 7, Type.INT8), (1 << 15, Type.INT16), (1 << 31, Type.INT32), (1 << 63, Type.INT64))


class SimpleHeaderConverter(HeaderConverter):
    """Reads numbers, booleans, arrays and maps back from their text; everything else is a string."""

    java_name = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

    def configure(self, config: Mapping[str, str]) -> None:
        """Nothing to configure."""

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        if isinstance(value, float):
            return float_text(value, single=schema is not None and schema.type is Type.FLOAT32).encode()
        text = orjson.dumps(plain(value))
        return text[1:-1] if text.startswith(b'"') else text

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        return parse_literal(data.decode("utf-8", "surrogateescape"))


def parse_literal(text: str) -> tuple[Schema | None, Any]:
    """The schema and value that a text stands for: `17` an int8, `true` a boolean, `{"a":1}` a map."""
    if text in ("true", "false"):
        return Schema(Type.BOOLEAN), text == "true"
    if _INTEGER.match(text):
        number = int(text)
        for bound, kind in _INTEGER_TYPES:
            if -bound <= number < bound:
                return Schema(kind), number
    elif _FLOAT.match(text):
        value = float(text)
        return Schema(Type.FLOAT32 if struct.unpack("f", struct.pack("f", value))[0] == value else Type.FLOAT64), value
    elif text[:1] in ("[", "{"):
        try:
            return None, orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
    return OPTIONAL_STRING_SCHEMA, text
