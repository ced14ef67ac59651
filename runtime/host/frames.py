"""Frames between the worker and its plugin host: four bytes of length, then JSON.

The standard library handles values that orjson does not support (integers beyond 64 bits, half surrogate pairs: both
may be stored); a bit of the length marks such frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, BinaryIO

import orjson

_LENGTH = 4
_EXACT = 1 << 31


def encode(message: Any) -> bytes:
    """One frame; TypeError for what JSON cannot hold."""
    try:
        body, flag = orjson.dumps(message), 0
    except TypeError:
        body, flag = json.dumps(message, separators=(",", ":")).encode(), _EXACT
    return (len(body) | flag).to_bytes(_LENGTH, "big") + body


def _decode(head: bytes, body: bytes) -> Any:
    return json.loads(body) if int.from_bytes(head, "big") & _EXACT else orjson.loads(body)


def _length(head: bytes) -> int:
    return int.from_bytes(head, "big") & ~_EXACT


def read_all(stream: BinaryIO) -> Iterator[Any]:
    """Every frame until the other side closes."""
    while head := stream.read(_LENGTH):
        yield _decode(head, stream.read(_length(head)))


async def receive_all(stream: asyncio.StreamReader) -> AsyncIterator[Any]:
    """The same on an event loop."""
    try:
        while True:
            head = await stream.readexactly(_LENGTH)
            yield _decode(head, await stream.readexactly(_length(head)))
    except asyncio.IncompleteReadError:
        return
