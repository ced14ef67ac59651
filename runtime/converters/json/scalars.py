"""JSON of strings and numbers, formatted as by Jackson."""

from __future__ import annotations

import base64
import re
from typing import Any

import orjson

from runtime.api.data.class_names import java_class
from runtime.api.data.java_text import float_text
from runtime.api.errors import DataError
from runtime.api.java_compat.jackson import jackson_bytes

_SURROGATES = re.compile("([\ud800-\udfff])")


def number(value: float, single: bool = False) -> Any:
    """A float for dumps(), formatted as in Java: `1.0E10`, `"NaN"`."""
    if not single and (1e-3 <= value < 1e7 or -1e7 < value <= -1e-3):
        return value
    text = float_text(value, single)
    return orjson.Fragment(text if text[-1].isdigit() else f'"{text}"')


def scalar(value: Any) -> bytes:
    """The JSON of a value that is not an array or object; DataError for an unsupported type."""
    if isinstance(value, str):
        return quoted(value)
    if type(value) is int:
        return str(value).encode()
    if type(value) is float:
        return orjson.dumps(number(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return b'"' + base64.b64encode(value) + b'"'
    if value is None or isinstance(value, orjson.Fragment | bool | int | float):
        return orjson.dumps(value)
    raise unsupported(value)


def unsupported(value: Any) -> DataError:
    return DataError(f"Java class class {java_class(value)} does not have corresponding schema type.")


def quoted(text: str) -> bytes:
    """A string in quotes. Lone surrogates are escaped; escapes of bytes that were not UTF-8 become U+FFFD,
    as in Java."""
    try:
        return jackson_bytes(orjson.dumps(text))
    except TypeError:
        pass
    if all(0xDC80 <= ord(char) < 0xDD00 for char in _SURROGATES.findall(text)):
        return jackson_bytes(orjson.dumps(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")))
    parts = [
        b"\\u%04X" % ord(part) if n % 2 else jackson_bytes(orjson.dumps(part))[1:-1]
        for n, part in enumerate(_SURROGATES.split(text))
    ]
    return b'"' + b"".join(parts) + b'"'
