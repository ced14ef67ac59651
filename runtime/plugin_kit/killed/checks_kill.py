"""At-least-once delivery under SIGKILL, with the pipeline of the worker and a broker inside this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runtime.api.converter import Converter
from runtime.api.data.record import SinkRecord
from runtime.kafka.formats import canonical
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec
from runtime.plugin_kit.conformance.case import Config, SinkCase, SourceCase
from runtime.plugin_kit.conformance.checks_sink import check_written
from runtime.plugin_kit.conformance.checks_source import identity
from runtime.plugin_kit.conformance.connector_run import SourceRun, task_configs, topic_of
from runtime.plugin_kit.conformance.outcome import CheckFailed
from runtime.plugin_kit.killed.child import ORIGIN
from runtime.plugin_kit.killed.child_process import TaskProcess
from runtime.plugin_kit.killed.mock_broker import MockBroker

_OFFSETS, _GROUP = "offsets", "group"
_KILLS = (1 / 3, 2 / 3)
"""Parts of the records after which the process is killed."""

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_HEADERS = ConverterSpec("org.apache.kafka.connect.storage.SimpleHeaderConverter")
_LONGEST_END = 2.5  # seconds: one poll, stop(), the last commit, and the end of the process


def _spec(kind: str, case: SourceCase | SinkCase, task: Config, number: int, schemas: bool, **more: Any) -> TaskSpec:
    cls = case.connector.task_class
    converter = ConverterSpec(_JSON, {"schemas.enable": str(schemas).lower()})
    return TaskSpec(
        connector="conformance", task=number, epoch=1, type=kind, task_class=f"{cls.__module__}:{cls.__qualname__}",
        config=dict(task), key_converter=converter, value_converter=converter, header_converter=_HEADERS,
        flush_interval=0.05, **more,
    )  # fmt: skip


class _Arrived:
    """What the topics of a source contain so far, and the offsets that it has committed."""

    def __init__(self, bootstrap: str, topics: set[str]) -> None:
        from confluent_kafka import Consumer, TopicPartition

        fast = {"fetch.wait.max.ms": 10, "log_level": 0}
        self._reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", **fast})
        self._reader.assign([TopicPartition(topic, 0, 0) for topic in (*topics, _OFFSETS)])
        self.origins: set[tuple[str, str]] = set()
        self.records = 0
        self.offsets: dict[str, SourceOffset] = {}
        self.commits = 0

    def update(self) -> int:
        """Read what has arrived; returns the number of records and commits."""
        for message in self._reader.consume(1000, 0.02):
            if message.error() is not None:
                continue
            if message.topic() == _OFFSETS:
                self._commit(message.key() or b"", message.value())
            else:
                self._record(message.headers() or [])
        return self.records + self.commits

    def _record(self, headers: Any) -> None:
        origins = [value for name, value in headers if name == ORIGIN]
        if origins:
            partition, offset = json.loads(origins[0])
            self.origins.add((partition, offset))
            self.records += 1

    def _commit(self, key: bytes, value: bytes | None) -> None:
        self.commits += 1
        partition = json.loads(key)[1]
        if value is None:
            self.offsets.pop(canonical(partition), None)
        else:
            self.offsets[canonical(partition)] = SourceOffset(partition, json.loads(value), key.decode())

    def close(self) -> None:
        self._reader.close()


def source_at_least_once(case: SourceCase) -> str:
    """A process that is killed twice in the middle leaves no gap: every record of the example arrives."""
    doubled = 0
    with case.opened() as config:
        for number, task in enumerate(task_configs(case.connector, config)):
            with SourceRun(case, task) as run:
                records = run.read(case.records)
            if not records:
                continue
            with MockBroker() as broker:
                topics = {record.topic for record in records}
                for topic in (*topics, _OFFSETS):
                    broker.create_topic(topic)
                arrived = _Arrived(broker.bootstrap, topics)
                try:
                    expected = {identity(record) for record in records}
                    doubled += _kill_source(case, task, number, broker.bootstrap, expected, arrived)
                finally:
                    arrived.close()
    return f"killed {len(_KILLS)} times, no record missing, {doubled} sent twice"


def _kill_source(
    case: SourceCase, task: Config, number: int, bootstrap: str, expected: set[tuple[str, str]], arrived: _Arrived
) -> int:
    def start() -> TaskProcess:
        spec = _spec(
            "source", case, task, number, True, producer={"bootstrap.servers": bootstrap, "log_level": 0},
            offsets_topic=_OFFSETS, offsets=list(arrived.offsets.values()),
        )  # fmt: skip
        return TaskProcess(spec, len(expected))

    def seen() -> int:
        arrived.update()
        return len(expected & arrived.origins)

    for part in _KILLS:
        before = arrived.commits
        goal = max(1, int(len(expected) * part))
        with start() as process:
            process.wait(lambda g=goal, b=before: seen() >= g and arrived.commits > b, arrived.update, "the kill")  # type: ignore[misc]
            process.kill()
        while arrived.update() != arrived.records + arrived.commits:
            pass
    with start() as process:
        try:
            process.wait(
                lambda: process.running and seen() == len(expected), arrived.update, "the arrival of all records"
            )
        except CheckFailed as error:
            missing = expected - arrived.origins
            if not missing or "no progress" not in error.problem:
                raise
            raise CheckFailed(
                f"After two kills {len(missing)} of {len(expected)} records are missing, for example the record with "
                f"the offset {min(missing)[1]}",
                "The offset of a record must be the position behind this record, not behind others that poll() has "
                "not returned yet, and start() must continue from context.offsets",
            ) from None
        _check_end(process.stop())
    return arrived.records - len(arrived.origins)


def _check_end(seconds: float) -> None:
    if seconds > _LONGEST_END:
        raise CheckFailed(
            f"The task needed {seconds:.1f} s to stop",
            "poll() and put() must return within about a second, stop() at once",
        )


def sink_at_least_once(case: SinkCase) -> str:
    """A process that is killed twice in the middle loses nothing: every record is in the target system."""
    with case.opened() as config, MockBroker() as broker:
        topic = topic_of(config)
        broker.create_topic(topic)
        schemas = case.schema is not None
        _produce(broker.bootstrap, [case.record(n, topic) for n in range(case.records)], schemas)
        task = {"topics": topic, **task_configs(case.connector, config)[0]}
        for run, part in enumerate((*_KILLS, 1.0)):
            consumer = {"bootstrap.servers": broker.bootstrap, "group.id": f"{_GROUP}-{run}", "log_level": 0}
            if run:
                _take_over(broker.bootstrap, topic, f"{_GROUP}-{run - 1}", f"{_GROUP}-{run}")
            spec = _spec(
                "sink", case, task, 0, schemas, consumer=consumer, topics=[topic],
                max_poll_records=max(1, case.records // 25),
            )  # fmt: skip
            _run_sink(case, spec, broker.bootstrap, topic, part)
        return f"killed {len(_KILLS)} times, {check_written(case, config, case.exactly_once)}"


def _run_sink(case: SinkCase, spec: TaskSpec, bootstrap: str, topic: str, part: float) -> None:
    """Runs the task until this part of the records is done, then kills it, or stops it after the last record."""
    goal = max(1, int(case.records * part))
    group = spec.consumer["group.id"]
    start = _committed(bootstrap, topic, group)
    with TaskProcess(spec, case.records) as process:
        if part == 1.0:
            process.wait(lambda: start + process.put >= case.records, lambda: process.put, "the last put()")
            _check_end(process.stop())
            end = _committed(bootstrap, topic, group)
            if end != case.records:
                raise CheckFailed(
                    f"After stop() the committed offset is {end} instead of {case.records}",
                    "pre_commit() returns the offsets of all records that flush() has made durable",
                )
            return
        process.wait(
            lambda: start + process.put >= goal and _committed(bootstrap, topic, group) > start,
            lambda: process.put,
            "the kill",
        )
        process.kill()


def _produce(bootstrap: str, records: list[SinkRecord], schemas: bool) -> None:
    from confluent_kafka import Producer

    from runtime.converters.json.json import JsonConverter

    converter: Converter = JsonConverter()
    converter.configure({"schemas.enable": str(schemas).lower()}, False)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for record in records:
        fields: Mapping[str, Any] = {
            "key": converter.from_connect(record.topic, record.key_schema, record.key),
            "value": converter.from_connect(record.topic, record.value_schema, record.value),
        }
        producer.produce(record.topic, partition=0, **fields)
    producer.flush(10.0)


def _committed(bootstrap: str, topic: str, group: str) -> int:
    """The committed offset of a group; 0 without one."""
    from confluent_kafka import Consumer, TopicPartition

    client = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        [partition] = client.committed([TopicPartition(topic, 0)], timeout=10.0)
        return max(0, partition.offset)
    finally:
        client.close()


def _take_over(bootstrap: str, topic: str, old: str, new: str) -> None:
    """Gives a new group the offsets of the old one, whose dead member would have to time out first."""
    from confluent_kafka import Consumer, TopicPartition

    offset = _committed(bootstrap, topic, old)
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": new, "log_level": 0})
    try:
        client.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    finally:
        client.close()
