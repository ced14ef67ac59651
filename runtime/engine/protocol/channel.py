"""The messages between the worker and its slots: JSON objects in frames (runtime.system.frames).

Encoded by the standard library, not by a faster one: offsets and log lines hold integers beyond 64 bits, NaN and lone
surrogates (bytes that were not UTF-8), and all of them have to arrive unchanged.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, BinaryIO, Protocol

from runtime.engine.protocol.messages import FromSlot, HelloMessage, ToSlot, UnableMessage
from runtime.system import frames
from runtime.system.frames import MAX_FRAME, FrameError

_HANG_UP = getattr(select, "POLLRDHUP", select.POLLHUP)

MAX_HELLO = 4096
"""Bytes of the first message of a peer, which has not proved its identity yet."""


def encode(message: Mapping[str, object]) -> bytes:
    """A frame with the message; dataclasses in it become objects. FrameError if it is too long, TypeError for values
    that the channel does not support."""
    return frames.encode_exact(message, _as_object)


def _as_object(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise TypeError(f"a {type(value).__name__} cannot be sent between worker and slots")


def _checked(message: Any) -> Any:
    if not isinstance(message, dict):
        raise FrameError("a frame is not a JSON object")
    return message


async def read_message(reader: asyncio.StreamReader, limit: int = MAX_FRAME) -> Any:
    """The next message, a JSON object of at most `limit` bytes. asyncio.IncompleteReadError at the end of the stream,
    FrameError if the peer violates the protocol."""
    return (await read_sized(reader, limit))[0]


async def read_sized(reader: asyncio.StreamReader, limit: int = MAX_FRAME) -> tuple[Any, int]:
    """As read_message(), with the bytes of the message."""
    message, size = await frames.receive_sized(reader, limit)
    return _checked(message), size


class Connection(Protocol):
    """A stream of bytes to the worker."""

    stream: BinaryIO

    @property
    def closed(self) -> bool:
        """Whether the worker's end is closed, even if messages sent before are still unread. One system call, which
        never blocks. Thread-safe."""

    def sendall(self, data: bytes) -> None:
        """Blocks until the system has taken the data."""


class UnixConnection:
    """A connection to the worker's Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        """Connects within `timeout` seconds."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._socket.connect(path)
        self._socket.settimeout(None)
        self.stream: BinaryIO = self._socket.makefile("rb")
        self.sendall = self._socket.sendall

    @property
    def closed(self) -> bool:
        """As Connection.closed."""
        hang_up = select.poll()  # a new one: two threads cannot use the same
        hang_up.register(self._socket, _HANG_UP)
        return bool(hang_up.poll(0))


class BlockingChannel:
    """The slot's end of the channel. One thread receives, another sends."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def closed(self) -> bool:
        """Whether the worker has closed the channel."""
        return self._connection.closed

    def send(self, message: HelloMessage | UnableMessage | FromSlot) -> None:
        """Blocks until the system has taken the message. OSError if the worker has closed the channel."""
        self._connection.sendall(encode(message))

    def receive(self) -> ToSlot | None:
        """The next message; None at the end of the stream. FrameError if the worker violates the protocol."""
        frame = frames.read(self._connection.stream)
        message: ToSlot | None = None if frame is None else _checked(frame[0])
        return message
