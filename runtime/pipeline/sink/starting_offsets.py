"""The offsets from which a sink task reads partitions that have just been assigned."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from runtime.api.errors import ConnectError
from runtime.pipeline.task.control import StoppedError

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as KafkaPartition

    from runtime.pipeline.task.control import TaskControl

_log = logging.getLogger(__name__)

_REQUEST_TIMEOUT = 10.0  # seconds for one request to the broker
_FIRST_RETRY_DELAY, _MAX_RETRY_DELAY = 0.1, 2.0  # seconds between two attempts
_FINAL = (
    "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "_UNSUPPORTED_FEATURE",
)  # fmt: skip
_UNKNOWN = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC")


def starting_offsets(
    consumer: Consumer, partitions: list[KafkaPartition], reset: str, control: TaskControl
) -> list[KafkaPartition]:
    """The partitions at their committed offsets, or at those that `reset` (auto.offset.reset) selects. Repeats the
    request while the coordinator is silent and the lease holds; StoppedError if the task is stopped meanwhile."""
    from confluent_kafka import KafkaException

    wait = _FIRST_RETRY_DELAY
    while True:
        control.check()
        try:
            return _offsets(consumer, partitions, reset)
        except KafkaException as error:
            if error.args[0].name() in _FINAL:
                raise
            _log.warning("Committed offsets could not be read, retrying: %s", error.args[0].str())
        if control.stopping:
            raise StoppedError
        control.wait(wait)
        wait = min(wait * 2, _MAX_RETRY_DELAY)


def _offsets(consumer: Consumer, partitions: list[KafkaPartition], reset: str) -> list[KafkaPartition]:
    from confluent_kafka import KafkaException

    if not partitions:
        return []
    committed = consumer.committed(partitions, timeout=_REQUEST_TIMEOUT)
    for p in committed:
        if p.error is not None:
            raise KafkaException(p.error)
        if p.offset < 0 and reset == "error":  # Java's "none"
            raise ConnectError(f"Undefined offset with no reset policy for partition {p.topic}-{p.partition}")
        if p.offset < 0:
            p.offset = _first_offset(consumer, p, reset in ("latest", "largest", "end"))
    return committed


def _first_offset(consumer: Consumer, partition: KafkaPartition, latest: bool) -> int:
    """The first or the next offset; the client's logical offset for a partition that does not exist."""
    from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaException

    try:
        low, high = consumer.get_watermark_offsets(partition, timeout=_REQUEST_TIMEOUT)
    except KafkaException as error:
        if error.args[0].name() not in _UNKNOWN:
            raise
        return int(OFFSET_END if latest else OFFSET_BEGINNING)
    return high if latest else low
