"""The task of HttpSource, which reads one or several streams."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for

from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTask
from runtime.connectors.http.source.config import IN_FLIGHT, stream_settings
from runtime.connectors.http.source.positions import StreamPositions
from runtime.connectors.http.source.reader import HttpStreamReader
from runtime.connectors.http.source.records import StreamRecords

_WAIT = 0.2  # seconds that poll() waits for a response
_LONGEST_IDLE = 0.5  # seconds between two polls


class HttpSourceTask(SourceTask):
    """Polls the streams of an API, each with one request at a time, or one for each of some parents. A poll of a stream
    reads all its pages; the next poll begins after the interval."""

    timestamps_are_now = True
    _executor: ThreadPoolExecutor | None = None

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        """`clock` in seconds determines when the next request is due, `now` up to when time slices are read."""
        super().__init__()
        self._clock, self._now = clock, now
        self._streams: list[tuple[HttpStreamReader, StreamRecords]] = []

    def start(self, config: Mapping[str, str]) -> None:
        streams = stream_settings(config)
        threads = sum(settings[IN_FLIGHT] for settings, _ in streams)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="http-source")
        self._positions = StreamPositions(self.context.offsets, self.context.add_offsets)
        for settings, of_stream in streams:
            reader = HttpStreamReader(settings, of_stream, self._positions, self._executor, self._clock, self._now)
            self._streams.append((reader, StreamRecords(settings, reader.inference)))

    def poll(self) -> Sequence[SourceRecord] | None:
        records = self._advance()
        waiting = [response for reader, _ in self._streams for response in reader.responses]
        if records is None and waiting:
            wait_for(waiting, _WAIT, FIRST_COMPLETED)
            records = self._advance()
        self.idle_poll = min(max(min(reader.wait for reader, _ in self._streams), 0.01), _LONGEST_IDLE)
        self._positions.commit()
        return records

    def stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        for reader, _ in self._streams:
            reader.close()

    def _advance(self) -> Sequence[SourceRecord] | None:
        """The records of the first stream that has some; that stream is the last one to be asked next time."""
        for number, (reader, records) in enumerate(self._streams):
            rows = reader.advance()
            if rows is not None:
                self._streams.append(self._streams.pop(number))
                return records.batch(rows)
        return None
