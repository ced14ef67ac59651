"""JSON text itself: read as leniently, and spelled to the byte, as Apache's workers do it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson

from runtime.api.errors import DataError
from runtime.api.jackson import spelled
from runtime.api.java_text import float_text

_MALFORMED = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_LEADING_ZEROS = re.compile(r"(-?)0+(?=\d)")


def dumps(value: Any) -> bytes:
    """Compact, as Jackson spells it."""
    try:
        text = orjson.dumps(value)
    except TypeError:
        text = orjson.dumps(plain(value))
    return spelled(text)


def number(value: float, single: bool = False) -> Any:
    """A float for dumps(), in Java's spelling: `1.0E10`, `"NaN"`."""
    if not single and (1e-3 <= value < 1e7 or -1e7 < value <= -1e-3):
        return value
    text = float_text(value, single)
    return orjson.Fragment(text if text[-1].isdigit() else f'"{text}"')


def plain(value: Any) -> Any:
    """A value without a schema as dumps() can take it; DataError when JSON cannot hold it."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else clean(value)
    if value is None or kind is bool or kind is int:
        return value
    if kind is float:
        return number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {clean(key): plain(item) for key, item in value.items()}
        return [[plain(key), plain(item)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, orjson.Fragment | str | bool | int | float):
        return value
    raise DataError(f"Java class {kind.__qualname__} does not have corresponding schema type.")


def spelled_alike(values: Sequence[Any]) -> bool:
    """Whether dumps() can take all of them as they are: texts, or flat objects of what JSON spells in one way only."""
    found: set[type] = set()
    for value in values:
        if isinstance(value, dict):
            found.update(map(type, value.values()))
        else:
            found.add(type(value))
    return found <= _PLAIN


_PLAIN = {str, int, bool, type(None)}


def clean(text: str) -> str:
    """JSON is text: bytes that were not UTF-8 become U+FFFD, as in Java."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape" if _escaped(text) else "replace").decode("utf-8", "replace")
    return text


def _escaped(text: str) -> bool:
    """Whether all lone surrogates stand for bytes."""
    return all(not 0xD800 <= ord(char) < 0xDC80 and not 0xDD00 <= ord(char) < 0xE000 for char in text)


def loads(data: bytes) -> Any:
    """The first value of the text; what follows it is not looked at. DataError when it is malformed."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return loads_exactly(data, float)


def loads_exactly(data: bytes, floats: type = Decimal) -> Any:
    """As loads(), with numbers to the last digit."""
    try:
        text = data.decode(json.detect_encoding(data)).lstrip("\ufeff \t\r\n")
        text = _LEADING_ZEROS.sub(r"\1", text, count=1) if text[:2].lstrip("-")[:1] == "0" else text
        if not text:
            return None
        found, end = json.JSONDecoder(parse_float=floats, parse_constant=_no_constant).raw_decode(text)
        if not isinstance(found, dict | list | str) and text[end : end + 1].strip():
            raise DataError(_MALFORMED)
        return found
    except (ValueError, RecursionError) as error:
        raise DataError(_MALFORMED) from error


def _no_constant(name: str) -> Any:
    raise ValueError(name)
