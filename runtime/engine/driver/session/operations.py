"""The operations that tasks request from the Spark session."""

from __future__ import annotations

import base64
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.spark.session_client import retry_delay
from runtime.connectors.spark.staging import Staging
from runtime.engine.driver.session.frames import format_name, selected, staged_rows
from runtime.engine.driver.session.probe import failing_rows
from runtime.engine.driver.session.queries import check_query
from runtime.engine.driver.session.server import CHECK_INTERVAL, Request, SessionCaller
from runtime.engine.driver.session.source.streams import SourceStreams
from runtime.engine.driver.session.spark_errors import FailureKind, described, kind_of
from runtime.engine.driver.session.spark_session import SharedSession
from runtime.engine.driver.session.staging import StagedBatches, StartPosition
from runtime.engine.driver.session.targets import staged_batches, write_directly

_log = logging.getLogger(__name__)

HasGone = Callable[[], bool]
"""Whether the task of a request has closed its connection."""


class TaskGoneError(Exception):
    """The task has ended while its request was being executed."""


class SessionOperations:
    """Executes requests. Every method may run in several threads at once."""

    def __init__(self, session: SharedSession, streams: SourceStreams) -> None:
        self._session, self._streams = session, streams
        self._changed = threading.Condition()
        self._busy: set[str] = set()  # ids of batches
        self._batch_operations: dict[str, Callable[[Request, HasGone], Any]] = {
            "write": self._write,
            "publish": self._publish,
            "discard": self._discard,
            "resolve": self._resolve,
        }
        self._operations: dict[str, Callable[[Request], Any]] = {
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

    def _write(self, request: Request, has_gone: HasGone) -> dict[str, Any]:
        """Write or stage the rows of a batch. The answer has the seconds."""
        with self._alone(request["id"], has_gone):
            started = time.monotonic()
            self._write_alone(request)
            if request["staging"] and has_gone():  # the next task may have looked for staged batches before
                self._staged(request).discard(request["id"])
                raise TaskGoneError(f"The task of batch {request['id']} has ended")
            return {"seconds": round(time.monotonic() - started, 3)}

    @contextlib.contextmanager
    def _alone(self, batch: str, has_gone: HasGone) -> Iterator[None]:
        """Wait for other requests for the batch: an earlier attempt, or one of a task that has ended, whose jobs are
        being cancelled. TaskGoneError if the own task ends meanwhile, since the threads for requests are few."""
        with self._changed:
            while not self._changed.wait_for(lambda: batch not in self._busy, CHECK_INTERVAL):
                if has_gone():
                    raise TaskGoneError(f"The task has ended while batch {batch} was in use by another request")
            self._busy.add(batch)
        try:
            yield
        finally:
            with self._changed:
                self._busy.remove(batch)
                self._changed.notify_all()

    def _write_alone(self, request: Request) -> None:
        session, target = self._session.get(), request["target"]
        frame = staged_rows(session, request["files"])
        if target["sql"]:
            frame = selected(session, frame, target["sql"])
        if request["staging"]:
            self._staged(request).stage(request["id"], frame, request["ranges"])
        else:
            write_directly(frame, target)

    def _publish(self, request: Request, has_gone: HasGone) -> None:
        with self._alone(request["batch"], has_gone):
            self._publish_batch(self._staged(request), request["batch"], request["retries"], has_gone)

    def _publish_batch(self, staged: StagedBatches, batch: str, retries: int, has_gone: HasGone) -> None:
        """Publish a batch, again after an error for which that may help, as long as the task exists. The task's next
        batch waits meanwhile: Delta relies on the order."""
        for attempt in count(1):
            try:
                if not staged.publish(batch) and attempt == 1:  # a failed attempt may have published it
                    _log.warning(
                        "Batch %s, whose offsets have been committed, is no longer staged: another task has published "
                        "it, or it was removed together with the target", batch
                    )  # fmt: skip
                break
            except Exception as error:  # Spark's exceptions have no common base class
                if attempt > retries or kind_of(error) is not FailureKind.OTHER:
                    raise
                delay = retry_delay(attempt)
                _log.warning("Cannot publish batch %s; next attempt in %g s: %s", batch, delay, described(error))
                if not _waited(delay, has_gone):
                    _log.warning("Batch %s is published when its connector starts again: its task has ended", batch)
                    raise TaskGoneError(f"The task of batch {batch} has ended") from error

    def _discard(self, request: Request, has_gone: HasGone) -> None:
        with self._alone(request["batch"], has_gone):
            self._staged(request).discard(request["batch"])

    def _resolve(self, request: Request, has_gone: HasGone) -> dict[str, Any]:
        """Publish or discard what earlier runs have left. `live`: batches of this run, which are left alone. After the
        end of the task batches are only published: the next task may have committed others since, which these
        positions do not include."""
        positions = [StartPosition(*position) for position in request["positions"]]
        staged = self._staged(request)
        done: dict[bool, list[str]] = {True: [], False: []}
        for batch in staged.batches():
            if batch in request["live"] or staged.is_committed(batch, request["task"], positions) is None:
                continue
            with self._alone(batch, has_gone):
                committed = staged.is_committed(batch, request["task"], positions)
                if committed is None or batch not in staged.batches():  # published or discarded by another request
                    continue
                if committed:
                    self._publish_batch(staged, batch, request["retries"], has_gone)
                elif has_gone():
                    continue
                else:
                    staged.discard(batch)
                done[committed].append(batch)
        return {"published": done[True], "discarded": done[False]}

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


def _waited(seconds: float, has_gone: HasGone) -> bool:
    """Wait. False, early, if the task ends meanwhile."""
    end = time.monotonic() + seconds
    while not has_gone():
        if (left := end - time.monotonic()) <= 0:
            return True
        time.sleep(min(left, CHECK_INTERVAL))
    return False


def _arrow_schema(schema: Any) -> bytes:
    serialized: bytes = arrow_schema(schema).serialize().to_pybytes()
    return serialized
