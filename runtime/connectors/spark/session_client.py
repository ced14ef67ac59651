"""Requests of a task to the worker's Spark session.

The session belongs to a process of the driver; a slot is a Python worker without one. The driver names the socket in
the environment of its slots; slots on other machines reach it through the worker, and send the files of their rows
along.
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from runtime.api.errors import ConnectError
from runtime.system import frames

SOCKET = "HEADRACE_SPARK_SESSION"
"""Environment variable: the path of the driver's socket, or of a link to it."""

ROWS = "HEADRACE_SPARK_ROWS"
"""Environment variable: the folder for rows that Spark reads."""


UPLOAD = "upload"
"""The `op` of a request that is followed by the bytes of a file."""

MAX_UPLOAD = 1 << 30
"""The most bytes of all files that a slot on another machine sends with a request."""

CHECK_SQL, PREPARE_SQL, RUN_SQL = "sql.check", "sql.prepare", "sql.run"
"""The `op` of requests of transformations with queries."""

CHECK_QUERY = "query.check"
"""The `op` of a request that checks the query of a KafkaQuery."""

DOWNLOAD = "download"
"""The `op` of a request for a file that the last response has named; its bytes follow the response."""

_CHUNK = 1 << 20
_FIRST_DELAY, _MAX_DELAY = 0.5, 30.0  # seconds between two attempts


def retry_delay(attempt: int) -> float:
    """Seconds between an attempt, counted from 1, and the next one."""
    return min(_FIRST_DELAY * 2.0 ** min(attempt - 1, 10), _MAX_DELAY)


class SparkRequestError(ConnectError):
    """Spark could not execute a request; the message is Spark's. `kind`: it failed on the `query`, on the `data`, or on
    something `other`, for which another attempt may help."""

    def __init__(self, message: str, kind: str = "other") -> None:
        super().__init__(message)
        self.kind = kind


class SessionLostError(SparkRequestError):
    """The connection to the session failed, usually because its process has ended. It is unknown whether the request
    has been executed."""


class SessionConnection(Protocol):
    """A connection to the session."""

    stream: BinaryIO

    def sendall(self, data: bytes) -> None:
        """Blocks until the system has taken the data."""

    def shutdown(self) -> None:
        """End the connection; threads that use it get the end of the stream or OSError."""

    def close(self) -> None:
        """Release the connection."""


_remote: list[Callable[[], SessionConnection]] = []  # at most one


def use(connect: Callable[[], SessionConnection]) -> None:
    """Reach the session with `connect` from now on, in a process that shares no files with the driver."""
    _remote[:] = [connect]


def _connect() -> SessionConnection:
    if _remote:
        return _remote[0]()
    if SOCKET not in os.environ:
        raise SparkRequestError("There is no Spark session of a worker in this process", "query")
    return _LocalConnection(os.environ[SOCKET])


def _shares_files() -> bool:
    """Whether this process and the driver have a folder for rows in common: a slot on the driver's machine has, the
    plugin host has not."""
    return not _remote and ROWS in os.environ


class _LocalConnection:
    """A connection to the driver's socket."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self.stream: BinaryIO = self._socket.makefile("rb")
        self.sendall, self.close = self._socket.sendall, self._socket.close

    def shutdown(self) -> None:
        with contextlib.suppress(OSError):  # the driver has closed it
            self._socket.shutdown(socket.SHUT_RDWR)


class SessionClient:
    """Sends requests one after another, in a thread of its own. Thread-safe."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._lock = threading.Lock()
        self._connection: SessionConnection | None = None
        self._closed = False
        self._downloads: list[Path] = []  # of the last response with files

    def send(self, make: Callable[[], Mapping[str, Any]]) -> Future[Any]:
        """The result of the request that `make` returns, which is called in the client's thread; SparkRequestError if
        Spark cannot execute it or the session has ended."""
        return self._pool.submit(lambda: self._exchange(make()))

    def close(self) -> None:
        """Close the connection; jobs of a running request are cancelled."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.shutdown()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._forget_downloads()

    def _exchange(self, request: Mapping[str, Any]) -> Any:
        try:
            connection = self._connected()
            if not _shares_files():
                for file in request.get("files", ()):
                    self._upload(connection, Path(file))
            response = self._response(connection, request)
            if not _shares_files() and isinstance(response, dict) and isinstance(response.get("files"), list):
                self._forget_downloads()
                response["files"] = [self._download(connection, file) for file in response["files"]]
            return response
        except OSError as error:
            self._disconnect()
            raise SessionLostError(f"The connection to the Spark session failed: {error}") from error

    def _response(self, connection: SessionConnection, request: Mapping[str, Any]) -> Any:
        connection.sendall(frames.encode(request))
        response = frames.read(connection.stream)
        if response is None:
            self._disconnect()
            raise SessionLostError("The Spark session has closed the connection")
        if (failure := response[0].get("error")) is not None:
            if response[0].get("closes"):  # no session has this connection
                self._disconnect()
            raise SparkRequestError(failure, response[0]["kind"])
        return response[0]["result"]

    def _upload(self, connection: SessionConnection, file: Path) -> None:
        """Send a file of rows, whose bytes follow the request."""
        with file.open("rb") as rows:
            size = os.fstat(rows.fileno()).st_size
            if size > MAX_UPLOAD:
                raise SparkRequestError(
                    f"A batch of {size:,} bytes is larger than {MAX_UPLOAD:,}: lower spark.batch.bytes"
                )
            connection.sendall(frames.encode({"op": UPLOAD, "file": file.name, "size": size}))
            while data := rows.read(_CHUNK):
                connection.sendall(data)
        frames.read(connection.stream)

    def _download(self, connection: SessionConnection, file: str) -> str:
        """Get a file of rows from the driver's machine."""
        size = self._response(connection, {"op": DOWNLOAD, "file": file})["size"]
        handle, name = tempfile.mkstemp(suffix=".parquet", dir=os.environ.get(ROWS))
        self._downloads.append(Path(name))
        with os.fdopen(handle, "wb") as copy:
            while size:
                data = connection.stream.read(min(size, _CHUNK))
                if not data:
                    raise ConnectionError("the connection was lost")
                copy.write(data)
                size -= len(data)
        return name

    def _forget_downloads(self) -> None:
        for file in self._downloads:
            file.unlink(missing_ok=True)
        self._downloads.clear()

    def _disconnect(self) -> None:
        """Close the connection; the next request opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _connected(self) -> SessionConnection:
        with self._lock:
            if self._closed:
                raise SparkRequestError("The task has been stopped")
            if self._connection is None:
                self._connection = _connect()
            return self._connection
