"""Source records to Kafka messages, a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.pipeline.tolerance import Stage, Tolerance

if TYPE_CHECKING:
    from runtime.api.converter import Converter, HeaderConverter
    from runtime.api.record import Headers, SourceRecord
    from runtime.pipeline.offsets import CommittedOffsets


@dataclass(slots=True)
class Run:
    """Consecutive messages for one topic that go the same way: as a batch, or each by itself since it has headers or
    a timestamp."""

    topic: str
    single: bool
    messages: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Batch:
    """What is to be sent, in order; which offsets that brings; and why it ends before the last record, if it does."""

    runs: list[Run] = field(default_factory=list)
    offsets: dict[bytes, Mapping[str, Any] | None] = field(default_factory=dict)
    error: Exception | None = None


class SourceConversion:
    """The converters of a source task, bound once."""

    def __init__(
        self,
        key: Converter,
        value: Converter,
        header: HeaderConverter,
        offsets: CommittedOffsets,
        tolerance: Tolerance,
    ) -> None:
        self._key, self._value, self._header = key, value, header
        self._offsets = offsets
        self._tolerance = tolerance

    def convert(self, records: Sequence[SourceRecord]) -> Batch:
        """All records, or those before the first that fails the task. Skipped records keep their offsets' place."""
        batch = Batch()
        offsets = batch.offsets
        key_of, value_of, place = self._key.from_connect, self._value.from_connect, self._offsets.key
        topic, run, append = "", Run("", False), None
        partition: Any = self  # no record's partition
        offset: Mapping[str, Any] | None = None
        stage = Stage.KEY_CONVERTER
        for record in records:
            try:
                stage = Stage.KEY_CONVERTER
                key = record.key
                if key is not None or record.key_schema is not None:
                    key = key_of(record.topic, record.key_schema, key)
                stage = Stage.VALUE_CONVERTER
                message: dict[str, Any] = {"value": value_of(record.topic, record.value_schema, record.value)}
                headers = record.headers
                if headers:
                    stage = Stage.HEADER_CONVERTER
                    message["headers"] = self._headers(record.topic, headers)
            except Exception as error:
                batch.error = self._failed(stage, error, record)
                if batch.error is not None:
                    break
            else:
                if key is not None:
                    message["key"] = key
                single = bool(headers)
                if record.timestamp is not None:
                    message["timestamp"] = record.timestamp
                    single = True
                if record.kafka_partition is not None:
                    message["partition"] = record.kafka_partition
                if append is None or record.topic != topic or single is not run.single:
                    topic = record.topic
                    run = Run(topic, single)
                    batch.runs.append(run)
                    append = run.messages.append
                append(message)
            if record.source_partition is not partition:
                if partition is not self:
                    offsets[place(partition)] = offset
                partition = record.source_partition
            offset = record.source_offset
        if partition is not self:
            offsets[place(partition)] = offset
        return batch

    def _headers(self, topic: str, headers: Headers) -> list[tuple[str, bytes | None]]:
        convert = self._header.from_connect_header
        return [(name, convert(topic, name, schema, value)) for name, schema, value in headers]

    def _failed(self, stage: Stage, error: Exception, record: SourceRecord) -> Exception | None:
        plugins = {Stage.KEY_CONVERTER: self._key, Stage.VALUE_CONVERTER: self._value}
        where = f"where source record is = {record.source_partition} at {record.source_offset}"
        try:
            self._tolerance.failed(stage, plugins.get(stage, self._header), error, where)
        except Exception as failure:
            return failure
        return None
