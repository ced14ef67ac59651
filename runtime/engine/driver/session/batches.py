"""Batches of SparkSink on the session: written or staged, published, discarded, and resolved after a restart."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from runtime.connectors.spark.session_client import retry_delay
from runtime.engine.driver.session.server import CHECK_INTERVAL, Request
from runtime.engine.driver.session.spark_errors import FailureKind, described, kind_of
from runtime.engine.driver.session.staging import StagedBatches, StartPosition

_log = logging.getLogger(__name__)

HasGone = Callable[[], bool]
"""Whether the task of a request has closed its connection."""


class TaskGoneError(Exception):
    """The task has ended while its request was being executed."""


class BatchOperations:
    """Executes requests about batches, those about the same batch one after another. `write`: writes or stages the rows
    of a request; `staged`: the staged batches of a request's target; `delay`: seconds before the next attempt;
    `check_interval`: seconds after which a waiting request notices that its task has gone."""

    def __init__(
        self,
        write: Callable[[Request], None],
        staged: Callable[[Request], StagedBatches],
        delay: Callable[[int], float] = retry_delay,
        check_interval: float = CHECK_INTERVAL,
    ) -> None:
        self._write_alone, self._staged, self._delay, self._check_interval = write, staged, delay, check_interval
        self._changed = threading.Condition()
        self._busy: set[str] = set()  # ids of batches

    def write(self, request: Request, has_gone: HasGone) -> dict[str, Any]:
        """Write or stage the rows of a batch. The response has the seconds."""
        with self.alone(request["id"], has_gone):
            started = time.monotonic()
            try:
                self._write_alone(request)
            finally:
                if request["staging"] and has_gone():  # the next task may have looked for staged batches before
                    self._staged(request).discard(request["id"])
                    raise TaskGoneError(f"The task of batch {request['id']} has ended")
            return {"seconds": round(time.monotonic() - started, 3)}

    def publish(self, request: Request, has_gone: HasGone) -> None:
        with self.alone(request["batch"], has_gone):
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
                delay = self._delay(attempt)
                _log.warning("Cannot publish batch %s; next attempt in %g s: %s", batch, delay, described(error))
                if not self._waited(delay, has_gone):
                    _log.warning("Batch %s is published when its connector starts again: its task has ended", batch)
                    raise TaskGoneError(f"The task of batch {batch} has ended") from error

    def discard(self, request: Request, has_gone: HasGone) -> None:
        with self.alone(request["batch"], has_gone):
            self._staged(request).discard(request["batch"])

    def resolve(self, request: Request, has_gone: HasGone) -> dict[str, Any]:
        """Publish or discard what earlier runs have left. `live`: batches of this run, which are left alone. After the
        end of the task batches are only published: the next task may have committed others since, which these
        positions do not include."""
        positions = [StartPosition(*position) for position in request["positions"]]
        staged = self._staged(request)
        done: dict[bool, list[str]] = {True: [], False: []}
        for batch in staged.batches():
            if batch in request["live"] or staged.is_committed(batch, request["task"], positions) is None:
                continue
            with self.alone(batch, has_gone):
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

    @contextlib.contextmanager
    def alone(self, batch: str, has_gone: HasGone) -> Iterator[None]:
        """Wait for other requests for the batch: an earlier attempt, or one of a task that has ended, whose jobs are
        being cancelled. TaskGoneError if the own task ends meanwhile, since the threads for requests are few."""
        with self._changed:
            while not self._changed.wait_for(lambda: batch not in self._busy, self._check_interval):
                if has_gone():
                    raise TaskGoneError(f"The task has ended while batch {batch} was in use by another request")
            self._busy.add(batch)
        try:
            yield
        finally:
            with self._changed:
                self._busy.remove(batch)
                self._changed.notify_all()

    def _waited(self, seconds: float, has_gone: HasGone) -> bool:
        """Wait. False, early, if the task ends meanwhile."""
        end = time.monotonic() + seconds
        while not has_gone():
            if (left := end - time.monotonic()) <= 0:
                return True
            time.sleep(min(left, self._check_interval))
        return False
