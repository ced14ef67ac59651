"""The task of HttpSource: reads one or several streams, and returns rows as records with topics, keys and schemas."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import DataError
from runtime.api.task import SourceTask
from runtime.connectors.http.json_values import JsonPointer
from runtime.connectors.http.source.config import IN_FLIGHT, KEY, TOPIC, stream_settings
from runtime.connectors.http.source.inference import Inference
from runtime.connectors.http.source.positions import StreamPositions
from runtime.connectors.http.source.reader import HttpStreamReader
from runtime.connectors.http.source.walk import StreamRows
from runtime.connectors.http.templates import as_text
from runtime.kafka.formats import compact


class StreamRecords:
    """Makes the records of one stream."""

    def __init__(self, settings: Mapping[str, Any], inference: Inference | None) -> None:
        """`settings`: the typed values of the configuration; `inference` gives values their schema."""
        self._topic: str = settings[TOPIC]
        self._keys = [JsonPointer(text.strip()) for text in (settings[KEY] or "").split(",")] if settings[KEY] else []
        self._inference = inference
        fields = tuple(Field(pointer.name, OPTIONAL_STRING_SCHEMA) for pointer in self._keys)
        self._key_schema = OPTIONAL_STRING_SCHEMA if len(fields) == 1 else Schema(Type.STRUCT, fields=fields)

    def batch(self, rows: StreamRows) -> Sequence[SourceRecord]:
        """The records of these rows. A row whose key is neither a text nor a number is errant."""
        positions = rows.positions
        batch = SourceBatch(
            rows.partition,
            lambda n: positions[n].offset(),
            self._topic,
            ValueBatch(None, rows.rows) if self._inference is None else self._inference.convert(rows.rows),
            int(time.time() * 1000),
        )
        if not self._keys:
            return batch
        keys, errant = [], dict[int, SourceRecord]()
        for n, row in enumerate(rows.rows):
            try:
                keys.append(self._key(row))
            except DataError as error:
                errant[n] = ErrantSourceRecord(rows.partition, batch.offset_of(n), error, compact(row))
                keys.append(None)
        batch.keys = ValueBatch(self._key_schema, keys)
        return [errant.get(n, record) for n, record in enumerate(batch)] if errant else batch

    def _key(self, row: Any) -> Any:
        texts = [_text_at(pointer, row) for pointer in self._keys]
        return texts[0] if len(texts) == 1 else dict(zip((p.name for p in self._keys), texts, strict=True))


def _text_at(pointer: JsonPointer, row: Any) -> str | None:
    value = pointer.get(row)
    if isinstance(value, dict | list):
        raise DataError(f"{KEY} does not point to a text or number in a record")
    return None if value is None else as_text(value)


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
