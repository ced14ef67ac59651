"""VerifiableSource: numbered records at a given rate."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, struct_schema
from runtime.api.task import SourceTask
from runtime.connectors.config_keys import TOPIC_KEY
from runtime.connectors.numbered_source import NumberedOffsets, NumberedSourceConnector
from runtime.connectors.verifiable.sink import log_line, task_number

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

_log = logging.getLogger("org.apache.kafka.connect.tools.VerifiableSourceTask")


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
        _log.info(
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
        log_line(_log, {**self._line(offset.get(SEQNO, -1)), "committed": True})

    def _record(self) -> SourceRecord:
        line = self._line(self._next)
        log_line(_log, line)
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
