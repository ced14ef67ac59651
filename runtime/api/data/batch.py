"""Batches of records whose values share a schema: sequences that create their records on first access."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, Generic, Self, TypeVar, overload

from runtime.api.data.columns import (
    Column,
    ConstantColumn,
    Derived,
    MixedBatchError,
    ValueBatch,
    column_at,
    constant_if_equal,
    selected,
)
from runtime.api.data.record import Headers, SinkRecord, SourceRecord, stamp_of
from runtime.api.data.record_columns import WithTopics

RecordT = TypeVar("RecordT", SourceRecord, SinkRecord)


class _Batch(WithTopics, Sequence[RecordT], Generic[RecordT]):
    """A sequence of records, created on first access, and their values, keys and headers as columns."""

    values: ValueBatch
    keys: ValueBatch
    headers: Sequence[Headers | None]
    places: Sequence[int] = ()
    """Indices of the records in the batch that was split or from which this one was derived; empty for others."""
    _records: list[RecordT] | None = None

    def copy(self) -> Self:
        """A shallow copy, whose attributes may be assigned."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _records=None)
        return made

    def derive(self, derived: Derived) -> Self:
        """The records that were made from those of this batch."""
        made, places = self.copy(), derived.places
        made.places = column_at(self.places, places) if len(self.places) else places
        made.values = derived.values
        made.keys = _keys_at(self.keys, places) if derived.keys is None else derived.keys
        made.headers = column_at(self.headers, places) if derived.headers is None else derived.headers
        made._topics = column_at(self._topics, places) if derived.topics is None else derived.topics
        made._move(self, places, derived.times)
        return made

    @abstractmethod
    def _move(self, batch: Self, places: Sequence[int], times: Column | None) -> None:
        """Take the positions of the records of a batch at these indices, and their times unless there are others."""

    @property
    def records(self) -> list[RecordT]:
        """The records, created on first access."""
        if self._records is None:
            self._records = self._made()
        return self._records

    @abstractmethod
    def _made(self) -> list[RecordT]: ...

    def __len__(self) -> int:
        return self.values.count

    def __iter__(self) -> Iterator[RecordT]:
        return iter(self.records)

    @overload
    def __getitem__(self, index: int) -> RecordT: ...

    @overload
    def __getitem__(self, index: slice) -> list[RecordT]: ...

    def __getitem__(self, index: int | slice) -> RecordT | list[RecordT]:
        return self.records[index]

    def __eq__(self, other: object) -> bool:
        return self.records == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as Python does for classes with __eq__


class SourceBatch(_Batch[SourceRecord]):
    """Records of one source partition for one topic; SourceTask.poll() may return it.

    `offset_of(n)` returns the source offset of the n-th record, counted from 0: the position from which to resume after
    it. `timestamp` is common to all records (milliseconds since 1970; None: the time of sending). Assign `keys` and
    `headers` to records that have them."""

    def __init__(
        self,
        source_partition: Mapping[str, Any] | None,
        offset_of: Callable[[int], Mapping[str, Any] | None],
        topic: str,
        values: ValueBatch,
        timestamp: int | None = None,
    ) -> None:
        self.source_partition, self.offset_of = source_partition, offset_of
        self.values = values
        self.topic = topic
        self.times: Column = ConstantColumn(timestamp, values.count)
        self.keys = ValueBatch(None, ConstantColumn(None, values.count))
        self.headers: Sequence[Headers | None] = ConstantColumn(None, values.count)

    @property
    def keyed(self) -> bool:
        """Whether the records have keys, or null keys with a schema."""
        return self.keys.schema is not None or self.keys.all_null is not True

    def _made(self) -> list[SourceRecord]:
        partition, offset_of = self.source_partition, self.offset_of
        schema, key_schema = self.values.schema, self.keys.schema
        return [
            SourceRecord(partition, offset_of(n), topic, value, schema, key, key_schema, None, time, headers)
            for n, (topic, value, key, time, headers) in enumerate(
                zip(self._topics, self.values.rows, self.keys.rows, self.times, one_each(self.headers), strict=True)
            )
        ]

    def _move(self, batch: SourceBatch, places: Sequence[int], times: Column | None) -> None:
        offset_of = batch.offset_of
        self.offset_of = lambda n: offset_of(places[n])
        self.times = column_at(batch.times, places) if times is None else times

    def partitions(self) -> Column:
        """None for each record: the partitioner chooses the Kafka partition."""
        return ConstantColumn(None, len(self))

    def offsets(self) -> Column:
        """Raises MixedBatchError: records from a source have no Kafka offset yet."""
        raise MixedBatchError

    def timestamps(self) -> Column:
        """The timestamp of each record, in milliseconds since 1970."""
        return self.times


