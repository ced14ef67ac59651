"""The records of all topics as an independent consumer of committed records reads them, kept as runs of consecutive
numbers."""

from __future__ import annotations

import threading
import zlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.broker import unique
from tests.support.kafka.topic_ends import latest_offsets
from tests.support.waiting import wait_until


@dataclass(slots=True)
class Run:
    """Consecutive numbers that one task object has written."""

    incarnation: int
    epoch: int
    task: str
    life: str
    first: int
    last: int
    polled: float  # the first record
    until: float  # the last record
    where: str  # topic, partition and offset of the first record

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch}, {self.first} to {self.last}, incarnation {self.incarnation}, task {self.task}, life "
            f"{self.life}, polled {self.polled:.3f} to {self.until:.3f}, from {self.where} on"
        )


@dataclass(slots=True)
class Records:
    """What has been read."""

    runs: defaultdict[tuple[str, int], list[Run]] = field(default_factory=lambda: defaultdict(list))
    """For connector and source partition, in order of the incarnations, then of the topic."""

    sums: defaultdict[tuple[str, int], dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """For topic and partition: offsets of committed records, with the checksums of their values."""

    count: int = 0

    def add(self, topic: str, partition: int, offset: int, value: bytes) -> None:
        self.count += 1
        self.sums[topic, partition][offset] = zlib.crc32(value)
        name, text, at, epoch, count, task, life, polled = value.decode().split()
        incarnation, number, when = int(text), int(count), float(polled)
        runs = self.runs[name, int(at)]
        run = next((run for run in reversed(runs) if run.incarnation == incarnation), None)
        if run and run.life == life and run.epoch == int(epoch) and run.last + 1 == number:
            run.last, run.until = number, when
        else:
            where = f"{topic}-{partition} at {offset}"
            runs.append(Run(incarnation, int(epoch), task, life, number, number, when, when, where))

    def latest(self, name: str, partition: int) -> float:
        """When the newest record was polled."""
        return max((run.until for run in list(self.runs[name, partition])), default=0.0)


class Reader:
    """Reads topics from their beginnings on its own thread, while the brokers fail."""

    def __init__(self, bootstrap: str, topics: Mapping[str, int]) -> None:
        """`topics` with their numbers of partitions."""
        self.records = Records()
        self.faults: list[str] = []
        self._bootstrap = bootstrap
        self._at = {(topic, partition): 0 for topic, count in topics.items() for partition in range(count)}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="reader")

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Reads what is committed now, and ends."""
        try:
            ends = wait_until(self._ends, 60, "the ends of all topics", every=0.5)
            assert ends is not None
            wait_until(lambda: all(self._at[at] >= end for at, end in ends.items()), 120, "all records", every=0.2)
        finally:
            self.stop()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _ends(self) -> dict[tuple[str, int], int] | None:
        admin = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
        try:
            return latest_offsets(admin, self._at, 20.0, IsolationLevel.READ_COMMITTED)
        except KafkaException:
            return None

    def _run(self) -> None:
        consumer = Consumer({
            "bootstrap.servers": self._bootstrap, "group.id": unique("checker"), "enable.auto.commit": False,
            "isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "error",
            "log_level": 0,
        })  # fmt: skip
        consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in self._at])
        while not self._end.is_set():
            for message in consumer.consume(5_000, 0.2):
                self._read(message)
        consumer.close()

    def _read(self, message: Any) -> None:
        at, error = (message.topic(), message.partition()), message.error()
        if error is None:
            self.records.add(*at, message.offset(), message.value())
            self._at[at] = message.offset() + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            self._at[at] = max(self._at[at], message.offset())
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self.faults.append(f"Kafka has lost records that the checker was to read next: {error}")
