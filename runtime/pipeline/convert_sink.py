"""Kafka messages to sink records, a batch at a time."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.record import Headers, SinkRecord, TopicPartition
from runtime.pipeline.tolerance import Stage, Tolerance

if TYPE_CHECKING:
    from confluent_kafka import Message

    from runtime.api.converter import Converter, HeaderConverter

Positions = dict[TopicPartition, int]
"""The next offset to be read, by partition."""


class SinkConversion:
    """The converters of a sink task, bound once."""

    def __init__(self, key: Converter, value: Converter, header: HeaderConverter, tolerance: Tolerance) -> None:
        self._key, self._value, self._header = key, value, header
        self._tolerance = tolerance

    def convert(
        self, messages: Sequence[Any], assigned: Container[TopicPartition]
    ) -> tuple[list[SinkRecord], Positions]:
        """Records, and the positions behind them (skipped ones included). Raises what the task fails with.
        Messages of partitions that are no longer assigned are left out: another task reads them."""
        records: list[SinkRecord] = []
        positions: Positions = {}
        append = records.append
        to_key, to_value = self._key.to_connect, self._value.to_connect
        topic, partition, offset = "", -1, -1
        tp: TopicPartition | None = None
        stage = Stage.KEY_CONVERTER
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
                stage = Stage.KEY_CONVERTER
                key_schema, key = null_key if raw is None else to_key(topic, raw)
                stage = Stage.VALUE_CONVERTER
                value_schema, value = to_value(topic, message.value())
                headers = message.headers()
                if headers:
                    stage = Stage.HEADER_CONVERTER
                    headers = self._headers(topic, headers)
            except Exception as error:
                self._failed(stage, error, message)
                continue
            kind, timestamp = message.timestamp()
            append(
                SinkRecord(topic, partition, key_schema, key, value_schema, value, offset, timestamp, kind - 1, headers)
            )
        if tp is not None:
            positions[tp] = offset + 1
        return records, positions

    def _headers(self, topic: str, headers: Sequence[tuple[str, bytes | None]]) -> Headers:
        convert = self._header.to_connect_header
        return [(name, *convert(topic, name, data)) for name, data in headers]

    def _failed(self, stage: Stage, error: Exception, message: Message) -> None:
        plugins = {Stage.KEY_CONVERTER: self._key, Stage.VALUE_CONVERTER: self._value}
        where = (
            f"where consumed record is {{topic='{message.topic()}', partition={message.partition()}, "
            f"offset={message.offset()}, timestamp={message.timestamp()[1]}}}"
        )
        self._tolerance.failed(stage, plugins.get(stage, self._header), error, where)
