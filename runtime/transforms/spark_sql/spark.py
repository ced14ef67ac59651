"""Requests of a transformation to the worker's Spark session, and what their errors mean for its task."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from runtime.api.config.types import invalid
from runtime.api.errors import DataError, RetriableError
from runtime.connectors.spark.config_keys import check_start
from runtime.connectors.spark.session_client import (
    CHECK_SQL,
    ROWS,
    SOCKET,
    SessionClient,
    SessionLostError,
    SparkRequestError,
)
from runtime.model.task_errors import TaskLostError
from runtime.transforms.tables.errors import RefusedError

_LOOK = 0.1  # seconds between two looks whether the task is to stop
_RESTART = 1.0  # seconds after which the task is started again if the driver has ended
_CHECK_TIMEOUT = 20.0  # seconds for the check of a configuration, which starts the session if it is the first


class SparkBusyError(RetriableError):
    """Spark has not run the query: it is too slow, or has failed on something else than the records. The same call may
    succeed later, as errors.retry.timeout allows."""

    tolerable = False


class QueryRequests:
    """Sends requests one after another, and waits for their results."""

    def __init__(self, timeout: float, stopping: Callable[[], bool]) -> None:
        """`timeout` in seconds of a request; `stopping`: whether the task is to stop."""
        self._timeout, self._stopping = timeout, stopping
        self._client: SessionClient | None = None
        self._file = Path(os.environ.get(ROWS) or tempfile.gettempdir(), f"sql-{uuid4().hex}.arrow")

    def ask(self, request: Mapping[str, Any]) -> Any:
        """The result of a request. DataError if a record is at fault, RefusedError, SparkBusyError, or TaskLostError
        if the driver has ended."""
        if self._client is None:
            self._client = SessionClient("spark-sql")
        try:
            response = self._client.send(lambda: {"connector": "SparkSql", **request})
        except RuntimeError as error:  # no thread can be started
            self._disconnect()
            raise SparkBusyError(f"The query cannot be sent to Spark: {error}") from error
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return response.result(_LOOK)
            except TimeoutError:
                if not self._stopping() and time.monotonic() < deadline:
                    continue
                self._disconnect()
                raise SparkBusyError(
                    f"Spark has not run the query within {self._timeout:g} s (timeout.ms): the query takes too long, "
                    "or Spark is busy with other connectors"
                ) from None
            except SessionLostError as error:
                raise TaskLostError(str(error), _RESTART) from error
            except SparkRequestError as error:
                raise _meaning(error) from error

    def run(self, request: Mapping[str, Any], rows: Any) -> bytes:
        """The content of the file with the results for a record batch. Errors as for ask(), and SparkBusyError if the
        rows cannot be stored, which is not the fault of a record."""
        with self._storing(), self._file.open("wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
            stream.write_batch(rows)
        results = Path(self.ask({**request, "files": [str(self._file)]})["files"][0])
        with self._storing():
            return results.read_bytes()

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SparkBusyError(f"Rows for Spark cannot be stored in {self._file.parent}: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._disconnect()
        self._file.unlink(missing_ok=True)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _meaning(error: SparkRequestError) -> Exception:
    match error.kind:
        case "data":
            return DataError(f"sql fails: {error}")
        case "query":
            return RefusedError(str(error))
        case _:
            return SparkBusyError(f"Spark could not run the query: {error}")


def accepted(name: str, value: Any) -> None:
    """ConfigError unless the value is a query that Spark's parser accepts and that gives each record its own results.
    Where no Spark is running, only its start is checked: the task checks the rest."""
    check_start(name, value, "records")
    if not value or SOCKET not in os.environ:
        return
    client = SessionClient("spark-sql-check")
    try:
        client.send(lambda: {"op": CHECK_SQL, "connector": "SparkSql", "sql": value}).result(_CHECK_TIMEOUT)
    except SparkRequestError as error:
        if error.kind == "query":
            raise invalid(name, value, str(error)) from None
    except TimeoutError:  # Spark is busy
        pass
    finally:
        with contextlib.suppress(OSError):
            client.close()
