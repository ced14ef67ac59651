"""Single records as columns, for transformations of batches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Sized
from typing import TypeVar

from runtime.api.data.columns import Column, ConstantColumn, Derived, MixedBatchError, ValueBatch, constant_if_equal
from runtime.api.data.record import Headers, SinkRecord, SourceRecord


class WithTopics(Sized):
    """The part of BatchMetadata that is about topics."""

    _topics: Column

    @property
    def topic(self) -> str:
        """The topic of all records; MixedBatchError if their topics differ."""
        if type(self._topics) is not ConstantColumn:
            raise MixedBatchError
        topic: str = self._topics.value
        return topic

    @topic.setter
    def topic(self, topic: str) -> None:
        self._topics = ConstantColumn(topic, len(self))

    def topics(self) -> Column:
        """The topic of each record."""
        return self._topics

    def route(self, topics: Column) -> None:
        """Sets the topic of each record."""
        self._topics = topics


RecordT = TypeVar("RecordT", SourceRecord, SinkRecord)


class ColumnsOfRecords(WithTopics):
    """The metadata (BatchMetadata) and `values` of records of one kind (see kind_of())."""

    def __init__(self, records: Sequence[SourceRecord] | Sequence[SinkRecord]) -> None:
        first = records[0]
        self._records = records
        self.values = ValueBatch(first.value_schema, [record.value for record in records])
        self.keys = ValueBatch(first.key_schema, constant_if_equal([record.key for record in records]))
        self.headers: Sequence[Headers | None] = [record.headers for record in records]
        self._topics = constant_if_equal([record.topic for record in records])

    def __len__(self) -> int:
        return len(self._records)

    def partitions(self) -> Column:
        """The Kafka partition of each record; None where it has not been chosen yet."""
        return [record.kafka_partition for record in self._records]

    def offsets(self) -> Column:
        """The offset of each record read from Kafka; MixedBatchError for records from a source."""
        return [_offset(record) for record in self._records]

    def timestamps(self) -> Column:
        """Milliseconds since 1970 for each record; None for a record without a timestamp."""
        return [record.timestamp for record in self._records]


def kind_of(record: SourceRecord | SinkRecord) -> Hashable:
    """Equal for records that can be columns together: with the same schemas, without schema with the same keys."""
    value = record.value
    keys = tuple(value) if record.value_schema is None and isinstance(value, dict) else type(value)
    return id(record.value_schema), id(record.key_schema), record.key is None, keys


def made_from(records: Sequence[RecordT], derived: Derived) -> Iterable[tuple[int, RecordT]]:
    """The derived records, each with the index of the one from which it was made."""
    values, keys = derived.values, derived.keys
    schema, rows = values.schema, values.rows
    for number, place in enumerate(derived.places):
        record = records[place].copy()
        record.value_schema, record.value = schema, rows[number]
        if keys is not None:
            record.key_schema, record.key = keys.schema, keys.rows[number]
        if derived.topics is not None:
            record.topic = derived.topics[number]
        if derived.times is not None:
            record.timestamp = derived.times[number]
        if derived.headers is not None:
            record.headers = derived.headers[number]
        yield place, record


def _offset(record: SourceRecord | SinkRecord) -> int:
    if not isinstance(record, SinkRecord):
        raise MixedBatchError
    return record.original_kafka_offset
