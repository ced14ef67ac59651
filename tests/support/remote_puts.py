"""Executes the puts of a Python sink task on another thread, as those of Java tasks are executed in another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from runtime.api.data.record import SinkRecord
from runtime.api.task import SinkTask


class RemotePuts(SinkTask):
    """A base class of sink tasks; see RemoteSinkTask."""

    _running: Future[None] | None = None

    def start(self, config: Mapping[str, str]) -> None:
        """Nothing to start."""

    def prepare_put(self, records: Sequence[SinkRecord]) -> list[SinkRecord]:
        return list(records)

    def begin_put(self, prepared: list[SinkRecord]) -> None:
        assert self._running is None, "the put before was not awaited"
        pool = ThreadPoolExecutor(1)
        self._running = pool.submit(self.put, prepared)
        pool.shutdown(wait=False)

    def end_put(self) -> None:
        assert self._running is not None
        put, self._running = self._running, None
        put.result()
