"""The link to one plugin object in the task host JVM: calls, one after another."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

from runtime.java.errors import HostLostError, java_error
from runtime.java.wire.reader import FrameReader, SchemaReader
from runtime.java.wire.writer import FrameWriter

Batch = Callable[[FrameWriter], None]
"""Writes the batch of a call."""


class Link:
    """Calls of one object in the JVM. A call may be made on any thread; calls wait for each other."""

    def __init__(self, connection: socket.socket, number: int, lost: Callable[[], str]) -> None:
        """`lost` explains why the JVM has ended."""
        self.number = number
        self._connection, self._lost = connection, lost
        self._writer, self._schemas = FrameWriter(), SchemaReader()
        self._turn = threading.Lock()
        self.closed = False

    def call(self, name: str, *arguments: Any, batch: Batch | None = None) -> Any:
        """The value that a call returns. Raises the exception of the plugin, or HostLostError."""
        return self.exchange(name, *arguments, batch=batch)[0]

    def exchange(self, name: str, *arguments: Any, batch: Batch | None = None) -> tuple[Any, FrameReader]:
        """The value that a call returns, and the reader of the batch behind it. Raises as call()."""
        with self._turn:
            try:
                self._writer.value([name, *arguments])
                if batch is not None:
                    batch(self._writer)
            except BaseException:
                self._writer.abandon()
                raise
            send_frame(self._connection, self._writer.frame(), self._why)
            frame = FrameReader(receive_frame(self._connection, self._why), self._schemas)
            self._schemas.read(frame)
            failed = frame.u8()
            value = frame.value()
        if failed:
            raise java_error(value)
        return value, frame

    def close(self) -> None:
        """End the link. A call that is under way on another thread raises HostLostError."""
        self.closed = True
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        if self._turn.acquire(blocking=False):
            self._connection.close()
            self._turn.release()

    def _why(self) -> str:
        return "The link to the task host was closed" if self.closed else self._lost()


def send_frame(connection: socket.socket, frame: bytes, why: Callable[[], str]) -> None:
    """Sends a complete frame. HostLostError if the peer is gone."""
    try:
        connection.sendall(frame)
    except OSError as error:
        raise HostLostError(why()) from error


def receive_frame(connection: socket.socket, why: Callable[[], str]) -> bytes:
    """The body of the next frame. HostLostError if the peer is gone."""
    return bytes(_receive(connection, int.from_bytes(_receive(connection, 4, why), "little"), why))


def _receive(connection: socket.socket, size: int, why: Callable[[], str]) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        try:
            count = connection.recv_into(rest)
        except OSError as error:
            raise HostLostError(why()) from error
        if not count:
            raise HostLostError(why())
        rest = rest[count:]
    return data
