"""VerifiableSink: logs a line for each record that it receives, and again when the record's offset is committed."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from runtime.api.connector import SinkConnector
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.task import SinkTask


def log_line(logger: logging.Logger, data: Mapping[str, Any]) -> None:
    """Logs the data as a message that is one JSON object; values that JSON lacks become text."""
    logger.info("%s", orjson.dumps(data, default=str).decode())


def task_number(config: Mapping[str, str]) -> int:
    """The number of the task, which the connector sets as `id`."""
    return int(config.get("id", "0"))


_log = logging.getLogger("org.apache.kafka.connect.tools.VerifiableSinkTask")


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
            log_line(_log, line)
            self._unflushed[TopicPartition(record.original_topic, record.original_kafka_partition)].append(line)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        now = int(time.time() * 1000)
        for tp in offsets:
            for line in self._unflushed.pop(TopicPartition(*tp), ()):
                log_line(_log, {**line, "time_ms": now, "flushed": True})

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
