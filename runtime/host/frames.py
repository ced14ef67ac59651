"""Frames between the worker and its plugin host: four bytes of length, then JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, BinaryIO

import orjson

_LENGTH = 4


def encode(message: Any) -> bytes:
    """One frame; TypeError for what JSON cannot hold."""
    body = orjson.dumps(message)
    return len(body).to_bytes(_LENGTH, "big") + body


def read_all(stream: BinaryIO) -> Iterator[Any]:
    """Every frame until the other side closes."""
    while head := stream.read(_LENGTH):
        body = stream.read(int.from_bytes(head, "big"))
        yield orjson.loads(body)


async def receive_all(stream: asyncio.StreamReader) -> AsyncIterator[Any]:
    """The same on an event loop."""
    try:
        while True:
            head = await stream.readexactly(_LENGTH)
            yield orjson.loads(await stream.readexactly(int.from_bytes(head, "big")))
    except asyncio.IncompleteReadError:
        return
