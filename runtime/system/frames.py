"""Frames between two processes: a header of four bytes, then a body of JSON. Readers for threads and for asyncio.

The header is the length of the body in bytes, big-endian. Its highest bit marks a body that only the standard library
can decode: orjson supports neither integers beyond 64 bits, nor NaN, nor unpaired surrogates. Both sides refuse frames
over a limit, so a broken peer cannot make the other one allocate gigabytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeVar

import orjson

from runtime.system.json_size import max_values

_T = TypeVar("_T")

MAX_FRAME = 64 * 1024 * 1024
"""The most bytes of a body."""

MAX_VALUES = 2_000_000
"""The most values of a message to the worker or its driver: 64 MB of brackets would need more than a gigabyte."""

_PART = MAX_FRAME // 2
"""The most bytes of the texts in a message that has a part of a list; the rest is for what surrounds them."""

_SHOWN = 200  # characters of a text in an error

_HEADER = 4
_EXACT = 1 << 31


class FrameError(ValueError):
    """A frame is too long or not JSON. The stream cannot be used any more when a peer has sent such a frame."""


def encode(message: Any) -> bytes:
    """A frame. FrameError if it is too long, TypeError for values that JSON does not support."""
    try:
        return _frame(orjson.dumps(message), 0)
    except TypeError:
        return encode_exact(message)


def encode_exact(message: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """As encode(), for messages with integers of any size, NaN or unpaired surrogates. `default` converts
    other values, as for json.dumps()."""
    return _frame(json.dumps(message, default=default, separators=(",", ":")).encode(), _EXACT)


def parts(
    items: Iterable[_T], texts: Callable[[_T], Iterable[str]], most: int, size: int = _PART
) -> Iterator[list[_T]]:
    """Parts of a list whose texts fit into a message each, of at most `most` items and `size` bytes. FrameError if
    the texts of one item are larger."""
    part: list[_T] = []
    left = size
    for item in items:
        if (needed := sum(map(_escaped, texts(item)))) > size:
            shown = next(iter(texts(item)))[:_SHOWN]
            raise FrameError(f"{needed:,} bytes are more than the {size:,} bytes allowed: {shown}…")
        if part and (needed > left or len(part) == most):
            yield part
            part, left = [], size
        part.append(item)
        left -= needed
    if part:
        yield part


def _escaped(text: str) -> int:
    """The most bytes of a text in a message, in which characters other than those of ASCII are escaped."""
    return len(text) * (2 if text.isascii() else 12)


def read(stream: BinaryIO, limit: int = MAX_FRAME, values: int | None = None) -> tuple[Any] | None:
    """The next message, in a tuple; None at the end of the stream. FrameError if the frame is invalid, or has more than
    this number of values. Blocks."""
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    length = _length(header, limit)
    body = stream.read(length)
    return (_decoded(header, body, values),) if len(body) == length else None


def read_all(stream: BinaryIO, values: int | None = None) -> Iterator[Any]:
    """All messages until the end of the stream. As read(). Blocks."""
    while (message := read(stream, values=values)) is not None:
        yield message[0]


async def receive(stream: asyncio.StreamReader, limit: int = MAX_FRAME) -> Any:
    """The next message. asyncio.IncompleteReadError at the end of the stream, FrameError if the frame is invalid."""
    return (await receive_sized(stream, limit))[0]


async def receive_sized(stream: asyncio.StreamReader, limit: int) -> tuple[Any, int]:
    """As receive(), with the bytes of the body. Only the worker's event loops read in this way: a message has at most
    MAX_VALUES."""
    header = await stream.readexactly(_HEADER)
    body = await stream.readexactly(_length(header, limit))
    return _decoded(header, body, MAX_VALUES), len(body)


async def receive_all(stream: asyncio.StreamReader) -> AsyncIterator[Any]:
    """All messages until the end of the stream. FrameError if a frame is invalid."""
    try:
        while True:
            yield await receive(stream)
    except asyncio.IncompleteReadError:
        return


def _frame(body: bytes, flag: int) -> bytes:
    _check(len(body), MAX_FRAME)
    return (len(body) | flag).to_bytes(_HEADER, "big") + body


def _length(header: bytes, limit: int) -> int:
    length = int.from_bytes(header, "big") & ~_EXACT
    _check(length, limit)
    return length


def _check(length: int, limit: int) -> None:
    if length > limit:
        raise FrameError(f"a frame of {length} bytes is longer than the {limit} bytes allowed")


def _decoded(header: bytes, body: bytes, values: int | None) -> Any:
    if values is not None and max_values(body, values) > values:
        raise FrameError(f"a frame has more than {values:,} values")
    decode = json.loads if int.from_bytes(header, "big") & _EXACT else orjson.loads
    try:
        return decode(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame is not JSON: {error}") from error
