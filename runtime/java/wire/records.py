"""Records as columns: in groups whose records share their key and value schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runtime.api.data.batch import SinkBatch, SourceBatch, one_each
from runtime.api.data.columns import Column, ConstantColumn, ValueBatch
from runtime.api.data.record import Headers, SinkRecord, SourceRecord
from runtime.api.data.schema import Schema, Type
from runtime.java.wire import tags
from runtime.java.wire.reader import FrameReader
from runtime.java.wire.writer import FrameWriter


class RecordColumns:
    """The columns of a group that has been read. `first` and `second`: source partitions and offsets, or Kafka offsets
    and timestamp types."""

    __slots__ = ("count", "first", "headers", "keys", "partitions", "second", "times", "topics", "values")

    def __init__(self, frame: FrameReader) -> None:
        self.count = count = frame.i32()
        self.topics = frame.column(count)
        self.partitions = frame.column(count)
        self.times = frame.column(count)
        key_schema, value_schema = frame.schema(), frame.schema()
        self.keys = frame.batch(count, key_schema)
        self.values = frame.batch(count, value_schema)
        self.headers = _headers(frame, count)
        self.first = frame.column(count)
        self.second = frame.batch(count, None)


def _headers(frame: FrameReader, count: int) -> Column:
    kind = frame.u8()
    if kind == tags.NO_HEADERS:
        return ConstantColumn(None, count)
    same = kind == tags.SAME_HEADERS
    sizes = frame.numbers(1 if same else count)
    total = sum(sizes)
    names = frame.column(total)
    schemas = [frame.schema() for _ in range(total)]
    values = frame.column(total)
    each = zip(names, schemas, map(of_schema, values, schemas), strict=True)
    headers = [[next(each) for _ in range(size)] or None for size in sizes]
    return ConstantColumn(headers[0], count) if same else headers


def of_schema(value: Any, schema: Schema | None) -> Any:
    """A value that was read without its schema: dates and times of the classes that their schemas require."""
    if schema is None:
        return value
    if schema.type is Type.ARRAY and value is not None:
        return [of_schema(item, schema.values) for item in value]
    if schema.type is Type.MAP and value is not None:
        return {of_schema(key, schema.keys): of_schema(item, schema.values) for key, item in value.items()}
    if schema.name is None or not hasattr(value, "tzinfo"):
        return value
    from runtime.api.data.logical import DATE, TIME

    return value.date() if schema.name == DATE else value.time() if schema.name == TIME else value


def read_groups(frame: FrameReader, count: int) -> tuple[list[RecordColumns], Sequence[int]]:
    """The groups of a batch, and the number of the group of each record."""
    groups = frame.i32()
    group_of = frame.numbers(count) if groups > 1 else ()
    return [RecordColumns(frame) for _ in range(groups)], group_of


def in_order(parts: Sequence[list[Any]], group_of: Sequence[int]) -> list[Any]:
    """The records of all groups in their original order."""
    if len(parts) == 1:
        return parts[0]
    each = [iter(part) for part in parts]
    return [next(each[group]) for group in group_of]


def source_records(group: RecordColumns) -> list[SourceRecord]:
    return [
        SourceRecord(
            source, offset, topic, value, group.values.schema, key, group.keys.schema, partition, time, headers
        )
        for source, offset, topic, value, key, partition, time, headers in zip(
            group.first, group.second.rows, group.topics, group.values.rows, group.keys.rows, group.partitions,
            group.times, one_each(group.headers), strict=True,
        )
    ]  # fmt: skip


def source_batch(group: RecordColumns) -> SourceBatch | None:
    """The group as a batch; None if its records differ in their source partition or name a Kafka partition."""
    if type(group.first) is not ConstantColumn or type(group.partitions) is not ConstantColumn:
        return None
    if group.partitions.value is not None:
        return None
    offsets = group.second
    batch = SourceBatch(group.first.value, _offset_of(offsets), "", group.values)
    batch.route(group.topics)
    batch.times, batch.keys, batch.headers = group.times, group.keys, group.headers
    return batch


def _offset_of(offsets: ValueBatch) -> Any:
    """Creates the offset of a record only when it is asked for."""
    if offsets.all_null:
        return lambda n: None
    columns = getattr(offsets, "_columns", None)
    if columns is None:
        rows = offsets.rows
        return lambda n: rows[n]
    return lambda n: {name: column[n] for name, column in columns.items()}


def write_sink(frame: FrameWriter, records: Sequence[SinkRecord]) -> None:
    """Sink records; a SinkBatch as it is."""
    if isinstance(records, SinkBatch):
        frame.i32(1)
        frame.i32(len(records))
        _write_sink_batch(frame, records)
        return
    for part in _parts(frame, records):
        _write_sink_part(frame, part)


def write_source(frame: FrameWriter, records: Sequence[SourceRecord]) -> None:
    for part in _parts(frame, records):
        _write_part(frame, part)
        frame.column([record.source_partition for record in part])
        frame.column([record.source_offset for record in part])


def _parts(frame: FrameWriter, records: Sequence[Any]) -> Iterator[list[Any]]:
    """Writes the number of groups and the group of each record; yields the records of each group."""
    groups: dict[tuple[int, int], int] = {}
    group_of = [
        groups.setdefault((frame.number(record.key_schema), frame.number(record.value_schema)), len(groups))
        for record in records
    ]
    frame.i32(len(groups))
    frame.i32(len(records))
    if len(groups) == 1:
        yield list(records)
        return
    if groups:
        frame.numbers(group_of)
    for number in range(len(groups)):
        yield [record for record, group in zip(records, group_of, strict=True) if group == number]


def _write_part(frame: FrameWriter, part: Sequence[Any]) -> None:
    """The columns that records of sources and sinks have in common."""
    _write_common(
        frame,
        [record.topic for record in part],
        [record.kafka_partition for record in part],
        [record.timestamp for record in part],
        ValueBatch(part[0].key_schema, [record.key for record in part]),
        ValueBatch(part[0].value_schema, [record.value for record in part]),
        [record.headers for record in part],
    )


def _write_common(
    frame: FrameWriter,
    topics: Column,
    partitions: Column,
    times: Column,
    keys: ValueBatch,
    values: ValueBatch,
    headers: Sequence[Headers | None],
) -> None:
    frame.i32(values.count)
    frame.column(topics)
    frame.column(partitions)
    frame.column(times)
    frame.schema(keys.schema)
    frame.schema(values.schema)
    frame.batch(keys)
    frame.batch(values)
    _write_headers(frame, headers)


def _write_headers(frame: FrameWriter, headers: Sequence[Headers | None]) -> None:
    same = type(headers) is ConstantColumn
    if not any(headers[:1] if same else headers):
        frame.u8(tags.NO_HEADERS)
        return
    frame.u8(tags.SAME_HEADERS if same else tags.HEADERS)
    if same:
        headers = headers[:1]
    frame.numbers([len(own or ()) for own in headers])
    flat = [header for own in headers for header in own or ()]
    frame.column([name for name, _, _ in flat])
    frame.numbers([frame.number(schema) for _, schema, _ in flat])
    values = [(schema, value) for _, schema, value in flat]
    _write_each(frame, values)


def _write_each(frame: FrameWriter, values: Sequence[tuple[Schema | None, Any]]) -> None:
    """Values with a schema each: a kind of its own for each schema."""
    kinds: dict[int, list[Any]] = {}
    order: dict[int, Schema | None] = {}
    for schema, value in values:
        number = frame.number(schema)
        order[number] = schema
        kinds.setdefault(number, []).append(value)
    places = {number: place for place, number in enumerate(kinds)}
    frame.u8(tags.MIXED)
    frame.i32(len(kinds))
    frame.numbers([places[frame.number(schema)] for schema, _ in values])
    for number, part in kinds.items():
        frame.column(part, order[number])


def _write_sink_batch(frame: FrameWriter, batch: SinkBatch) -> None:
    topics, partitions, offsets = batch.topics(), batch.partitions(), batch.offsets()
    _write_common(frame, topics, partitions, batch.timestamps(), batch.keys, batch.values, batch.headers)
    frame.longs(offsets)
    frame.column(batch.timestamp_types())
    original = batch.messages[0].topic()
    moved = topics.value != original if type(topics) is ConstantColumn else any(topic != original for topic in topics)
    frame.u8(moved)
    if moved:
        frame.column(ConstantColumn(original, len(batch)))
        frame.column(partitions)
        frame.longs(offsets)


def _write_sink_part(frame: FrameWriter, part: Sequence[SinkRecord]) -> None:
    _write_part(frame, part)
    frame.column([record.kafka_offset for record in part])
    frame.column([record.timestamp_type for record in part])
    frame.u8(1)
    frame.column([record.original_topic for record in part])
    frame.column([record.original_kafka_partition for record in part])
    frame.column([record.original_kafka_offset for record in part])
