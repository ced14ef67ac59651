"""Transactions that hang because a broker lost their markers, which nothing a client does can end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_ENDED = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


@dataclass(frozen=True, slots=True)
class LostMarker:
    """A transaction which its coordinator has ended, while a partition still has it open."""

    topic: str
    partition: int
    offset: int  # of its first record
    producer_id: int
    transactional_id: str
    state: str  # the coordinator's

    def __str__(self) -> str:
        return (
            f"{self.topic}-{self.partition} has an open transaction at offset {self.offset}, but the coordinator says "
            f"{self.state} of it (transactional id {self.transactional_id}, producer id {self.producer_id})"
        )


class MarkersLost(Exception):
    """A run proves nothing, since its broker has lost markers."""

    def __init__(self, lost: Sequence[LostMarker]) -> None:
        super().__init__(f"the broker lost markers of transactions: {'; '.join(map(str, lost))}")


def lost_markers(bootstrap: str, after: float = 5.0) -> list[LostMarker]:
    """Those of all topics that are the same `after` seconds later: between a coordinator's decision and its markers, a
    transaction looks the same."""
    from kafka import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        first = set(_lost(admin))
        if not first:
            return []
        time.sleep(after)
        return sorted(first & set(_lost(admin)), key=str)
    finally:
        admin.close()


def _lost(admin: Any) -> Iterator[LostMarker]:
    from kafka import TopicPartition

    partitions = [
        TopicPartition(topic["name"], partition["partition_index"])
        for topic in admin.describe_topics()
        for partition in topic["partitions"]
    ]
    listed = [transaction for part in admin.list_transactions().values() for transaction in part]
    known = {transaction.producer_id: transaction for transaction in listed}
    for at, state in admin.describe_producers(partitions).items():
        for producer in state.active_producers:
            if (offset := producer.current_transaction_start_offset) < 0:
                continue
            transaction = known.get(producer.producer_id)
            if transaction is None:
                yield LostMarker(at.topic, at.partition, offset, producer.producer_id, "unknown", "nothing")
            elif transaction.state.value in _ENDED:
                name = transaction.transactional_id
                yield LostMarker(at.topic, at.partition, offset, producer.producer_id, name, transaction.state.value)
