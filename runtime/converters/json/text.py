"""JSON text: parsed as leniently as by Jackson, and formatted to the same bytes."""

from __future__ import annotations

import base64
import codecs
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import orjson

from runtime.api.data.java_text import map_order
from runtime.api.errors import DataError
from runtime.api.java_compat.jackson import compact_copy, jackson_bytes
from runtime.converters.json.scalars import number, quoted, scalar, unsupported

_MAX_DEPTH = 1000  # levels of nested arrays and objects, as in Jackson
_TOO_DEEP = f"Cannot write JSON with more than {_MAX_DEPTH} levels of arrays and objects"


class _Inner(NamedTuple):
    """A nested container."""

    value: Any


def written(value: Any) -> bytes:
    """Compact JSON, formatted as by Jackson; DataError for too deep nesting. Iterative, because Python's recursion
    limit is lower than Jackson's."""
    parts: list[bytes] = []
    unfinished = [_pieces(value)]
    while unfinished:
        for piece in unfinished[-1]:
            if isinstance(piece, bytes):
                parts.append(piece)
                continue
            unfinished.append(_pieces(piece.value))
            if len(unfinished) > _MAX_DEPTH:
                raise DataError(_TOO_DEEP)
            break
        else:
            unfinished.pop()
    return b"".join(parts)


def _pieces(value: Any) -> Iterator[bytes | _Inner]:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return _object(value)
        return _array([[key, value[key]] for key in map_order(value)])
    return _array(value) if isinstance(value, list | tuple) else iter((scalar(value),))


def _object(value: Mapping[str, Any]) -> Iterator[bytes | _Inner]:
    lead = b"{"
    for key, item in value.items():
        yield lead + quoted(key) + b":"
        yield _piece(item)
        lead = b","
    yield b"}" if value else b"{}"


def _array(value: Sequence[Any]) -> Iterator[bytes | _Inner]:
    lead = b"["
    for item in value:
        yield lead
        yield _piece(item)
        lead = b","
    yield b"]" if value else b"[]"


def _piece(value: Any) -> bytes | _Inner:
    return _Inner(value) if isinstance(value, Mapping | list | tuple) else scalar(value)


_MALFORMED = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_LEADING_ZEROS = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<minus>(?<![\d.eE+])-?)0+(?=\d)', re.DOTALL)
_ONLY_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Byte order marks that Jackson refuses if nothing follows."""
_LONGEST = 1000  # characters of a number, as in Jackson


def dumps(value: Any) -> bytes:
    """Compact JSON, formatted as by Jackson."""
    try:
        text = orjson.dumps(value)
    except TypeError:  # a value that orjson cannot write, or nested too deeply for it
        return written(value)
    return compact_copy(jackson_bytes(text))  # thousands of values wait together to be sent


def plain(value: Any) -> Any:
    """A value without a schema in a form that dumps() accepts; DataError if JSON cannot hold it, RecursionError if it
    is nested hundreds of levels deep."""
    kind = type(value)
    if value is None or kind is bool or kind is int or kind is str:
        return value
    if kind is float:
        return number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: plain(item) for key, item in value.items()}
        return [[plain(key), plain(value[key])] for key in map_order(value)]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, orjson.Fragment | str | bool | int | float):
        return value
    raise unsupported(value)


def in_hash_order(value: Any) -> Any:
    """The value with the entries of its maps in the order of Java's HashMap."""
    if isinstance(value, Mapping):
        return {key: in_hash_order(value[key]) for key in map_order(value)}
    return [in_hash_order(item) for item in value] if isinstance(value, list | tuple) else value


def dumps_plain(value: Any) -> bytes:
    """The JSON of a value without a schema; DataError if JSON cannot hold it."""
    try:
        unwrapped = plain(value)
    except RecursionError:
        return written(value)
    return dumps(unwrapped)


def dumps_unchanged(values: Sequence[Any]) -> bool:
    """Whether dumps() needs no plain() for these values: strings, and flat objects without floats."""
    types: set[type] = set()
    for value in values:
        if isinstance(value, dict):
            types.update(map(type, value.values()))
        else:
            types.add(type(value))
    return types <= _PLAIN


_PLAIN = {str, int, bool, type(None)}


def loads(data: bytes) -> Any:
    """The first value of the text; anything after it is ignored. DataError when the text is malformed."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return loads_exactly(data, float)


def loads_exactly(data: bytes, floats: type = Decimal) -> Any:
    """Like loads(), but with exact numbers."""
    if data in _ONLY_MARKS:
        raise DataError(_MALFORMED)
    try:
        text = data.decode(json.detect_encoding(data)).lstrip("\ufeff \t\r\n")
        if not text:
            return None
        if (fixed := _LEADING_ZEROS.sub(_without_zeros, text)) != text and floats is float:
            return loads(fixed.encode())
        document, end = _decoder(floats).raw_decode(fixed)
        if not isinstance(document, dict | list | str) and fixed[end : end + 1].strip():
            raise DataError(_MALFORMED)
        return document
    except (ValueError, RecursionError) as error:
        raise DataError(_MALFORMED) from error


def _without_zeros(match: re.Match[str]) -> str:
    return match["string"] or match["minus"]


def _decoder(floats: type) -> json.JSONDecoder:
    def parse(kind: Any) -> Any:
        return lambda text: kind(text) if len(text) <= _LONGEST else _too_long(text)

    return json.JSONDecoder(parse_float=parse(floats), parse_int=parse(int), parse_constant=_no_constant)


def _too_long(text: str) -> Any:
    raise ValueError(f"a number of {len(text)} characters")


def _no_constant(name: str) -> Any:
    raise ValueError(name)
