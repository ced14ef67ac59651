"""VerifiableSource and VerifiableSink: numbered records, and a line of JSON for each step of their way."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.connector import SinkConnector
from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, struct_schema
from runtime.api.task import SinkTask, SourceTask
from runtime.connectors.config_keys import TOPIC_KEY
from runtime.connectors.numbered_source import NumberedOffsets, NumberedSourceConnector


def log_line(logger: logging.Logger, data: Mapping[str, Any]) -> None:
    """Logs the data as a message that is one JSON object; values that JSON lacks become text."""
    logger.info("%s", orjson.dumps(data, default=str).decode())


def task_number(config: Mapping[str, str]) -> int:
    """The number of the task, which the connector sets as `id`."""
    return int(config.get("id", "0"))


_sink_log = logging.getLogger("org.apache.kafka.connect.tools.VerifiableSinkTask")


class VerifiableSinkTask(SinkTask):
    """Keeps the lines of records until their offsets are committed."""

    java_name = "org.apache.kafka.connect.tools.VerifiableSinkTask"

    def start(self, config: Mapping[str, str]) -> None:
        self._name, self._id = config.get("name", ""), task_number(config)
        self._unflushed: dict[TopicPartition, list[dict[str, Any]]] = defaultdict(list)

    def put(self, records: Sequence[SinkRecord]) -> None:
        now = int(time.time() * 1000)
        for record in records:
            line = {
                "name": self._name,
                "task": record.key,
                "sinkTask": self._id,
                "topic": record.topic,
                "time_ms": now,
                "seqno": record.value,
                "offset": record.kafka_offset,
            }
            log_line(_sink_log, line)
            self._unflushed[TopicPartition(record.original_topic, record.original_kafka_partition)].append(line)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        now = int(time.time() * 1000)
        for tp in offsets:
            for line in self._unflushed.pop(TopicPartition(*tp), ()):
                log_line(_sink_log, {**line, "time_ms": now, "flushed": True})

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        for tp in partitions:
            self._unflushed.pop(TopicPartition(*tp), None)


class VerifiableSinkConnector(SinkConnector):
    """Has no configuration keys of its own."""

    java_name = "org.apache.kafka.connect.tools.VerifiableSinkConnector"
    task_class = VerifiableSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self.config, "id": str(task)} for task in range(max_tasks)]

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Always True: the sink has no offsets outside its consumer group."""
        return True


TOPIC, THROUGHPUT, COMPLETE = "topic", "throughput", "complete.record.data"
ID, SEQNO = "id", "seqno"
COMPLETE_SCHEMA = struct_schema(
    {
        "name": STRING_SCHEMA,
        "task": INT32_SCHEMA,
        "topic": STRING_SCHEMA,
        "time_ms": INT64_SCHEMA,
        SEQNO: INT64_SCHEMA,
    }
)
_OFFSETS = NumberedOffsets(ID, SEQNO, "the last number sent")
_BATCH = 100  # records of one poll

_source_log = logging.getLogger("org.apache.kafka.connect.tools.VerifiableSourceTask")


class VerifiableSourceTask(SourceTask):
    """Sends the numbers from the committed one on, and logs a line for each number sent and each one committed."""

    java_name = "org.apache.kafka.connect.tools.VerifiableSourceTask"

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` in seconds determines how many records are due."""
        super().__init__()
        self._clock = clock

    def start(self, config: Mapping[str, str]) -> None:
        settings = VerifiableSourceConnector.config_def.parse(config)
        self._topic: str = settings[TOPIC]
        self._throughput: int = settings[THROUGHPUT]
        self._complete: bool = settings[COMPLETE]
        self._name, self._id = config.get("name", ""), task_number(config)
        self._partition = {ID: self._id}
        offset = self.context.offsets.offset(self._partition)
        self._first = self._next = 0 if offset is None else _OFFSETS.number(offset) + 1
        self._since = self._clock()
        _source_log.info(
            "Started VerifiableSourceTask %s-%d producing to topic %s resuming from seqno %d",
            self._name, self._id, self._topic, self._first,
        )  # fmt: skip

    def poll(self) -> Sequence[SourceRecord] | None:
        due = _BATCH
        if self._throughput >= 0:
            allowed = int((self._clock() - self._since) * self._throughput) + 1 if self._throughput else 0
            due = min(_BATCH, self._first + allowed - self._next)
        return [self._record() for _ in range(due)]

    def commit_record(self, record: SourceRecord, metadata: object) -> None:
        """Logs the record's line again, as committed. `metadata`: where Kafka has stored it."""
        offset = record.source_offset or {}
        log_line(_source_log, {**self._line(offset.get(SEQNO, -1)), "committed": True})

    def _record(self) -> SourceRecord:
        line = self._line(self._next)
        log_line(_source_log, line)
        self._next += 1
        value, schema = (line, COMPLETE_SCHEMA) if self._complete else (line[SEQNO], INT64_SCHEMA)
        return SourceRecord(
            self._partition, {SEQNO: line[SEQNO]}, self._topic, value, schema, self._id, INT32_SCHEMA
        )  # fmt: skip

    def _line(self, seqno: int) -> dict[str, Any]:
        return {
            "name": self._name,
            "task": self._id,
            "topic": self._topic,
            "time_ms": int(time.time() * 1000),
            SEQNO: seqno,
        }


class VerifiableSourceConnector(NumberedSourceConnector):
    """Each task sends numbers of its own."""

    java_name = "org.apache.kafka.connect.tools.VerifiableSourceConnector"
    task_key = ID
    own_offsets = _OFFSETS  # {"seqno": 999} in {"id": 0}: continue with 1000
    task_class = VerifiableSourceTask
    config_def = ConfigDef(
        *grouped("Records", 1,
            TOPIC_KEY,
            ConfigKey(THROUGHPUT, ConfigType.LONG, -1, Importance.HIGH, "Records per second of each task; -1 for as "
                 "many as possible, 0 for none.", validators.at_least(-1), width=Width.SHORT,
                 display_name="Throughput"),
            ConfigKey(COMPLETE, ConfigType.BOOLEAN, False, Importance.LOW, "Whether the value is a struct with name, "
                 "task, topic, time_ms and seqno, instead of the number alone.", width=Width.SHORT,
                 display_name="Complete record data"),
        ),
    )  # fmt: skip
