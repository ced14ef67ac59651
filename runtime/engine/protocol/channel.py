"""Frames between the worker and its slots: four bytes of length, then a JSON object.

The standard library's JSON, not a faster one: offsets and log lines hold integers beyond 64 bits, NaN and lone
surrogates (bytes that were not UTF-8), and all of them have to arrive as they were sent.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import fields, is_dataclass
from typing import Any

Message = dict[str, Any]

MAX_FRAME = 64 * 1024 * 1024
MAX_HELLO = 4096  # from peers that have not proved yet who they are

_LENGTH = struct.Struct(">I")


class ChannelError(Exception):
    """The peer does not keep to the protocol; the connection is of no more use."""


def encode(message: Message) -> bytes:
    """A frame. Dataclasses in the message become objects."""
    body = json.dumps(message, default=_as_object, separators=(",", ":")).encode()
    if len(body) > MAX_FRAME:
        raise ChannelError(f"a frame of {len(body)} bytes is longer than the {MAX_FRAME} allowed")
    return _LENGTH.pack(len(body)) + body


def _as_object(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} does not travel between worker and slots")


def decode(body: bytes) -> Message:
    try:
        message = json.loads(body)
    except ValueError as error:
        raise ChannelError(f"a frame is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ChannelError("a frame is not a JSON object")
    return message


def _checked(header: bytes, limit: int) -> int:
    length: int = _LENGTH.unpack(header)[0]
    if length > limit:
        raise ChannelError(f"a frame of {length} bytes is longer than the {limit} allowed")
    return length


async def read_frame(reader: asyncio.StreamReader, limit: int = MAX_FRAME) -> Message:
    """The next message. asyncio.IncompleteReadError at the end of the stream."""
    length = _checked(await reader.readexactly(_LENGTH.size), limit)
    return decode(await reader.readexactly(length))


class BlockingChannel:
    """The slot's side. One thread receives, another sends."""

    def __init__(self, path: str, timeout: float) -> None:
        """Connects to the worker's Unix socket at `path` within `timeout` seconds."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._socket.connect(path)
        self._socket.settimeout(None)
        self._stream = self._socket.makefile("rb")

    def send(self, message: Message) -> None:
        self._socket.sendall(encode(message))

    def receive(self) -> Message | None:
        """The next message; None at the end of the stream."""
        header = self._stream.read(_LENGTH.size)
        if len(header) < _LENGTH.size:
            return None
        length = _checked(header, MAX_FRAME)
        body = self._stream.read(length)
        return decode(body) if len(body) == length else None
