"""At-least-once delivery under SIGKILL, with the pipeline of the worker and a broker inside this process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from runtime.api.converter import Converter
from runtime.api.data.record import SinkRecord
from runtime.kafka.formats import canonical
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec
from runtime.plugin_kit.conformance.case import Config, SinkCase, SourceCase
from runtime.plugin_kit.conformance.checks_sink import check_written
from runtime.plugin_kit.conformance.connector_run import task_configs, topic_of
from runtime.plugin_kit.conformance.marks import Mark, ReferenceRun, committed
from runtime.plugin_kit.conformance.outcome import CheckFailed
from runtime.plugin_kit.killed.child import MARK
from runtime.plugin_kit.killed.child_process import NoProgress, TaskProcess
from runtime.plugin_kit.killed.mock_broker import MockBroker

_OFFSETS, _GROUP = "offsets", "group"
_KILLS = (1 / 3, 2 / 3)
"""Parts of the records after which the process is killed."""

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_HEADERS = ConverterSpec("org.apache.kafka.connect.storage.SimpleHeaderConverter")
_LONGEST_END = 8.0  # seconds: one poll, stop(), the last commit, and the end of the process on a busy machine


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
        self.marks: Counter[Mark] = Counter()
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
        return self.marks.total() + self.commits

    def drain(self) -> None:
        """Read what was sent before a kill."""
        before = -1
        while (now := self.update()) != before:
            before = now

    def _record(self, headers: Any) -> None:
        self.marks.update(Mark(*json.loads(value)) for name, value in headers if name == MARK)

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
            reference = ReferenceRun.of(case, task)
            if not reference.records:
                continue
            with MockBroker() as broker:
                topics = {record.topic for record in reference.records}
                for topic in (*topics, _OFFSETS):
                    broker.create_topic(topic)
                arrived = _Arrived(broker.bootstrap, topics)
                try:
                    _KilledSource(case, task, number, broker.bootstrap, reference, arrived).run()
                finally:
                    arrived.close()
                doubled += arrived.marks.total() - len(arrived.marks)
    return f"killed {len(_KILLS)} times, no record missing, {doubled} sent twice"


class _KilledSource:
    """A source task that is killed and started again, until all records of the reference have arrived."""

    def __init__(
        self, case: SourceCase, task: Config, number: int, bootstrap: str, reference: ReferenceRun, arrived: _Arrived
    ) -> None:
        self._case, self._task, self._number, self._bootstrap = case, task, number, bootstrap
        self._reference, self._arrived = reference, arrived
        self._expected = reference.marks(reference.records)

    def run(self) -> None:
        """CheckFailed if records are missing at the end."""
        kills = 0
        try:
            for part in _KILLS:
                self._kill(max(1, int(self._expected.total() * part)))
                kills += 1
            with self._start() as process:
                process.wait(
                    lambda: process.running and self._seen() == self._expected.total(), self._seen, "all have arrived"
                )
                _check_end(process.stop())
        except NoProgress:
            if not kills or not (missing := self._expected - self._found()):
                raise
            raise self._gap(kills, missing) from None

    def _kill(self, goal: int) -> None:
        """Runs the task until `goal` records have arrived, then until its next commit, if there is one: on a busy
        machine the task may have sent and committed its last record before the first ones are seen here."""
        arrived = self._arrived
        with self._start() as process:
            process.wait(lambda: self._seen() >= goal, self._seen, "it is killed")
            if self._reference.has_offsets:
                commits = arrived.commits
                process.wait(
                    lambda: arrived.update() > 0 and (arrived.commits > commits or self._has_committed_all()),
                    arrived.update, "it commits",
                )  # fmt: skip
            process.kill()
        arrived.drain()

    def _start(self) -> TaskProcess:
        spec = _spec(
            "source", self._case, self._task, self._number, True, offsets_topic=_OFFSETS,
            producer={"bootstrap.servers": self._bootstrap, "log_level": 0},
            offsets=list(self._arrived.offsets.values()),
        )  # fmt: skip
        return TaskProcess(spec, self._expected.total())

    def _seen(self) -> int:
        """How many of the expected records have arrived."""
        self._arrived.update()
        return (self._expected & self._found()).total()

    def _found(self) -> Counter[Mark]:
        counts: Counter[Mark] = Counter()
        for each, count in self._arrived.marks.items():
            counts[self._reference.known(each)] += count
        return counts

    def _has_committed_all(self) -> bool:
        offsets = {partition: offset.offset for partition, offset in self._arrived.offsets.items()}
        return committed(self._reference.records).items() <= offsets.items()

    def _gap(self, kills: int, missing: Counter[Mark]) -> CheckFailed:
        return CheckFailed(
            f"After {kills} kills {missing.total()} of {self._expected.total()} records are missing, such as the one "
            f"with the offset {min(missing).offset}",
            "The offset of a record must be the position behind this record, not behind others that poll() has not "
            "returned yet, and start() must continue from context.offsets",
        )


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
