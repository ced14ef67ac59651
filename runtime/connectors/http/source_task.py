"""The task of HttpSource."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA
from runtime.api.errors import ConnectError
from runtime.api.task import SourceTask
from runtime.connectors.http.inference import Inference
from runtime.connectors.http.json_values import JsonPointer, NoValueError
from runtime.connectors.http.positions import Positions
from runtime.connectors.http.source_config import KEY, TOPIC, source_settings
from runtime.connectors.http.stream_reader import StreamReader
from runtime.connectors.http.templates import as_text
from runtime.connectors.http.walk import Rows

_WAIT = 0.2  # seconds that poll() waits for a response
_LONGEST_IDLE = 0.5  # seconds between two polls


class HttpSourceTask(SourceTask):
    """Polls one API. A poll reads all its pages; the next poll begins after the interval."""

    timestamps_are_now = True
    _reader: StreamReader | None = None
    _executor: ThreadPoolExecutor | None = None

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        """`clock` in seconds determines when the next request is due, `now` up to when time slices are read."""
        super().__init__()
        self._clock, self._now = clock, now

    def start(self, config: Mapping[str, str]) -> None:
        settings = source_settings(config)
        self._topic: str = settings[TOPIC]
        self._key = None if settings[KEY] is None else JsonPointer(settings[KEY])
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="http-source")
        self._positions = Positions(self.context.offsets, self.context.add_offsets)
        self._reader = StreamReader(settings, config, self._positions, self._executor, self._clock, self._now)

    def poll(self) -> Sequence[SourceRecord] | None:
        assert self._reader is not None
        reader = self._reader
        rows = reader.advance()
        if rows is None and reader.response is not None:
            wait_for([reader.response], _WAIT, FIRST_COMPLETED)
            rows = reader.advance()
        self.idle_poll = min(max(reader.wait, 0.01), _LONGEST_IDLE)
        batch = None if rows is None else self._batch(rows, reader.inference)
        self._positions.commit()
        return batch

    def stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        if self._reader is not None:
            self._reader.close()

    def _batch(self, rows: Rows, inference: Inference | None) -> SourceBatch:
        positions = rows.positions
        batch = SourceBatch(
            rows.partition,
            lambda n: positions[n].offset(),
            self._topic,
            ValueBatch(None, rows.rows) if inference is None else inference.convert(rows.rows),
            int(time.time() * 1000),
        )
        if self._key is not None:
            batch.keys = ValueBatch(OPTIONAL_STRING_SCHEMA, [_key(self._key, row) for row in rows.rows])
        return batch


def _key(pointer: JsonPointer, row: Any) -> str | None:
    try:
        value = pointer.find(row)
    except NoValueError:
        return None
    if isinstance(value, dict | list):
        raise ConnectError(f"{KEY} does not point to a text or number in a record")
    return None if value is None else as_text(value)
