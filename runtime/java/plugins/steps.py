"""Java transformations and predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.errors import DataError
from runtime.api.transformation import Predicate, Record, RecordT, Transformation
from runtime.java.host.host import JavaClass, JavaHost, PluginObject
from runtime.java.wire.records import RecordColumns, in_order, read_groups, source_records, write_sink, write_source
from runtime.java.wire.writer import FrameWriter


class JavaTransformation(Transformation):
    """A Java transformation. Each call crosses to the JVM, so that a chain of our own transformations is faster."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin = host.create("transformation", plugin, "transformation")

    def configure(self, config: Mapping[str, str]) -> None:
        self.plugin.call("configure", dict(config))

    def apply(self, record: RecordT) -> RecordT | None:
        return self.apply_all([record])[0]

    def apply_all(self, records: Sequence[RecordT]) -> list[RecordT | None]:
        """The results of apply() for records of one class, in one call of the JVM. If the transformation raises for one
        of them, there is no result for the others either."""
        sink = isinstance(records[0], SinkRecord)
        places, frame = self.plugin.exchange("apply", sink, batch=lambda writer: _write(writer, records))
        found: list[RecordT | None] = [None] * len(records)
        if places:
            groups, group_of = read_groups(frame, len(places))
            parts = [_sink_values(group) if sink else source_records(group) for group in groups]
            for place, result in zip(places, in_order(parts, group_of), strict=True):
                found[place] = _of_sink(records[place], result) if sink else result
        return found

    def close(self) -> None:
        try:
            self.plugin.call("close")
        finally:
            self.plugin.close()


class JavaPredicate(Predicate):
    """A Java predicate."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin: PluginObject = host.create("predicate", plugin, "predicate")

    def configure(self, config: Mapping[str, str]) -> None:
        self.plugin.call("configure", dict(config))

    def test(self, record: Record) -> bool:
        sink = isinstance(record, SinkRecord)
        found: bool = self.plugin.call("test", sink, batch=lambda writer: _write(writer, [record]))[0]
        return found

    def close(self) -> None:
        try:
            self.plugin.call("close")
        finally:
            self.plugin.close()


def _write(frame: FrameWriter, records: Sequence[Any]) -> None:
    if isinstance(records[0], SinkRecord):
        write_sink(frame, records)
    else:
        write_source(frame, cast("Sequence[SourceRecord]", records))


def _sink_values(group: RecordColumns) -> list[tuple[Any, ...]]:
    """What a transformation may change in sink records."""
    return [
        (topic, partition, group.keys.schema, key, group.values.schema, value, offset, time, headers)
        for topic, partition, key, value, offset, time, headers in zip(
            group.topics, group.partitions, group.keys.rows, group.values.rows, group.first, group.times,
            group.headers, strict=True,
        )
    ]  # fmt: skip


def _of_sink(record: Any, result: tuple[Any, ...]) -> Any:
    """A changed copy, which keeps the message from which the record was read."""
    changed = record.copy()
    (
        changed.topic,
        changed.kafka_partition,
        changed.key_schema,
        changed.key,
        changed.value_schema,
        changed.value,
        changed.kafka_offset,
        changed.timestamp,
        changed.headers,
    ) = result
    if changed.kafka_partition is None:
        raise DataError("A transformation must not remove the partition of a sink record")
    return changed
