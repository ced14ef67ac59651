"""Runs connectors in tests of their authors: what a source produces, and what a sink reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.connector import SinkConnector, SourceConnector
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import Schema
from runtime.api.task import Offset, Partition
from runtime.kafka.formats import canonical
from runtime.plugin_kit.conformance.connector_run import SinkRun, SourceRun, task_configs, topic_of
from runtime.plugin_kit.conformance.contexts import KitReporter


def read_records(
    connector: type[SourceConnector],
    config: Mapping[str, str],
    count: int,
    offsets: Sequence[tuple[Partition, Offset]] = (),
) -> list[SourceRecord]:
    """The first `count` records of the first task, or fewer if no record arrives for three seconds. `offsets` are the
    committed ones from which the task starts."""
    task = task_configs(connector, config)[0]
    with SourceRun(connector, task, {canonical(partition): offset for partition, offset in offsets}) as run:
        return run.read(count)[:count]


def write_values(
    connector: type[SinkConnector], config: Mapping[str, str], values: Sequence[Any], schema: Schema | None = None
) -> Sequence[tuple[SinkRecord, Exception]]:
    """Puts a record for each value, commits, and stops the first task. Returns the records that it reported."""
    reporter = KitReporter()
    topic = topic_of(config)
    with SinkRun(connector, task_configs(connector, config)[0], reporter) as run:
        run.put([SinkRecord(topic, 0, None, None, schema, value, number) for number, value in enumerate(values)])
        run.commit()
    return reporter.reports
