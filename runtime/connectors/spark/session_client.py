"""Requests of a task to the worker's Spark session.

The session belongs to the driver; a slot is a Python worker without one. The driver names its socket in the environment
of its slots.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from runtime.api.errors import ConnectError
from runtime.system import frames

SOCKET = "HEADRACE_SPARK_SESSION"
"""Environment variable: the path of the driver's socket."""

ROWS = "HEADRACE_SPARK_ROWS"
"""Environment variable: the folder for rows that Spark reads."""


class SparkRequestError(ConnectError):
    """Spark could not execute a request; the message is Spark's. `kind`: it failed on the `query`, on the `data`, or on
    something `other`, for which another attempt may help."""

    def __init__(self, message: str, kind: str = "other") -> None:
        super().__init__(message)
        self.kind = kind


class SessionClient:
    """Sends requests one after another, in a thread of its own. Thread-safe."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._stream: BinaryIO | None = None
        self._closed = False

    def send(self, make: Callable[[], Mapping[str, Any]]) -> Future[Any]:
        """The result of the request that `make` returns, which is called in the client's thread; SparkRequestError if
        Spark cannot execute it or the driver has ended."""
        return self._pool.submit(lambda: self._exchange(make()))

    def close(self) -> None:
        """Close the connection; jobs of a running request are cancelled."""
        with self._lock:
            self._closed = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # the driver has closed it
                    self._socket.shutdown(socket.SHUT_RDWR)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _exchange(self, request: Mapping[str, Any]) -> Any:
        try:
            stream = self._connected()
            assert self._socket is not None
            self._socket.sendall(frames.encode(request))
            answer = frames.read(stream)
        except OSError as error:
            self._disconnect()
            raise SparkRequestError(f"The connection to the Spark session failed: {error}") from error
        if answer is None:
            self._disconnect()
            raise SparkRequestError("The driver has closed the connection to the Spark session")
        if (failure := answer[0].get("error")) is not None:
            raise SparkRequestError(failure, answer[0]["kind"])
        return answer[0]["result"]

    def _disconnect(self) -> None:
        """Close the connection; the next request opens another one."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            self._socket = self._stream = None

    def _connected(self) -> BinaryIO:
        with self._lock:
            if self._closed:
                raise SparkRequestError("The task has been stopped")
            if self._stream is None:
                path = os.environ.get(SOCKET)
                if path is None:
                    raise SparkRequestError(
                        "This slot cannot reach the Spark session: Spark connectors need slots on the machine of "
                        "the driver (spark.master=local[…])"
                    )
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(path)
                self._socket, self._stream = connection, connection.makefile("rb")
            return self._stream