class SinkBatch(_Batch[SinkRecord]):
    """Records of one topic, for SinkTask.put() of tasks with `takes_batches`; `messages` are the Kafka client's."""

    def __init__(
        self,
        topic: str,
        messages: Sequence[Any],
        keys: ValueBatch,
        values: ValueBatch,
        headers: Sequence[Headers | None],
    ) -> None:
        # Released in this order: contents that are released after their messages scatter the memory of later ones.
        self.keys, self.values, self.headers, self.messages = keys, values, headers, messages
        self.topic = topic

    @property
    def messages(self) -> Sequence[Any]:
        """The message of each record."""
        return self._read.messages

    @messages.setter
    def messages(self, messages: Sequence[Any]) -> None:
        self._read = _MessageColumns(messages)

    def _made(self) -> list[SinkRecord]:
        key_schema, value_schema = self.keys.schema, self.values.schema
        return [
            SinkRecord(
                topic, partition, key_schema, key, value_schema, value, offset, time, kind, headers, message
            )
            for topic, message, partition, key, value, offset, time, kind, headers in zip(
                self._topics, self.messages, self.partitions(), self.keys.rows, self.values.rows, self.offsets(),
                self.timestamps(), self.timestamp_types(), one_each(self.headers), strict=True
            )
        ]  # fmt: skip

    def _move(self, batch: SinkBatch, places: Sequence[int], times: Column | None) -> None:
        self._read = _MessageColumns(column_at(batch.messages, places), times)

    def partitions(self) -> Column:
        """The Kafka partition of each record."""
        return self._read.partitions

    def offsets(self) -> Column:
        """The Kafka offset of each record."""
        return self._read.offsets

    def timestamps(self) -> Column:
        """The timestamp of each record, in milliseconds since 1970; None for a message without one."""
        return self._read.timestamps[1]

    def last_offsets(self) -> dict[int, int]:
        """The Kafka offset of the last record of each partition."""
        partitions = self.partitions()
        if type(partitions) is ConstantColumn:
            return {partitions.value: self.messages[-1].offset()}
        last = dict(zip(partitions, self.messages, strict=True))
        return {partition: message.offset() for partition, message in last.items()}

    def timestamp_types(self) -> Column:
        """The timestamp type of each record, as in SinkRecord."""
        return self._read.timestamps[0]


class _MessageColumns:
    """The metadata of messages, each column read once. `times`: instead of those of the messages."""

    def __init__(self, messages: Sequence[Any], times: Column | None = None) -> None:
        self.messages, self._times = messages, times

    @cached_property
    def partitions(self) -> Column:
        return constant_if_equal([message.partition() for message in self.messages])

    @cached_property
    def offsets(self) -> Column:
        return [message.offset() for message in self.messages]

    @cached_property
    def timestamps(self) -> tuple[Column, Column]:
        """Types and times."""
        timestamps = [message.timestamp() for message in self.messages]
        kinds = dict(timestamps)
        types = (
            [kind - 1 for kind, _ in timestamps]
            if len(kinds) > 1
            else ConstantColumn(timestamps[0][0] - 1, len(timestamps))
        )
        if self._times is not None:
            return types, self._times
        times = list(map(itemgetter(1), timestamps))
        return types, list(map(stamp_of, times)) if -1 in times else times


def _keys_at(keys: ValueBatch, places: Sequence[int]) -> ValueBatch:
    return keys if isinstance(places, range) and len(places) == keys.count else selected(keys, places)


def one_each(headers: Sequence[Headers | None]) -> Sequence[Headers | None]:
    """Copies headers that all records share, since a task may change those of one record."""
    if type(headers) is ConstantColumn and headers.value is not None:
        return [list(headers.value) for _ in headers]
    return headers
