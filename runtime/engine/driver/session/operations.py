"""The operations that tasks request from the Spark session."""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.spark.staging import Staging
from runtime.engine.driver.session.formats import format_name
from runtime.engine.driver.session.frames import selected, staged_rows
from runtime.engine.driver.session.probe import failing_rows
from runtime.engine.driver.session.queries import check_query
from runtime.engine.driver.session.server import SessionCaller
from runtime.engine.driver.session.source.streams import SourceStreams
from runtime.engine.driver.session.spark_session import SharedSession
from runtime.engine.driver.session.staging import StagedBatches, StartPosition
from runtime.engine.driver.session.targets import staged_batches, write_directly

Request = Mapping[str, Any]


class SessionOperations:
    """Executes requests. Every method may run in several threads at once."""

    def __init__(self, session: SharedSession, streams: SourceStreams) -> None:
        self._session, self._streams = session, streams
        self._changed = threading.Condition()
        self._writing: set[str] = set()  # ids of batches
        self._operations: dict[str, Callable[[Request], Any]] = {
            "write": self._write,
            "publish": self._publish,
            "discard": self._discard,
            "resolve": self._resolve,
            "schema": self._schema,
            "probe": self._probe,
            "check": self._check,
        }

    def execute(self, caller: SessionCaller, request: Request) -> Any:
        """The result of a request, or a future for it."""
        if request["op"] == "open":
            return self._streams.open(caller.connection, request)
        if request["op"] == "next":
            return self._streams.next(caller.connection, request)
        operation = self._operations[request["op"]]
        context = self._session.context
        context.setJobGroup(caller.group, f"{request['connector']}: {request['op']}", True)
        return operation(request)

    def release(self, connection: str) -> None:
        """The task has closed its connection."""
        self._streams.close(connection)

    def _write(self, request: Request) -> dict[str, Any]:
        """Write or stage the rows of a batch. The answer has the seconds."""
        with self._alone(request["id"]):
            return self._write_alone(request)

    @contextlib.contextmanager
    def _alone(self, batch: str) -> Iterator[None]:
        """Wait for an earlier attempt, whose job is being cancelled because its connection was lost: both would write
        to the same folder."""
        with self._changed:
            self._changed.wait_for(lambda: batch not in self._writing)
            self._writing.add(batch)
        try:
            yield
        finally:
            with self._changed:
                self._writing.remove(batch)
                self._changed.notify_all()

    def _write_alone(self, request: Request) -> dict[str, Any]:
        started = time.monotonic()
        session, target = self._session.get(), request["target"]
        frame = staged_rows(session, request["files"])
        if target["sql"]:
            frame = selected(session, frame, target["sql"])
        if request["staging"]:
            self._staged(request).stage(request["id"], frame, request["ranges"])
        else:
            write_directly(frame, target)
        return {"seconds": round(time.monotonic() - started, 3)}

    def _publish(self, request: Request) -> None:
        self._staged(request).publish(request["batch"])

    def _discard(self, request: Request) -> None:
        self._staged(request).discard(request["batch"])

    def _resolve(self, request: Request) -> dict[str, Any]:
        positions = [StartPosition(*position) for position in request["positions"]]
        published, discarded = self._staged(request).resolve(request["task"], positions, request["live"])
        return {"published": published, "discarded": discarded}

    def _schema(self, request: Request) -> str | None:
        """The schema of what has been written before, as Arrow's IPC format in Base64; None if there is nothing."""
        from pyspark.errors import AnalysisException

        session, target = self._session.get(), request["target"]
        try:
            if target["table"]:
                schema = session.read.table(target["table"]).schema
            else:
                reader = session.read.format(format_name(target["format"])).options(**target["options"])
                # Names of folders have no types.
                named = target["partition_by"] if request["staging"] == Staging.FILES else []
                schema = reader.load(target["path"]).drop(*named).schema
        except AnalysisException:  # nothing there yet, or no file from which to take the schema
            return None
        return base64.b64encode(_arrow_schema(schema)).decode() if len(schema) else None

    def _probe(self, request: Request) -> list[tuple[int, str]]:
        """The rows for which the query fails."""
        return failing_rows(self._session.get(), request["files"][0], request["target"]["sql"])

    def _check(self, request: Request) -> None:
        """Whether `spark.sql` is a query."""
        check_query(self._session.get(), request["target"]["sql"])

    def _staged(self, request: Request) -> StagedBatches:
        return staged_batches(self._session.get(), request["staging"], request["target"], request["connector"])


def _arrow_schema(schema: Any) -> bytes:
    serialized: bytes = arrow_schema(schema).serialize().to_pybytes()
    return serialized
