"""The requests of transformations with queries: check, prepare and run."""

from __future__ import annotations

import base64
import contextlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from runtime.connectors.spark.session_client import CHECK_SQL, PREPARE_SQL, RUN_SQL
from runtime.engine.driver.session.record_query.evaluator import Evaluator, JvmParts
from runtime.engine.driver.session.record_query.memory import with_enough_memory
from runtime.engine.driver.session.record_query.planning import AnalysedQuery
from runtime.engine.driver.session.record_query.refusals import parse_record_query
from runtime.engine.driver.session.server import Request, SessionCaller
from runtime.engine.driver.session.spark_session import SharedSession
from runtime.engine.driver.session.spark_version import require_spark_4_2
from runtime.system.cgroup import usable_cores

MAX_QUERIES = 256
"""The most queries, each with its columns, that stay planned."""

_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.maxFields": "1000",  # queries are compiled once
}


class RecordQueries:
    """Thread-safe. Runs in threads of its own, so that batches of SparkSink and of this need not wait for each other,
    in a session of its own."""

    def __init__(self, session: SharedSession, folder: Path, threads: int | None = None) -> None:
        """`folder` gets the results, a file for each connection."""
        self._shared, self._folder = session, folder
        self._pool = ThreadPoolExecutor(threads or max(2, usable_cores()), "record-query")
        self._lock = threading.Lock()
        self._session: Any = None
        self._parts: JvmParts | None = None
        self._thread = threading.local()
        self._queries: OrderedDict[tuple[str, str, int], _Query] = OrderedDict()
        self._operations: dict[str, Callable[[SessionCaller, Request], Any]] = {
            CHECK_SQL: self._check,
            PREPARE_SQL: self._prepare,
            RUN_SQL: self._run,
        }

    def has(self, operation: str) -> bool:
        """Whether the operation is one of these."""
        return operation in self._operations

    def execute(self, caller: SessionCaller, request: Request) -> Future[Any]:
        """The result of a request."""
        return self._pool.submit(self._operations[request["op"]], caller, request)

    def release(self, connection: str) -> None:
        """The task has closed its connection."""
        self._results(connection).unlink(missing_ok=True)

    def _check(self, caller: SessionCaller, request: Request) -> None:
        """Whether the query may be run. Its columns are not known yet."""
        parse_record_query(self._active(), request["sql"])

    def _prepare(self, caller: SessionCaller, request: Request) -> dict[str, Any]:
        """What the query needs and gives; `unresolved` if it does not fit the columns."""
        from pyspark.errors import AnalysisException, ParseException

        query = self._query(request)
        try:
            return query.description
        except ParseException:
            raise
        except AnalysisException as error:
            missing = error.getMessageParameters() or {}
            return {"unresolved": str(error.getMessage()), "column": missing.get("objectName")}

    def _run(self, caller: SessionCaller, request: Request) -> dict[str, Any]:
        """The files with the results for the rows of a file."""
        results = str(self._results(caller.connection))
        with self._query(request).evaluator() as evaluator:
            if evaluator.runs_jobs:
                self._shared.context.setJobGroup(caller.group, "SparkSql", True)
            (source,) = request["files"]
            run = partial(evaluator.run, source, results, caller.has_gone)
            with_enough_memory(self._shared.context._jvm, run, source)
        return {"files": [results]}

    def _results(self, connection: str) -> Path:
        return self._folder / f"{connection}.arrow"

    def _query(self, request: Request) -> _Query:
        key = (request["sql"], request["schema"], request["fields"])
        session = self._active()
        with self._lock:
            query = self._queries.pop(key, None) or _Query(session, self._parts, *key)
            self._queries[key] = query
            if len(self._queries) > MAX_QUERIES:
                self._queries.popitem(last=False)
            return query

    def _active(self) -> Any:
        """The session, as the active one of this thread in the JVM."""
        with self._lock:
            if self._session is None:
                require_spark_4_2("SparkSql")
                session = self._shared.create()
                for key, value in _SETTINGS.items():
                    session.conf.set(key, value)
                self._session, self._parts = session, JvmParts(session)
        if not getattr(self._thread, "is_prepared", False):
            session = self._session
            session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
            self._thread.is_prepared = True
        return self._session


class _Query:
    """A query over records with certain columns, and its compiled forms that are not in use."""

    def __init__(self, session: Any, parts: JvmParts | None, sql: str, schema: str, fields: int) -> None:
        self._parts = parts
        self._session, self._sql, self._schema, self._fields = session, sql, schema, fields
        self._idle: deque[Evaluator] = deque()
        self._lock = threading.Lock()
        self._fixed = True
        self._description: dict[str, Any] | None = None

    @property
    def description(self) -> dict[str, Any]:
        """`inputs`: names of columns; `outputs`: name and source of each column; `changes_count`: see AnalysedQuery.
        Spark's AnalysisException if a column is missing."""
        with self._lock:
            if self._description is None:
                query = self._analysed()
                self._fixed = query.is_fixed
                self._description = {
                    "inputs": query.inputs,
                    "outputs": [[output.name, output.source] for output in query.outputs],
                    "changes_count": query.changes_count,
                }
            return self._description

    @contextlib.contextmanager
    def evaluator(self) -> Iterator[Evaluator]:
        """A compiled form of the query, for the calling thread."""
        _ = self.description
        try:
            evaluator = self._idle.pop()
        except IndexError:
            assert self._parts is not None
            evaluator = Evaluator(self._session, self._analysed(), self._parts)
        try:
            yield evaluator
        finally:  # also after an error: the halves of the batch follow
            if self._fixed:
                self._idle.append(evaluator)

    def _analysed(self) -> AnalysedQuery:
        import pyarrow as pa
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self._schema)))
        spark = from_arrow_schema(schema, prefer_timestamp_ntz=True)
        return AnalysedQuery(self._session, self._sql, spark, self._fields)
