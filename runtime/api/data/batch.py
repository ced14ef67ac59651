"""Batches of records that are alike: sequences whose records are made only when somebody looks at them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar, overload

from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError, ValueBatch
from runtime.api.data.record import Headers, SinkRecord, SourceRecord

R = TypeVar("R", SourceRecord, SinkRecord)


class _Batch(Sequence[R], Generic[R]):
    """A sequence of records over their values."""

    values: ValueBatch
    keys: ValueBatch
    headers: Sequence[Headers | None]
    places: Sequence[int] = ()
    """Where its records are among those that it is only a part of."""
    _records: list[R] | None = None
    _topics: Column

    @property
    def topic(self) -> str:
        """The topic of all records; Mixed if their topics differ."""
        if type(self._topics) is not ConstantColumn:
            raise MixedBatchError
        topic: str = self._topics.value
        return topic

    @topic.setter
    def topic(self, topic: str) -> None:
        self._topics = ConstantColumn(topic, len(self))

    def topics(self) -> Column:
        return self._topics

    def route(self, topics: Column) -> None:
        """Each record goes to a topic of its own."""
        self._topics = topics

    def copy(self) -> Self:
        """Another one with the same parts, to be changed."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _records=None)
        return made

    @property
    def records(self) -> list[R]:
        """Its records, each made once."""
        if self._records is None:
            self._records = self._made()
        return self._records

    @abstractmethod
    def _made(self) -> list[R]: ...

    def __len__(self) -> int:
        return self.values.count

    def __iter__(self) -> Iterator[R]:
        return iter(self.records)

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> list[R]: ...

    def __getitem__(self, index: int | slice) -> R | list[R]:
        return self.records[index]

    def __eq__(self, other: object) -> bool:
        return self.records == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class SourceBatch(_Batch[SourceRecord]):
    """Records of one source partition for one topic, without keys and headers unless some are put in. `offset_of` gives
    what was read up to the n-th (from 0); `timestamp` is that of all."""

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
        """Whether the records have got keys, or null keys of some schema."""
        return self.keys.schema is not None or self.keys.all_null is not True

    def _made(self) -> list[SourceRecord]:
        partition, offset_of = self.source_partition, self.offset_of
        schema, key_schema = self.values.schema, self.keys.schema
        return [
            SourceRecord(partition, offset_of(n), topic, value, schema, key, key_schema, None, time, headers)
            for n, (topic, value, key, time, headers) in enumerate(
                zip(self._topics, self.values.rows, self.keys.rows, self.times, _one_each(self.headers), strict=True)
            )
        ]

    def partitions(self) -> Column:
        return ConstantColumn(None, len(self))

    def offsets(self) -> Column:
        raise MixedBatchError

    def timestamps(self) -> Column:
        return self.times


class SinkBatch(_Batch[SinkRecord]):
    """Records of one topic, as the Kafka client's messages brought them."""

    def __init__(
        self,
        topic: str,
        messages: Sequence[Any],
        keys: ValueBatch,
        values: ValueBatch,
        headers: Sequence[Headers | None],
    ) -> None:
        self.messages, self.keys, self.values, self.headers = messages, keys, values, headers
        self.topic = topic

    def _made(self) -> list[SinkRecord]:
        key_schema, value_schema = self.keys.schema, self.values.schema
        return [
            SinkRecord(
                topic, message.partition(), key_schema, key, value_schema, value, message.offset(), time, kind - 1,
                headers, message,
            )
            for topic, message, key, value, headers in zip(
                self._topics, self.messages, self.keys.rows, self.values.rows, _one_each(self.headers), strict=True
            )
            for kind, time in (message.timestamp(),)
        ]  # fmt: skip

    def partitions(self) -> Column:
        return [message.partition() for message in self.messages]

    def offsets(self) -> Column:
        return [message.offset() for message in self.messages]

    def timestamps(self) -> Column:
        return [message.timestamp()[1] for message in self.messages]


def _one_each(headers: Sequence[Headers | None]) -> Sequence[Headers | None]:
    """Tasks may change the headers of one record: it is not to be those of all."""
    if type(headers) is ConstantColumn and headers.value is not None:
        return [list(headers.value) for _ in headers]
    return headers
