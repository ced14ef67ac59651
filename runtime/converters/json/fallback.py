"""JSON for values that orjson refuses: lone surrogates, integers beyond 64 bits, deep nesting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from runtime.api.data.java_text import map_order
from runtime.api.errors import DataError
from runtime.converters.json.scalars import quoted, scalar

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
