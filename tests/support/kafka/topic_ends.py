"""Transactions of a topic with one partition, seen by its two ends."""

from __future__ import annotations

from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from tests.support.waiting import allowed


class TopicEnds:
    """Requests the ends of partition 0 with one client. KafkaException while the broker is away."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._at = bootstrap, TopicPartition(topic, 0)
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
        asked = {self._at: OffsetSpec.latest()}  # type: ignore[no-untyped-call]  # confluent-kafka has no types here
        try:
            end = int(self._admin.list_offsets(asked, isolation_level=level)[self._at].result(allowed(20)).offset)
            if end < 0:  # the client reports -1001 without an error if the leader has died
                raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
        except KafkaException:
            self._admin = None  # a client from before a restart of the broker may use an old leader epoch
            raise
        return end
