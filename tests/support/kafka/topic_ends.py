"""The ends of partitions, and transactions of a topic with one partition, seen by its two ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from runtime.kafka.clients.listed_offsets import list_offsets, listed_offset, offset_spec
from tests.support.waiting import allowed


def latest_offsets(
    admin: Any,
    partitions: Iterable[tuple[str, int]],
    timeout: float,
    level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[tuple[str, int], int]:
    """The ends of these partitions. KafkaException, also if a leader has died."""
    asked = {TopicPartition(*at): offset_spec("latest") for at in partitions}
    listed = list_offsets(admin, asked, timeout, level)
    return {(at.topic, at.partition): listed_offset(future.result()) for at, future in listed.items()}


class TopicEnds:
    """Requests the ends of partition 0 with one client. KafkaException while the broker is away."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._at = bootstrap, (topic, 0)
        self._admin: Any = None

    def committed(self) -> int:
        """The last stable offset, up to which consumers with `read_committed` read."""
        return self._end(IsolationLevel.READ_COMMITTED)

    def written(self) -> int:
        """The end of all records."""
        return self._end(IsolationLevel.READ_UNCOMMITTED)

    def is_open(self) -> bool:
        """Whether a transaction with records is open."""
        return self.committed() < self.written()

    def _end(self, level: IsolationLevel) -> int:
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
        try:
            return latest_offsets(self._admin, [self._at], allowed(20), level)[self._at]
        except KafkaException:
            self._admin = None  # a client from before a restart of the broker may use an old leader epoch
            raise
