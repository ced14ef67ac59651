"""Records of one partition of a topic, as columns: the unit in which the sink assigns records to files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.api.data.batch import SinkBatch
from runtime.api.data.columns import Column, ConstantColumn, ValueBatch, column_at, selected
from runtime.api.data.record import SinkRecord, TopicPartition


class Chunk:
    """Records with one schema, in the order of their offsets. `topic` is their topic after transformations."""

    __slots__ = ("_batch", "_offsets", "places", "tp", "values")

    def __init__(
        self,
        tp: TopicPartition,
        batch: Sequence[SinkRecord],
        offsets: Column,
        values: ValueBatch,
        places: Sequence[int],
    ) -> None:
        """`values` are those of the records of `batch` at `places`, `offsets` those of all records of `batch`."""
        self.tp, self._batch, self._offsets, self.values, self.places = tp, batch, offsets, values, places

    def __len__(self) -> int:
        return len(self.places)

    @property
    def topic(self) -> str:
        """The topic of the records, which transformations may have changed."""
        place = self.places[0]
        return str(self._batch.topics()[place] if isinstance(self._batch, SinkBatch) else self._batch[place].topic)

    def offset(self, index: int) -> int:
        """The offset of a record in its partition."""
        return int(self._offsets[self.places[index]])

    def first_at(self, offset: int) -> int:
        """The index of the first record with this offset or a greater one."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.offset(middle) < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def record(self, index: int) -> SinkRecord:
        """A single record."""
        return self._batch[self.places[index]]

    def timestamps(self) -> Column:
        """The timestamps of the records in milliseconds since 1970; None where there is none."""
        if isinstance(self._batch, SinkBatch):
            return column_at(self._batch.timestamps(), self.places)
        return [self._batch[place].timestamp for place in self.places]

    def keys(self) -> ValueBatch:
        """The keys of the records."""
        if isinstance(self._batch, SinkBatch):
            return selected(self._batch.keys, self.places)
        records = [self._batch[place] for place in self.places]
        return ValueBatch(records[0].key_schema, [record.key for record in records])

    def offsets(self) -> Column:
        """The offset of each record in its partition."""
        return column_at(self._offsets, self.places)

    def sizes(self) -> list[int]:
        """The bytes of the key and value of each record in Kafka."""
        if isinstance(self._batch, SinkBatch):
            return [_size(self._batch.messages[place]) for place in self.places]
        return [_size(self._batch[place].source) for place in self.places]

    def part(self, start: int, stop: int) -> Chunk:
        """The records from index `start` up to, but not including, `stop`."""
        if start == 0 and stop >= len(self):
            return self
        inside = range(start, min(stop, len(self)))
        return Chunk(self.tp, self._batch, self._offsets, selected(self.values, inside), self.places[start:stop])

    def only(self, indices: Sequence[int]) -> Chunk:
        """The records at these indices."""
        places = [self.places[index] for index in indices]
        return Chunk(self.tp, self._batch, self._offsets, selected(self.values, indices), places)


def _size(message: Any) -> int:
    if message is None:  # a record without a message from Kafka has no size
        return 0
    return len(message.value() or b"") + len(message.key() or b"")


def chunks(records: Sequence[SinkRecord]) -> Iterator[Chunk]:
    """All records with a value, divided by partition, topic and schema; the records of a partition stay in order."""
    if isinstance(records, SinkBatch):
        yield from _of_batch(records)
    else:
        yield from _of_records(records, with_nulls=False)


def chunks_with_nulls(records: Sequence[SinkRecord]) -> Iterator[Chunk]:
    """As chunks(), and the records without a value in chunks of their own, out of order."""
    if not isinstance(records, SinkBatch):
        yield from _of_records(records, with_nulls=True)
        return
    yield from _of_batch(records)
    nulls: dict[TopicPartition, list[int]] = defaultdict(list)
    if not len(records) or _no_nulls(records.values):
        return
    topic, partitions = records.messages[0].topic(), records.partitions()
    for place, value in enumerate(records.values.rows):
        if value is None:
            nulls[TopicPartition(topic, partitions[place])].append(place)
    for tp, places in nulls.items():
        yield Chunk(tp, records, records.offsets(), ValueBatch(None, ConstantColumn(None, len(places))), places)


def _of_records(records: Sequence[SinkRecord], with_nulls: bool) -> Iterator[Chunk]:
    offsets = [record.original_kafka_offset for record in records]
    for _, run in _runs([_kind(record) for record in records]):
        first = records[run[0]]
        if first.value is None and not with_nulls:
            continue
        tp = TopicPartition(first.original_topic, first.original_kafka_partition)
        values = ValueBatch(first.value_schema, [records[place].value for place in run])
        yield Chunk(tp, records, offsets, values, run)


def _kind(record: SinkRecord) -> tuple[Any, ...]:
    partition = (record.original_topic, record.original_kafka_partition)
    return (*partition, record.topic, id(record.value_schema), id(record.key_schema), record.value is None)


def _runs(kinds: Sequence[Any]) -> Iterator[tuple[Any, range]]:
    """Consecutive equal items: the item and the indices."""
    start = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[start]:
            yield kinds[start], range(start, place)
            start = place


def _of_batch(batch: SinkBatch) -> Iterator[Chunk]:
    if not len(batch) or batch.values.all_null:
        return
    partitions, topics, offsets = batch.partitions(), batch.topics(), batch.offsets()
    origin = batch.messages[0].topic()
    if len(set(partitions)) == 1 and type(topics) is ConstantColumn and _no_nulls(batch.values):
        tp = TopicPartition(origin, partitions[0])
        yield Chunk(tp, batch, offsets, batch.values, range(len(batch)))
        return
    null = [False] * len(batch) if _no_nulls(batch.values) else [value is None for value in batch.values.rows]
    grouped: dict[tuple[int, str], list[int]] = defaultdict(list)
    for place, (partition, topic) in enumerate(zip(partitions, topics, strict=True)):
        if not null[place]:
            grouped[(partition, topic)].append(place)
    routed = len({topic for _, topic in grouped}) > 1
    for (partition, _), places in _in_order(grouped, topics) if routed else grouped.items():
        yield Chunk(TopicPartition(origin, partition), batch, offsets, selected(batch.values, places), places)


def _in_order(
    grouped: Mapping[tuple[int, str], list[int]], topics: Column
) -> Iterator[tuple[tuple[int, str], list[int]]]:
    """The groups of each partition, divided where the topic changes, in the order of the records."""
    by_partition: dict[int, list[int]] = defaultdict(list)
    for (partition, _), places in grouped.items():
        by_partition[partition] += places
    for partition, places in by_partition.items():
        ordered = sorted(places)
        for topic, run in _runs([topics[place] for place in ordered]):
            yield (partition, topic), [ordered[index] for index in run]


def _no_nulls(values: ValueBatch) -> bool:
    return values.all_null is False
