"""Offsets of partitions as their leaders list them (ListOffsets)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

_SINGLE = 16  # topics whose leaders are asked for one by one; more are found in the metadata of all topics


def offset_spec(kind: str, *values: int) -> Any:
    """What list_offsets() is asked for: `latest`, `earliest`, or another kind of confluent-kafka's OffsetSpec."""
    from confluent_kafka.admin._listoffsets import OffsetSpec

    return getattr(OffsetSpec, kind)(*values)


def list_offsets(admin: Any, asked: Mapping[Any, Any], timeout: float, level: Any = None) -> dict[Any, Future[Any]]:
    """AdminClient.list_offsets() for confluent-kafka's TopicPartitions and their specs, with the IsolationLevel
    `level`. Blocks until the leaders are known; KafkaException if a request for them takes more than `timeout` seconds.

    If the client does not know a leader, librdkafka 2.16 still uses the request in the caller's thread when its own
    thread may have finished and freed it: a segmentation fault, about once in 300,000 calls."""
    topics = {at.topic for at in asked}
    for topic in topics if len(topics) <= _SINGLE else [None]:
        admin.list_topics(topic, timeout=timeout)
    isolation = {} if level is None else {"isolation_level": level}
    return dict(admin.list_offsets(dict(asked), request_timeout=timeout, **isolation))


def listed_offset(listed: Any) -> int:
    """The offset in a result of list_offsets(). KafkaException if the leader has not responded, which librdkafka
    reports as OFFSET_INVALID without an error."""
    from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

    if listed.offset == OFFSET_INVALID:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the partition's leader does not respond"))
    return int(listed.offset)
