"""The offsets from which a sink task reads partitions that have just been assigned."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.api.errors import ConnectError
from runtime.kafka.clients.offset_reset import AGE
from runtime.kafka.denials import consumer_error_text
from runtime.pipeline.task.control import StoppedError

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as KafkaPartition

    from runtime.pipeline.task.control import TaskControl

_T = TypeVar("_T")

_log = logging.getLogger(__name__)

_REQUEST_TIMEOUT = 10.0  # seconds for one request to the broker
_FIRST_RETRY_DELAY, _MAX_RETRY_DELAY = 0.1, 2.0  # seconds between two attempts
_FINAL = (
    "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "_UNSUPPORTED_FEATURE",
)  # fmt: skip
_UNKNOWN = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC")


@dataclass(frozen=True, slots=True)
class Reset:
    """Where a partition without a valid offset is read (`auto.offset.reset`)."""

    policy: str  # librdkafka's
    age: float | None  # seconds: at the first record that is not older; None: as the policy says

    @staticmethod
    def of(consumer: Mapping[str, Any]) -> Reset:
        """The reset of a consumer with these settings."""
        return Reset(str(consumer.get("auto.offset.reset", "earliest")), consumer.get(AGE))

    def first_offset(self, consumer: Consumer, partition: KafkaPartition) -> int:
        """The offset from which the partition is read, or the client's logical offset for a partition that does not
        exist. ConnectError if the policy is Java's "none"."""
        from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaException
        from confluent_kafka import TopicPartition as KafkaPartition

        if self.policy == "error" and self.age is None:
            raise ConnectError(
                f"Undefined offset with no reset policy for partition {partition.topic}-{partition.partition}"
            )
        latest = self.age is not None or self.policy in ("latest", "largest", "end")
        try:
            if self.age is not None:
                since = max(0, int((time.time() - self.age) * 1000))
                asked = [KafkaPartition(partition.topic, partition.partition, since)]
                (start,) = consumer.offsets_for_times(asked, timeout=_REQUEST_TIMEOUT)
                if start.offset >= 0:
                    return int(start.offset)
            low, high = consumer.get_watermark_offsets(partition, timeout=_REQUEST_TIMEOUT)
        except KafkaException as error:
            if error.args[0].name() not in _UNKNOWN:
                raise
            return int(OFFSET_END if latest else OFFSET_BEGINNING)
        return high if latest else low


def starting_offsets(
    consumer: Consumer,
    partitions: list[KafkaPartition],
    reset: Reset,
    control: TaskControl,
    settings: Mapping[str, Any],
) -> list[KafkaPartition]:
    """The partitions at their committed offsets, or at those that `reset` selects. Repeats the request while the
    coordinator is silent and the lease holds; StoppedError if the task is stopped meanwhile, ConnectError if Kafka
    refuses. `settings` are the consumer's."""
    return _repeated(lambda: _offsets(consumer, partitions, reset), control, settings)


def reset_offset(
    consumer: Consumer, partition: KafkaPartition, reset: Reset, control: TaskControl, settings: Mapping[str, Any]
) -> int:
    """The offset from which a partition is read whose position is out of range. Repeats as starting_offsets()."""
    return _repeated(lambda: reset.first_offset(consumer, partition), control, settings)


def _repeated(ask: Callable[[], _T], control: TaskControl, settings: Mapping[str, Any]) -> _T:
    from confluent_kafka import KafkaException

    wait = _FIRST_RETRY_DELAY
    while True:
        control.check()
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].name() in _FINAL:
                text = consumer_error_text(error.args[0], settings, None)
                raise ConnectError(f"The committed offsets could not be read: {text}") from None
            _log.warning("Committed offsets could not be read, retrying: %s", error.args[0].str())
        if control.stopping:
            raise StoppedError
        control.wait(wait)
        wait = min(wait * 2, _MAX_RETRY_DELAY)


def _offsets(consumer: Consumer, partitions: list[KafkaPartition], reset: Reset) -> list[KafkaPartition]:
    from confluent_kafka import KafkaException

    if not partitions:
        return []
    committed = consumer.committed(partitions, timeout=_REQUEST_TIMEOUT)
    for p in committed:
        if p.error is not None:
            raise KafkaException(p.error)
        if p.offset < 0:
            p.offset = reset.first_offset(consumer, p)
    return committed
