"""A thread that reads the stream ahead, and reports to the server which changes it may discard."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from runtime.api.errors import ConnectError
from runtime.connectors.postgres.wire.replication import Data, Keepalive, ReplicationConnection

_MESSAGES, _BYTES = 20_000, 16 * 1024 * 1024  # that are read ahead
_CHUNK, _CHUNK_BYTES = 500, 1024 * 1024  # that are passed on together
_WAIT = 0.25  # seconds for which a read waits, and so the end of the thread
_KEEPALIVE = 5.0  # seconds after which the server gets a report in any case; its limit is 60 by default


class StreamThread:
    """Owns the connection. The server ends connections that are silent, so that reports do not wait for the task."""

    def __init__(
        self, connect: Callable[[], ReplicationConnection], slot: str, lsn: int, options: Mapping[str, str],
        arrived: Callable[[], None],
    ) -> None:  # fmt: skip
        """Streams from `lsn`; `arrived` is called on the thread when there are messages after a time without any.
        RetriableError or ConnectError if that is not possible."""
        self._connection = connect()
        try:
            self._connection.start(slot, lsn, options)
        except BaseException:
            self._connection.close()
            raise
        self._arrived = arrived
        self._condition = threading.Condition()
        self._chunks: deque[list[Data | Keepalive]] = deque()
        self._count, self._size = 0, 0
        self._confirmed = lsn
        self._stopped = False
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="postgres-cdc-stream", daemon=True)
        self._thread.start()

    def take(self) -> list[Data | Keepalive]:
        """The next messages; empty if there are none. Raises the error that has ended the stream, behind its
        messages."""
        with self._condition:
            if self._chunks:
                chunk = self._chunks.popleft()
                self._count -= len(chunk)
                self._size -= sum(map(_size, chunk))
                self._condition.notify()
                return chunk
            if self._failure is not None:
                raise self._failure
            return []

    def confirm(self, lsn: int) -> None:
        """The server may discard everything before this position."""
        with self._condition:
            self._confirmed = max(self._confirmed, lsn)
            self._condition.notify()

    def stop(self) -> None:
        """Reports the last position, and closes the connection."""
        with self._condition:
            self._stopped = True
            self._condition.notify()
        self._thread.join(10)

    def _run(self) -> None:
        connection = self._connection
        try:
            self._read(connection)
        except ConnectError as error:
            self._failure = error
            self._arrived()
        except Exception as error:
            self._failure = ConnectError(f"The stream could not be read: {error}")
            self._arrived()
        finally:
            connection.close()

    def _read(self, connection: ReplicationConnection) -> None:
        reported, reported_at = -1, 0.0
        while True:
            with self._condition:
                full = self._count >= _MESSAGES or self._size >= _BYTES
                if full and not self._stopped:
                    self._condition.wait(_WAIT)
                stopped, confirmed = self._stopped, self._confirmed
            if stopped and confirmed == reported:
                return
            now = time.monotonic()
            if confirmed != reported or now - reported_at >= _KEEPALIVE:
                connection.confirm(confirmed)
                reported, reported_at = confirmed, now
            if full or stopped:
                continue
            if self._read_chunk(connection):
                reported_at = 0.0

    def _read_chunk(self, connection: ReplicationConnection) -> bool:
        """Reads what has arrived; whether the server wants a report."""
        chunk: list[Data | Keepalive] = []
        size = 0
        message = connection.read(_WAIT)
        wanted = False
        while message is not None:
            if isinstance(message, Keepalive):
                wanted = wanted or message.wants_reply
            chunk.append(message)
            size += _size(message)
            if len(chunk) >= _CHUNK or size >= _CHUNK_BYTES:
                break
            message = connection.read(0)
        if chunk:
            with self._condition:
                was_empty = not self._chunks
                self._chunks.append(chunk)
                self._count += len(chunk)
                self._size += size
            if was_empty:
                self._arrived()
        return wanted


def _size(message: Data | Keepalive) -> int:
    return len(message.message) if isinstance(message, Data) else 0
