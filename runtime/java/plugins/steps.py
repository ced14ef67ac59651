"""Java transformations and predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from runtime.api.data.batch import one_each
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.errors import DataError
from runtime.api.transformation import Predicate, Record, RecordT, Transformation
from runtime.java.errors import java_error
from runtime.java.host.host import JavaClass, JavaHost, PluginObject
from runtime.java.plugins.converters import close_plugin
from runtime.java.step_run import FailedStep, RunStep
from runtime.java.wire.records import RecordColumns, in_order, read_groups, source_records, write_sink, write_source
from runtime.java.wire.writer import FrameWriter


class JavaTransformation(Transformation):
    """A Java transformation. A chain crosses to the JVM once for consecutive steps in Java: see apply_run()."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin: PluginObject = host.create("transformation", plugin, "transformation")
        self.place: object = self.plugin.jvm
        self.metrics_owner = self.plugin

    def configure(self, config: Mapping[str, str]) -> None:
        self.plugin.call("configure", dict(config))

    def apply(self, record: RecordT) -> RecordT | None:
        (result,) = self.apply_run([(self, None, False)], [record], True)
        if isinstance(result, FailedStep):
            raise result.error
        return cast("RecordT | None", result)

    def apply_run(self, steps: Sequence[RunStep], records: Sequence[Any], stops: bool) -> list[Any]:
        """See RemoteTransformation."""
        sink = isinstance(records[0], SinkRecord)
        described = [[_number(step), _number(predicate), negate] for step, predicate, negate in steps]
        (tried, places, failures), frame = self.plugin.exchange(
            "run", sink, described, stops, batch=lambda writer: _write(writer, records)
        )
        outcomes: list[Any] = [None] * tried
        if places is None:
            places = range(tried)
        places = [*places, *(place for place, _, _ in failures)]
        if places:
            groups, group_of = read_groups(frame, len(places))
            parts = [_sink_values(group) if sink else source_records(group) for group in groups]
            for place, result in zip(places, in_order(parts, group_of), strict=True):
                outcomes[place] = _of_sink(records[place], result) if sink else result
        for place, step, error in failures:
            outcomes[place] = FailedStep(outcomes[place], step, java_error(error))
        return outcomes

    def close(self) -> None:
        close_plugin(self.plugin)


class JavaPredicate(Predicate):
    """A Java predicate."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin: PluginObject = host.create("predicate", plugin, "predicate")
        self.place: object = self.plugin.jvm
        self.metrics_owner = self.plugin

    def configure(self, config: Mapping[str, str]) -> None:
        self.plugin.call("configure", dict(config))

    def test(self, record: Record) -> bool:
        return self.test_all([record])[0]

    def test_all(self, records: Sequence[Record]) -> Sequence[bool]:
        """The result of test() for each record, in one call of the JVM."""
        sink = isinstance(records[0], SinkRecord)
        matches: list[bool] = self.plugin.call("test", sink, batch=lambda writer: _write(writer, records))
        return matches

    def close(self) -> None:
        close_plugin(self.plugin)


def _number(step: Any) -> int:
    """The number of a step's object in the JVM; 0 for no predicate."""
    return 0 if step is None else int(step.plugin.link.number)


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
            one_each(group.headers), strict=True,
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
