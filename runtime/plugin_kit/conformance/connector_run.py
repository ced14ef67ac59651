"""Runs connectors and their tasks in this process, as a worker calls them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from runtime.api.connector import Connector, SinkConnector, SourceConnector
from runtime.api.data.batch import SourceBatch
from runtime.api.data.record import ErrantSourceRecord, SinkRecord, SourceRecord, TopicPartition
from runtime.api.errors import RetriableError
from runtime.api.task import Offset
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task_forms import as_sink, as_source
from runtime.plugin_kit.conformance.call_thread import CallThread
from runtime.plugin_kit.conformance.case import Config
from runtime.plugin_kit.conformance.contexts import (
    KitConnectorContext,
    KitOffsets,
    KitReporter,
    KitSinkContext,
    KitSourceContext,
)
from runtime.plugin_kit.conformance.outcome import CheckFailed

ConnectorT = TypeVar("ConnectorT", bound=Connector)

TOPIC = "conformance"
"""The topic of sinks whose example names none."""

IDLE = 3.0
"""Seconds without a record after which a source is considered to have delivered everything."""


def topic_of(config: Config) -> str:
    """The first topic of a sink."""
    return config.get("topics", TOPIC).split(",")[0].strip() or TOPIC


@contextmanager
def started(plugin: type[ConnectorT], config: Config) -> Iterator[ConnectorT]:
    """A started connector, which is stopped at the end."""
    connector = plugin()
    connector.context = KitConnectorContext()
    connector.start(config)
    try:
        yield connector
    finally:
        connector.stop()


def task_configs(plugin: type[Connector], config: Config) -> Sequence[Config]:
    """The task configurations of the connector. CheckFailed if there are none, too many, or other values than text."""
    most = int(config.get("tasks.max", "1"))
    with started(plugin, config) as connector:
        configs = [dict(task) for task in connector.task_configs(most)]
    if not configs:
        raise CheckFailed(
            "task_configs() returned no task for the example", "Check the example's config, or return at least one"
        )
    if len(configs) > most:
        raise CheckFailed(
            f"task_configs({most}) returned {len(configs)} configurations", f"Return at most {most}, which is tasks.max"
        )
    for number, task in enumerate(configs):
        for key, value in task.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise CheckFailed(
                    f"task_configs() returned {key!r}: {value!r} for task {number}",
                    "Keys and values are text: convert numbers with str()",
                )
    return configs


class SourceRun:
    """A source task from start to stop."""

    def __init__(
        self, connector: type[SourceConnector], config: Config, offsets: Mapping[str, Offset] | None = None
    ) -> None:
        self._config, self._thread = config, CallThread()
        task = self._thread.call("The task's constructor", connector.task_class)
        self.task = as_source(task, TaskControl(False, lambda: None), connector.__name__)
        self.task.context = KitSourceContext(config, KitOffsets(offsets), lambda: None)
        self.longest_poll = 0.0

    def start(self) -> None:
        """Start the task."""
        self._thread.call("start()", self.task.start, self._config)

    def poll(self) -> Sequence[SourceRecord]:
        """The records of one poll; none after a RetriableError. Raises the error of one that could not be read."""
        began = time.monotonic()
        try:
            records: Sequence[SourceRecord] | None = self._thread.call("poll()", self.task.poll)
            for record in () if isinstance(records, SourceBatch) else records or ():
                if isinstance(record, ErrantSourceRecord):
                    raise record.error
            return records or ()
        except RetriableError:
            return ()
        finally:
            self.longest_poll = max(self.longest_poll, time.monotonic() - began)

    def read(self, count: int) -> list[SourceRecord]:
        """At least `count` records, or fewer if no record arrives for three seconds."""
        return self.read_until(lambda records: len(records) >= count, count)

    def read_until(self, done: Callable[[Sequence[SourceRecord]], bool], limit: int) -> list[SourceRecord]:
        """Records until `done`, until there are `limit`, or until no record arrives for three seconds. Polls once."""
        read: list[SourceRecord] = list(self.poll())
        idle_since = time.monotonic()
        while not done(read) and len(read) < limit and time.monotonic() - idle_since < IDLE:
            if records := self.poll():
                read += records
                idle_since = time.monotonic()
            else:
                time.sleep(0.005)
        return read

    def stop(self) -> float:
        """Stop the task; returns the seconds it took."""
        began = time.monotonic()
        try:
            self._thread.call("stop()", self.task.stop)
            return time.monotonic() - began
        finally:
            self._thread.close()

    def __enter__(self) -> SourceRun:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class SinkRun:
    """A sink task with one partition, from start to stop."""

    def __init__(self, connector: type[SinkConnector], config: Config, reporter: KitReporter | None = None) -> None:
        self._config, self._thread = config, CallThread()
        self.topic = topic_of(config)
        self.partition = TopicPartition(self.topic, 0)
        task = self._thread.call("The task's constructor", connector.task_class)
        self.task = as_sink(task, TaskControl(False, lambda: None), connector.__name__)
        self.task.context = KitSinkContext(config, frozenset([self.partition]), reporter)
        self._next = 0

    def start(self) -> None:
        """Start the task and open its partition."""
        self._thread.call("start()", self.task.start, self._config)
        self._thread.call("open()", self.task.open, [self.partition])

    def put(self, records: Sequence[SinkRecord]) -> None:
        """Put records, again after a RetriableError."""
        until = time.monotonic() + 10.0
        while True:
            try:
                self._thread.call("put()", self.task.put, records)
                break
            except RetriableError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        if records:
            self._next = max(self._next, records[-1].kafka_offset + 1)

    def commit(self) -> Mapping[TopicPartition, int]:
        """Flush; returns the offsets that the task allows to commit."""
        offsets: Any = self._thread.call("pre_commit()", self.task.pre_commit, {self.partition: self._next})
        return offsets or {}

    def stop(self, opened: bool = True) -> float:
        """Close the partition if it was opened, and stop the task; returns the seconds it took."""
        began = time.monotonic()
        try:
            if opened:
                self._thread.call("close()", self.task.close, [self.partition])
            self._thread.call("stop()", self.task.stop)
            return time.monotonic() - began
        finally:
            self._thread.close()

    def __enter__(self) -> SinkRun:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
