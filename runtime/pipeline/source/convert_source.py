"""Converts batches of source records to Kafka messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError, ValueBatch, batch_method
from runtime.api.data.record import ErrantSourceRecord
from runtime.pipeline.chain.chain import Chain, index_of
from runtime.pipeline.produce.message_columns import MessageColumns
from runtime.pipeline.source.errant import fail_errant, is_errant
from runtime.pipeline.source.message_batch import MessageBatch, MessageRun
from runtime.pipeline.task.async_adapter import implements
from runtime.pipeline.task.failure import Failure, Stage
from runtime.pipeline.tolerance import Tolerance, plugin_name

if TYPE_CHECKING:
    from runtime.api.converter import Converter, RawHeaders
    from runtime.api.data.record import Headers, SourceRecord
    from runtime.api.data.schema import Schema
    from runtime.api.task import SourceTask
    from runtime.pipeline.chain.step import ChainResult
    from runtime.pipeline.load import Converters
    from runtime.pipeline.source.source_offsets import CommittedOffsets


class SourceConversion:
    """The transformations and converters of a source task, bound once."""

    def __init__(
        self, chain: Chain, converters: Converters, offsets: CommittedOffsets, tolerance: Tolerance, task: SourceTask
    ) -> None:
        self._traces, self._task = implements(task, "commit_record"), plugin_name(task)
        self._chain, self._reused = chain, task.reuses_records or self._traces
        self._stamps = not (task.timestamps_are_now and chain.bundled)
        self._key, self._value, self._header = converters
        self._uses_headers = self._key.uses_headers or self._value.uses_headers
        self._offsets = offsets
        self._tolerance = tolerance
        self._values = batch_method(self._value, "from_connect", "from_connect_batch")
        if self._uses_headers:
            self._values = None
        self._keys = batch_method(self._key, "from_connect", "from_connect_batch")

    def convert(self, records: Sequence[SourceRecord]) -> MessageBatch:
        """Messages of all records, or of those before the first that fails the task. The offsets include skipped and
        dropped records."""
        if isinstance(records, SourceBatch) or ErrantSourceRecord not in map(type, records):
            return self._convert_read(records)
        batch = MessageBatch()
        for errant, group in groupby(records, is_errant):
            part = list(group)
            batch.extend(self._skip_errant(part) if errant else self._convert_read(part))
            if batch.error is not None:
                break
        return batch

    def _skip_errant(self, records: Sequence[SourceRecord]) -> MessageBatch:
        batch, skipped = fail_errant(records, self._task, self._tolerance)
        batch.offsets = self._newest(records[:skipped])
        return batch

    def _convert_read(self, records: Sequence[SourceRecord]) -> MessageBatch:
        """As convert(), without errant records."""
        done, polled = 0, records
        places: Sequence[int] = range(len(records))
        if self._values is not None and (uniform := as_batch(records)) is not None:
            left, done = self._chain.run_batches([uniform])
            runs = self._batch_runs(left) if done == len(self._chain) else None
            if runs is not None:
                offsets = {self._offsets.key(uniform.source_partition): uniform.offset_of(len(uniform) - 1)}
                batch = MessageBatch(runs, offsets)
                if self._traces:
                    batch.attribute(polled, _places_of(left[0]) if runs else (), len(polled))
                return batch
            if done:
                records, places = left[0].records, _places_of(left[0])
        try:
            return self._convert(records, done, polled, places)
        finally:
            self._tolerance.release(records)

    def _batch_runs(self, batches: Sequence[SourceBatch]) -> list[MessageRun] | None:
        """Messages of the batch, or none if all were dropped; None if the records must be converted one by one."""
        if not batches:
            return []
        (batch,) = batches
        try:
            keys = self._keys(batch.topic, batch.keys) if batch.keyed and self._keys is not None else None
            values = self._values(batch.topic, batch.values)
            headers = self._batch_headers(batch)
        except MixedBatchError:
            return None
        except Exception as error:  # processed again record by record, so that only the record at fault fails
            self._tolerance.fallbacks.count("converter", error)
            return None
        if values is None or (keys is None and batch.keyed):
            return None
        times = _stamps(batch.times) if self._stamps else None
        columns = MessageColumns(values, keys, times, headers)
        content = _bytes_of(values) + _bytes_of(keys) + _bytes_of_headers(headers)
        return [MessageRun(batch.topic, columns, not columns.plain, content)]

    def _batch_headers(self, batch: SourceBatch) -> Column:
        """The headers of each message; None for messages without headers."""
        topic, headers = batch.topic, batch.headers
        if type(headers) is ConstantColumn:
            return ConstantColumn(self._headers(topic, headers.value) if headers.value else None, len(batch))
        return [self._headers(topic, own) if own else None for own in headers]

    def _convert(
        self, records: Sequence[SourceRecord], first: int, polled: Sequence[SourceRecord], places: Sequence[int]
    ) -> MessageBatch:
        """As convert(), but record by record, through the steps from `first` on. `polled`: the records before the
        steps that have been done; `places`: for each record the index of the polled one from which it was made."""
        copies = list(records)
        if first < len(self._chain) and self._reused:
            copies = [record.copy() for record in records]
        outcome = self._chain.run(copies, first)
        origins = _Origins(copies, places, outcome)
        last: Sequence[SourceRecord] = outcome.records  # type: ignore[assignment]  # a chain keeps the kind
        if outcome.failed is not None:
            last = origins.before(last, outcome.failed)
        kept: list[SourceRecord] | None = [] if self._traces else None
        batch, failed = self._messages(last, kept)
        if failed is not None and len(whole := origins.before(last, failed)) < index_of(last, failed):
            error, kept = batch.error, [] if self._traces else None
            batch, _ = self._messages(whole, kept)  # without the other messages of the record that has failed
            batch.error = error
        if failed is None and outcome.error is not None:
            batch.error, failed = outcome.error, outcome.failed
        end = len(polled) if failed is None else origins.place(failed)
        batch.offsets = self._newest(polled[:end])
        if kept is not None:
            batch.attribute(polled, list(map(origins.place, kept)), end)
        return batch

    def _messages(self, records: Sequence[SourceRecord], kept: list[SourceRecord] | None) -> tuple[MessageBatch, Any]:
        """Messages of all records, or of those before the record that fails the task, and that record. The records of
        the messages are added to `kept`."""
        batch = MessageBatch()
        key_of, value_of, stamps = self._key.from_connect, self._value.from_connect, self._stamps
        topic, run, append = "", MessageRun(""), None
        at = [Stage.KEY_CONVERTER]
        message: dict[str, Any]
        for record in records:
            try:
                if self._uses_headers:
                    message = self._message(record, at)
                    headers: Any = message.get("headers")
                else:
                    headers = record.headers
                    if headers:
                        at[0] = Stage.HEADER_CONVERTER
                        headers = self._headers(record.topic, headers)
                    at[0] = Stage.KEY_CONVERTER
                    key = record.key
                    if key is not None or record.key_schema is not None:
                        key = key_of(record.topic, record.key_schema, key)
                    at[0] = Stage.VALUE_CONVERTER
                    message = {"value": value_of(record.topic, record.value_schema, record.value)}
                    if headers:
                        message["headers"] = headers
                    if key is not None:
                        message["key"] = key
            except Exception as error:  # third-party code
                try:
                    fixed = self._retried(at[0], error, record)
                except Exception as end:  # third-party code
                    batch.error = end
                    return batch, record
                if fixed is None:
                    continue
                message, headers = fixed, fixed.get("headers")
            unreported = bool(headers)
            if stamps and record.timestamp is not None and record.timestamp != -1:
                message["timestamp"] = record.timestamp
                unreported = True
            if record.kafka_partition is not None:
                message["partition"] = record.kafka_partition
            if append is None or record.topic != topic or unreported is not run.unreported:
                topic = record.topic
                messages: list[dict[str, Any]] = []
                run = MessageRun(topic, messages, unreported)
                batch.runs.append(run)
                append = messages.append
            append(message)
            if kept is not None:
                kept.append(record)
        return batch, None

    def _newest(self, records: Sequence[SourceRecord]) -> dict[bytes, Mapping[str, Any] | None]:
        """The last offset of each source partition."""
        newest: dict[bytes, Mapping[str, Any] | None] = {}
        if not records:
            return newest
        place = self._offsets.key
        last = records[0]
        for record in records:
            if record.source_partition is not last.source_partition:
                newest[place(last.source_partition)] = last.source_offset
            last = record
        newest[place(last.source_partition)] = last.source_offset
        return newest

    def _retried(self, stage: Stage, error: Exception, record: SourceRecord) -> dict[str, Any] | None:
        """Retry the conversion of a record; None if the record is skipped. Raises the error that fails the task."""
        at = [stage]
        try:
            return self._tolerance.retry(error, lambda: self._message(record, at), stage)
        except Exception as last:  # third-party code
            plugins = {Stage.KEY_CONVERTER: self._key, Stage.VALUE_CONVERTER: self._value}
            name = plugin_name(plugins.get(at[0], self._header))
            self._tolerance.failed(Failure(at[0], name, last, record, source_place(record)[1]))
            return None

    def _message(self, record: SourceRecord, at: list[Stage]) -> dict[str, Any]:
        """Convert one record; `at` is set to the current stage."""
        message: dict[str, Any] = {}
        at[0] = Stage.HEADER_CONVERTER
        headers = self._headers(record.topic, record.headers) if record.headers else []
        at[0] = Stage.KEY_CONVERTER
        if record.key is not None or record.key_schema is not None:
            key = _from_connect(self._key, record.topic, headers, record.key_schema, record.key)
            if key is not None:
                message["key"] = key
        at[0] = Stage.VALUE_CONVERTER
        message["value"] = _from_connect(self._value, record.topic, headers, record.value_schema, record.value)
        if headers:
            message["headers"] = headers
        return message

    def _headers(self, topic: str, headers: Headers) -> list[tuple[str, bytes | None]]:
        convert = self._header.from_connect_header
        return [(name, convert(topic, name, schema, value)) for name, schema, value in headers]


def _from_connect(
    converter: Converter, topic: str, headers: RawHeaders, schema: Schema | None, value: Any
) -> bytes | None:
    if converter.uses_headers:
        return converter.from_connect_with_headers(topic, headers, schema, value)
    return converter.from_connect(topic, schema, value)


def source_place(record: Any) -> tuple[Any, str]:
    """A source record, and the description of its position, worded as in Connect."""
    return record, f"where source record is = {record.source_partition} at {record.source_offset}"


def _bytes_of(column: Column | None) -> int:
    if column is None or type(column) is ConstantColumn:
        return len(column) * len(column.value or b"") if column is not None else 0
    try:
        return sum(map(len, column))
    except TypeError:  # null
        return sum(map(len, filter(None, column)))


def _bytes_of_headers(column: Column) -> int:
    if type(column) is ConstantColumn:
        return len(column) * _bytes_of_headers([column.value]) if column.value else 0
    return sum([len(name) + len(value or b"") for headers in column if headers for name, value in headers])


def as_batch(records: Sequence[SourceRecord]) -> SourceBatch | None:
    """The records as a batch, if they share source partition, topic and schemas; otherwise None."""
    if isinstance(records, SourceBatch):
        return records if len(records) else None
    if not records:
        return None
    first = records[0]
    partition, topic, schema, key_schema = first.source_partition, first.topic, first.value_schema, first.key_schema
    for record in records:
        if (
            record.value_schema is not schema
            or record.topic != topic
            or record.source_partition is not partition
            or record.key_schema is not key_schema
            or record.kafka_partition is not None
        ):
            return None
    values = ValueBatch(schema, [record.value for record in records])
    batch = SourceBatch(partition, lambda n: records[n].source_offset, topic, values)
    batch.keys = ValueBatch(key_schema, _column([record.key for record in records]))
    batch.times = _column([record.timestamp for record in records])
    batch.headers = _column([record.headers or None for record in records])
    return batch


def _column(items: list[Any]) -> Column:
    """A column; a ConstantColumn if all items are None."""
    return ConstantColumn(None, len(items)) if items.count(None) == len(items) else items


def _stamps(times: Column) -> Column:
    """Timestamps; None instead of -1, as in Connect."""
    if type(times) is ConstantColumn:
        return ConstantColumn(None, len(times)) if times.value == -1 else times
    return [None if time == -1 else time for time in times] if -1 in times else times


class _Origins:
    """From which of the polled records those after a chain were made. `places`: the index of the polled record of each
    record before the chain."""

    def __init__(self, records: Sequence[SourceRecord], places: Sequence[int], outcome: ChainResult) -> None:
        self._records, self._places, self._outcome = records, places, outcome

    def place(self, record: Any) -> int:
        """The index of the polled record."""
        return self._index[id(self._outcome.origin(record))]

    def before(self, records: Sequence[SourceRecord], failed: Any) -> Sequence[SourceRecord]:
        """The records that were made from earlier polled records than `failed`: a record that is read again must not
        leave a part of its messages."""
        end, place = index_of(records, failed), self.place(failed)
        while end and self.place(records[end - 1]) == place:
            end -= 1
        return records[:end]

    @cached_property
    def _index(self) -> dict[int, int]:
        return {id(record): place for record, place in zip(self._records, self._places, strict=True)}


def _places_of(batch: SourceBatch) -> Sequence[int]:
    """For each record the index of the one from which it was made."""
    return batch.places if len(batch.places) else range(len(batch))
