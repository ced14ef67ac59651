"""The operations that tasks request from the Spark session."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.spark.session_client import CHECK_QUERY
from runtime.connectors.spark.staging import DELETED, SEQUENCE, Staging
from runtime.engine.driver.session.allowed_paths import check_paths
from runtime.engine.driver.session.batches import BatchOperations, HasGone
from runtime.engine.driver.session.catalogs import check_defined_catalog
from runtime.engine.driver.session.delta_batches import DeltaBatches
from runtime.engine.driver.session.frames import format_name, selected, staged_rows
from runtime.engine.driver.session.iceberg_target import IcebergTarget
from runtime.engine.driver.session.maintenance import maintain
from runtime.engine.driver.session.probe import failing_rows
from runtime.engine.driver.session.queries import check_query
from runtime.engine.driver.session.record_query.service import RecordQueries
from runtime.engine.driver.session.server import Request, SessionCaller
from runtime.engine.driver.session.source.streams import SourceStreams
from runtime.engine.driver.session.source.topics.query import check_topics_query
from runtime.engine.driver.session.spark_session import SharedSession
from runtime.engine.driver.session.staging import StagedBatches, StagedFiles


class SessionOperations:
    """Executes requests. Every method may run in several threads at once."""

    def __init__(self, session: SharedSession, streams: SourceStreams, queries: RecordQueries) -> None:
        self._session, self._streams, self._queries = session, streams, queries
        batches = BatchOperations(self._write, self._staged)
        self._batch_operations: dict[str, Callable[[Request, HasGone], Any]] = {
            "write": batches.write,
            "publish": batches.publish,
            "discard": batches.discard,
            "resolve": batches.resolve,
        }
        self._operations: dict[str, Callable[[Request], Any]] = {
            "schema": self._schema,
            "probe": self._probe,
            "check": self._check,
            "maintain": self._maintain,
        }

    def execute(self, caller: SessionCaller, request: Request) -> Any:
        """The result of a request, or a future for it."""
        check_paths(request)
        if request["op"] == "open":
            if table := request["source"].get("table"):
                check_defined_catalog(self._session.get(), table)
            return self._streams.open(caller.connection, request)
        if request["op"] == "next":
            return self._streams.next(caller.connection, request)
        if request["op"] == CHECK_QUERY:
            return check_topics_query(self._session.create(), request["source"])
        if self._queries.has(request["op"]):
            return self._queries.execute(caller, request)
        context = self._session.context
        context.setJobGroup(caller.group, f"{request['connector']}: {request['op']}", True)
        if (operation := self._batch_operations.get(request["op"])) is not None:
            return operation(request, caller.has_gone)
        return self._operations[request["op"]](request)

    def must_complete(self, request: Request) -> bool:
        """True for batches whose fate is known: a connector that is stopped or deleted now would keep committed rows
        from the readers, or leave others that offsets altered later could make look as if they had been committed.
        Such a request ends early only while it waits: for another one, or for its next attempt."""
        return request["op"] in ("publish", "discard", "resolve")

    def cancel(self, group: str) -> None:
        """Cancel the jobs of a job group."""
        self._session.cancel(group)

    def release(self, connection: str) -> None:
        """The task has closed its connection."""
        self._streams.close(connection)
        self._queries.release(connection)

    def _write(self, request: Request) -> None:
        session, target = self._session.get(), request["target"]
        frame = staged_rows(session, request["files"])
        if target["sql"]:
            frame = selected(session, frame, target["sql"])
        if request["staging"]:
            self._staged(request).stage(request["id"], frame, request["ranges"])
        else:
            write_directly(session, frame, target)

    def _schema(self, request: Request) -> str | None:
        """The schema of what has been written before, as Arrow's IPC format in Base64; None if there is nothing."""
        from pyspark.errors import AnalysisException

        session, target = self._session.get(), request["target"]
        try:
            if target["table"]:
                check_defined_catalog(session, target["table"])
                schema = session.read.table(target["table"]).schema
            else:
                reader = session.read.format(format_name(session, target["format"])).options(**target["options"])
                # Names of folders have no types.
                named = target["partition_by"] if request["staging"] == Staging.FILES else []
                schema = reader.load(target["path"]).drop(*named).schema
            if target.get("merge") is not None:
                schema = type(schema)([field for field in schema if field.name not in (DELETED, SEQUENCE)])
        except AnalysisException:  # nothing there yet, or no file from which to take the schema
            return None
        return base64.b64encode(_arrow_schema(schema)).decode() if len(schema) else None

    def _probe(self, request: Request) -> list[tuple[int, str]]:
        """The rows for which the query fails."""
        return failing_rows(self._session.get(), request["files"][0], request["target"]["sql"])

    def _check(self, request: Request) -> None:
        """Whether `spark.sql` is a query."""
        check_query(self._session.get(), request["target"]["sql"])

    def _maintain(self, request: Request) -> dict[str, Any]:
        """Compact the table of a target."""
        return maintain(self._session.get(), request["staging"], request["target"], request["expire_after"])

    def _staged(self, request: Request) -> StagedBatches:
        return staged_batches(self._session.get(), request["staging"], request["target"], request["connector"])


def _arrow_schema(schema: Any) -> bytes:
    serialized: bytes = arrow_schema(schema).serialize().to_pybytes()
    return serialized


def staged_batches(session: Any, staging: str, target: Mapping[str, Any], connector: str) -> StagedBatches:
    """The staged batches of a connector. `target` as in requests."""
    match Staging(staging):
        case Staging.DELTA:
            return DeltaBatches(session, target, connector)
        case Staging.ICEBERG:
            return IcebergTarget(session, target, connector)
        case _:
            return StagedFiles(session, target, connector)


def write_directly(session: Any, frame: Any, target: Mapping[str, Any]) -> None:
    """Write rows to a target that has no staged batches."""
    writer = (
        frame.write.format(format_name(session, target["format"])).mode(target["mode"]).options(**target["options"])
    )
    if target["partition_by"]:
        writer = writer.partitionBy(*target["partition_by"])
    if target["table"]:
        writer.saveAsTable(target["table"])
    else:
        writer.save(target["path"] or None)
