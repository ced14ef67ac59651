"""Converts batches of Kafka messages to sink records."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.data.batch import SinkBatch
from runtime.api.data.record import SinkRecord, TopicPartition, stamp_of
from runtime.pipeline.sink.sink_batches import (
    MIN_AVERAGE,
    SinkBatches,
    batches_of,
    connect_headers,
    has_header,
    in_order,
    schema_headers,
)
from runtime.pipeline.task.failure import Failure, Stage
from runtime.pipeline.tolerance import Tolerance, plugin_name

if TYPE_CHECKING:
    from confluent_kafka import Message

    from runtime.api.converter import Converter, RawHeaders
    from runtime.api.data.schema import Schema
    from runtime.pipeline.chain.chain import Chain
    from runtime.pipeline.load import Converters

Positions = dict[TopicPartition, int]
"""The next offset to be read, by partition."""


class SinkConversion:
    """The converters and transformations of a sink task, bound once."""

    def __init__(
        self, converters: Converters, chain: Chain, tolerance: Tolerance, min_average: int = MIN_AVERAGE
    ) -> None:
        self._key, self._value, self._header = converters
        self._uses_headers = self._key.uses_headers or self._value.uses_headers
        self._schema_headers = schema_headers(self._key, self._value)
        self._chain = chain
        self._tolerance = tolerance
        self._batches = SinkBatches(converters, chain.takes_batches, tolerance.fallbacks, min_average)
        self._min_average = min_average
        self._regroups = len(chain) > 1 and chain.takes_batches  # records that were converted one by one

    def convert(
        self, messages: Sequence[Any], assigned: Container[TopicPartition]
    ) -> tuple[SinkBatch | list[SinkRecord], Positions]:
        """Records for the task, and the positions after the messages (including skipped and dropped ones). Raises the
        error that fails the task."""
        try:
            return self.convert_ahead(messages, assigned)
        finally:
            self._tolerance.release(messages)

    def convert_ahead(
        self, messages: Sequence[Any], assigned: Container[TopicPartition]
    ) -> tuple[SinkBatch | list[SinkRecord], Positions]:
        """As convert(), but failed records are not reported before Tolerance.release()."""
        batches = self._batches.of(messages)
        positions = {} if batches is None else _positions_after(batches)
        if batches is not None and all(tp in assigned for tp in positions):
            return self._transformed_batches(batches), positions
        records, positions = self._records(messages, assigned)
        batches = batches_of(records, self._min_average) if self._regroups and records else None
        if batches is not None:
            return self._transformed_batches(batches), positions
        return self._transformed(records), positions

    def _transformed_batches(self, batches: Sequence[SinkBatch]) -> SinkBatch | list[SinkRecord]:
        left, done = self._chain.run_batches(batches)
        if len(left) == 1 and done == len(self._chain):
            return left[0]
        records = in_order(left)
        return records if done == len(self._chain) else self._transformed(records, done)

    def _records(
        self, messages: Sequence[Any], assigned: Container[TopicPartition]
    ) -> tuple[list[SinkRecord], Positions]:
        """Records, and the positions after them (including skipped ones). Raises the error that fails the task.
        Messages of partitions that are no longer assigned are omitted: another task reads them."""
        records: list[SinkRecord] = []
        positions: Positions = {}
        append = records.append
        to_key, to_value = self._key.to_connect, self._value.to_connect
        topic, partition, offset = "", -1, -1
        tp: TopicPartition | None = None
        at = [Stage.KEY_CONVERTER]
        for message in messages:
            if message.partition() != partition or message.topic() != topic:
                if tp is not None:
                    positions[tp] = offset + 1
                topic, partition = message.topic(), message.partition()
                tp = TopicPartition(topic, partition)
                if tp not in assigned:
                    tp = None
                null_key = to_key(topic, None)
            if tp is None:
                continue
            offset = message.offset()
            raw = message.key()
            try:
                if self._uses_headers or (self._schema_headers and has_header(message.headers(), self._schema_headers)):
                    append(self._record(message, at))
                    continue
                at[0] = Stage.KEY_CONVERTER
                key_schema, key = null_key if raw is None else to_key(topic, raw)
                at[0] = Stage.VALUE_CONVERTER
                value_schema, value = to_value(topic, message.value())
                headers = message.headers()
                if headers:
                    at[0] = Stage.HEADER_CONVERTER
                    headers = connect_headers(self._header, topic, headers)
            except Exception as error:  # third-party code
                fixed = self._retried(at[0], error, message)
                if fixed is not None:
                    append(fixed)
                continue
            kind, timestamp = message.timestamp()
            append(
                SinkRecord(
                    topic,
                    partition,
                    key_schema,
                    key,
                    value_schema,
                    value,
                    offset,
                    stamp_of(timestamp),
                    kind - 1,
                    headers,
                    message,
                )
            )
        if tp is not None:
            positions[tp] = offset + 1
        return records, positions

    def _transformed(self, records: list[SinkRecord], first: int = 0) -> list[SinkRecord]:
        if not self._chain or not records:
            return records
        outcome = self._chain.run(records, first)
        if outcome.error is not None:
            raise outcome.error
        return outcome.records  # type: ignore[return-value]  # a chain keeps the kind

    def _retried(self, stage: Stage, error: Exception, message: Message) -> SinkRecord | None:
        """Retry the conversion of a message; None if the message is skipped. Raises the error that fails the task."""
        at = [stage]
        try:
            return self._tolerance.retry(error, lambda: self._record(message, at), stage)
        except Exception as last:  # third-party code
            plugins = {Stage.KEY_CONVERTER: self._key, Stage.VALUE_CONVERTER: self._value}
            name = plugin_name(plugins.get(at[0], self._header))
            self._tolerance.failed(Failure(at[0], name, last, message, message_place(message)))
            return None

    def _record(self, message: Any, at: list[Stage]) -> SinkRecord:
        """Convert one message; `at` is set to the current stage."""
        topic, headers = message.topic(), message.headers() or []
        at[0] = Stage.KEY_CONVERTER
        key_schema, key = _to_connect(self._key, topic, headers, message.key())
        at[0] = Stage.VALUE_CONVERTER
        value_schema, value = _to_connect(self._value, topic, headers, message.value())
        at[0] = Stage.HEADER_CONVERTER
        converted = connect_headers(self._header, topic, headers) if headers else None
        kind, timestamp = message.timestamp()
        return SinkRecord(
            topic, message.partition(), key_schema, key, value_schema, value, message.offset(), stamp_of(timestamp),
            kind - 1, converted, message,
        )  # fmt: skip


def _to_connect(converter: Converter, topic: str, headers: RawHeaders, data: bytes | None) -> tuple[Schema | None, Any]:
    if converter.uses_headers or converter.schema_header is not None:
        return converter.to_connect_with_headers(topic, headers, data)
    return converter.to_connect(topic, data)


def _positions_after(batches: Sequence[SinkBatch]) -> Positions:
    """The position after the last message of each partition."""
    after: Positions = {}
    for batch in batches:
        for number, offset in batch.last_offsets().items():
            tp = TopicPartition(batch.topic, number)
            after[tp] = max(after.get(tp, 0), offset + 1)
    return after


def message_place(message: Message) -> str:
    """The description of a message's position, worded as in Connect."""
    return (
        f"where consumed record is {{topic='{message.topic()}', partition={message.partition()}, "
        f"offset={message.offset()}, timestamp={message.timestamp()[1]}}}"
    )


def sink_place(record: Any) -> tuple[Any, str]:
    """The message of a sink record, and the description of its position."""
    return record.source, message_place(record.source)
