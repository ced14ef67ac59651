"""The link to one plugin object in the task host JVM: calls, one after another."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from runtime.java.errors import CallTimeoutError, HostLostError, InvalidFrameError, java_error
from runtime.java.host.deadline import deadline
from runtime.java.wire.reader import FrameReader, SchemaReader
from runtime.java.wire.writer import FrameWriter
from runtime.system.scheduling import RunLimit

MAX_FRAME = 288 << 20
"""The most bytes of a frame from the JVM, which limits itself (Link.java) to 256 MiB of a batch, and its schemas."""

Batch = Callable[[FrameWriter], None]
"""Writes the batch of a call."""


class Prepared(NamedTuple):
    """A call that has been written, without the schemas of its batch, which the link sends before it."""

    name: str
    body: bytes


class Link:
    """Calls of one object in the JVM. A call may be made on any thread; calls wait for each other."""

    def __init__(self, connection: socket.socket, number: int, lost: Callable[[], str]) -> None:
        """`lost` explains why the JVM has ended."""
        self.number = number
        self._connection, self._lost = connection, lost
        self._writer, self._schemas = FrameWriter(), SchemaReader()
        self._turn = threading.Lock()
        self.posted = ""
        """The name of a call that has been sent and whose response has not been collected."""
        self._early: FrameReader | None = None  # that response, if another call had to receive it
        self.closed = False
        self._limit: RunLimit | None = None
        self.caller = 0
        """The thread that is in a call; 0: none."""

    def call(self, name: str, *arguments: Any, batch: Batch | None = None) -> Any:
        """The value that a call returns. Raises the exception of the plugin, HostLostError, or CallTimeoutError if it
        has not returned by the `deadline`."""
        return self.exchange(name, *arguments, batch=batch)[0]

    def exchange(self, name: str, *arguments: Any, batch: Batch | None = None) -> tuple[Any, FrameReader]:
        """The value that a call returns, and the reader of the batch behind it. Raises as call()."""
        with self._turn:
            self.caller = threading.get_ident()
            try:
                return self._exchange(name, arguments, batch)
            finally:
                self.caller = 0

    def prepare(self, name: str, *arguments: Any, batch: Batch | None = None) -> Prepared:
        """Write a call for post(). It may also be dropped. Raises DataError if the batch cannot be written."""
        with self._turn:
            return self._written(name, arguments, batch)

    def post(self, call: Prepared) -> None:
        """Send a call without waiting for its response: collect() returns it. Other calls may follow meanwhile. Raises
        HostLostError."""
        with self._turn:
            self._send(call)
            self.posted = call.name

    def collect(self) -> tuple[Any, FrameReader]:
        """The result of the call that was posted, as of exchange()."""
        with self._turn:
            self.caller = threading.get_ident()
            try:
                frame, self._early = self._early or self._receive(self.posted), None
                self.posted = ""
            finally:
                self.caller = 0
        return self._result(frame)

    def _exchange(self, name: str, arguments: tuple[Any, ...], batch: Batch | None) -> tuple[Any, FrameReader]:
        if self.posted and self._early is None:
            self._early = self._receive(name)
        self._send(self._written(name, arguments, batch))
        return self._result(self._receive(name))

    def _written(self, name: str, arguments: tuple[Any, ...], batch: Batch | None) -> Prepared:
        try:
            self._writer.value([name, *arguments])
            if batch is not None:
                batch(self._writer)
        except BaseException:
            self._writer.abandon()
            raise
        return Prepared(name, self._writer.body())

    def _send(self, call: Prepared) -> None:
        self._use(deadline.get())
        head, large = self._writer.head(call.body), len(call.body) > _LARGE
        try:
            for part in (head, call.body) if large else (head + call.body,):
                send_frame(self._connection, part, self._why, self._limit)
        except TimeoutError:
            raise self._late(call.name) from None

    def _receive(self, name: str) -> FrameReader:
        """The next answer, with its schemas read: they may be used by the one that follows."""
        try:
            frame = FrameReader(receive_frame(self._connection, self._why, self._limit), self._schemas)
        except TimeoutError:
            raise self._late(name) from None
        self._schemas.read(frame)
        return frame

    def _late(self, name: str) -> CallTimeoutError:
        self._connection.shutdown(socket.SHUT_RDWR)  # the response must not be taken for that of another call
        return CallTimeoutError(name)

    @staticmethod
    def _result(frame: FrameReader) -> tuple[Any, FrameReader]:
        failed = frame.u8()
        value = frame.value()
        if failed:
            raise java_error(value)
        return value, frame

    def _use(self, limit: RunLimit | None) -> None:
        if limit is not self._limit:
            self._connection.settimeout(None if limit is None else limit.pause)
            self._limit = limit
        if limit is not None:
            limit.over()  # counts the time since the last call

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


def send_frame(connection: socket.socket, frame: bytes, why: Callable[[], str], limit: RunLimit | None = None) -> None:
    """Sends a frame, or a part of it. HostLostError if the peer is gone; TimeoutError when the limit is over, whose
    `pause` is the timeout of the socket."""
    rest = memoryview(frame)
    while rest:
        try:
            rest = rest[connection.send(rest) :]
        except TimeoutError:
            _check(limit)
        except OSError as error:
            raise HostLostError(why()) from error


def receive_frame(connection: socket.socket, why: Callable[[], str], limit: RunLimit | None = None) -> bytes:
    """The body of the next frame. Raises as send_frame(), and InvalidFrameError."""
    size = int.from_bytes(_receive(connection, 4, why, limit), "little")
    if size > MAX_FRAME:
        connection.shutdown(socket.SHUT_RDWR)  # what follows cannot be read
        raise InvalidFrameError(f"The task host JVM has sent a frame of {size:,} bytes; {MAX_FRAME:,} are allowed")
    return bytes(_receive(connection, size, why, limit))


def _receive(connection: socket.socket, size: int, why: Callable[[], str], limit: RunLimit | None) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        try:
            count = connection.recv_into(rest)
        except TimeoutError:
            _check(limit)
            continue
        except OSError as error:
            raise HostLostError(why()) from error
        if not count:
            raise HostLostError(why())
        rest = rest[count:]
    return data


def _check(limit: RunLimit | None) -> None:
    if limit is None or limit.over():
        raise TimeoutError


_LARGE = 65536  # bytes; a second system call costs less than a copy
