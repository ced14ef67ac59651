"""The sources of all tasks, and the operations with which tasks use them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runtime.engine.driver.session.source.checkpoint import HadoopFolder, SourceCheckpoint
from runtime.engine.driver.session.source.reading import STREAM
from runtime.engine.driver.session.source.stream import SourceStream
from runtime.engine.driver.session.spark_session import SharedSession


class SourceStreams:
    """The stream of each connection. Thread-safe."""

    def __init__(self, session: SharedSession, folder: Path, most_spooling: int) -> None:
        """`folder` is for copies of batches. `most_spooling`: batches that Spark writes at the same time."""
        self._session, self._folder = session, folder
        self._spooling = threading.Semaphore(most_spooling)
        self._lock = threading.Lock()
        self._streams: dict[str, SourceStream] = {}

    def open(self, connection: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start to read a source from the committed position; the response names the checkpoint."""
        self.close(connection)
        source, committed = request["source"], request["committed"]
        session = self._session.create()
        folder = HadoopFolder(session, source["checkpoint"], quote(request["connector"], safe=""))
        if committed is None:
            checkpoint, done = SourceCheckpoint.create(folder), -1
        else:
            batch, rows = committed["batch"], committed["rows"]
            checkpoint = SourceCheckpoint.open(folder, committed["checkpoint"])
            self._stop_others(checkpoint.place)
            checkpoint.mark_committed()
            checkpoint.rewind(batch, rows, committed["spool"], source["mode"] == STREAM)
            done = batch - 1 if rows else batch
        local = self._folder / f"batches-{connection}"
        stream = SourceStream(session, source, checkpoint, done, self._spooling, local)
        with self._lock:
            self._streams[connection] = stream
        stream.start()
        return {"checkpoint": checkpoint.name}

    def next(self, connection: str, request: Mapping[str, Any]) -> Future[Any]:
        """The batch behind the committed one, when there is one."""
        with self._lock:
            stream = self._streams[connection]
        return stream.next(request["committed"])

    def close(self, connection: str) -> None:
        """The task has ended."""
        with self._lock:
            stream = self._streams.pop(connection, None)
        if stream is not None:
            stream.stop()

    def _stop_others(self, place: str) -> None:
        """Stop streams of earlier tasks with the same checkpoint that have not ended yet."""
        with self._lock:
            connections = [connection for connection, stream in self._streams.items() if stream.place == place]
        for connection in connections:
            self.close(connection)
