"""The offsets from which a sink task reads partitions that have just been assigned."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.kafka.clients.offset_reset import AGE
from runtime.kafka.denials import consumer_error_text
from runtime.pipeline.task.control import StoppedError

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as KafkaPartition

    from runtime.pipeline.sink.assigned_topics import TopicIds
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

    def first_offsets(self, consumer: Consumer, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The offsets from which the partitions are read, or the client's logical offset for a partition that does not
        exist. ConnectError if the policy is Java's "none"."""
        from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

        if self.age is not None:
            since = max(0, int((time.time() - self.age) * 1000))
            first = listed_offsets(consumer, partitions, since, _REQUEST_TIMEOUT)
            ends = listed_offsets(consumer, _without_record(first), OFFSET_END, _REQUEST_TIMEOUT)
            return {**dict.fromkeys(partitions, OFFSET_END), **first, **ends}
        if self.policy == "error" and partitions:
            names = ", ".join(f"{topic}-{partition}" for topic, partition in partitions)
            raise ConnectError(f"Undefined offset with no reset policy for partitions: [{names}]")
        at = OFFSET_END if self.policy in ("latest", "largest", "end") else OFFSET_BEGINNING
        return {**dict.fromkeys(partitions, at), **listed_offsets(consumer, partitions, at, _REQUEST_TIMEOUT)}


def listed_offsets(
    consumer: Consumer, partitions: Collection[TopicPartition], at: int, timeout: float
) -> dict[TopicPartition, int]:
    """The offsets of the first records at this time (milliseconds since 1970), or at the client's logical offset.
    Takes one request to each leader, however many partitions it has; the client has no other call for that.
    A partition without such a record has a logical offset, one that does not exist is left out."""
    from confluent_kafka import KafkaException
    from confluent_kafka import TopicPartition as KafkaPartition

    if not partitions:
        return {}
    try:
        listed = consumer.offsets_for_times([KafkaPartition(*tp, at) for tp in partitions], timeout=timeout)
    except KafkaException as error:  # a leader that does not know one partition fails the request for all
        if error.args[0].name() not in _UNKNOWN:
            raise
        parts = _divided(partitions)
        return {tp: o for part in parts for tp, o in listed_offsets(consumer, part, at, timeout).items()}
    offsets: dict[TopicPartition, int] = {}
    for p in listed:
        if p.error is None:
            offsets[TopicPartition(p.topic, p.partition)] = int(p.offset)
        elif p.error.name() not in _UNKNOWN:
            raise KafkaException(p.error)
    return offsets


def _divided(partitions: Collection[TopicPartition]) -> list[list[TopicPartition]]:
    """The partitions of each topic, or two halves of those of one topic; nothing for a single partition."""
    ordered = sorted(partitions)
    topics = [list(group) for _, group in groupby(ordered, key=attrgetter("topic"))]
    if len(topics) > 1:
        return topics
    half = len(ordered) // 2
    return [ordered[:half], ordered[half:]] if half else []


def _without_record(offsets: Mapping[TopicPartition, int]) -> list[TopicPartition]:
    return [tp for tp, offset in offsets.items() if offset < 0]


def starting_offsets(
    consumer: Consumer,
    partitions: list[KafkaPartition],
    reset: Reset,
    control: TaskControl,
    settings: Mapping[str, Any],
    ids: TopicIds,
) -> list[KafkaPartition]:
    """The partitions at their committed offsets, or at those that `reset` selects. Repeats the request while the
    coordinator is silent and the lease holds; StoppedError if the task is stopped meanwhile, ConnectError if Kafka
    refuses. `settings` are the consumer's."""
    return _repeated(lambda: _offsets(consumer, partitions, reset, ids), control, settings)


def reset_offsets(
    consumer: Consumer,
    partitions: Collection[TopicPartition],
    reset: Reset,
    control: TaskControl,
    settings: Mapping[str, Any],
) -> dict[TopicPartition, int]:
    """The offsets from which partitions are read whose positions are out of range. Repeats as starting_offsets()."""
    return _repeated(lambda: reset.first_offsets(consumer, partitions), control, settings)


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
                raise ConnectError(f"The offsets of partitions could not be read: {text}") from None
            _log.warning("The offsets of partitions could not be read, retrying: %s", error.args[0].str())
        if control.stopping:
            raise StoppedError
        control.wait(wait)
        wait = min(wait * 2, _MAX_RETRY_DELAY)


def _offsets(consumer: Consumer, partitions: list[KafkaPartition], reset: Reset, ids: TopicIds) -> list[KafkaPartition]:
    from confluent_kafka import KafkaException

    if not partitions:
        return []
    committed = consumer.committed(partitions, timeout=_REQUEST_TIMEOUT)
    for p in committed:
        if p.error is not None:
            raise KafkaException(p.error)
    deleted = [p for p in committed if p.offset >= 0 and ids.is_of_deleted(p.topic, p.metadata or "")]
    if deleted:
        names = ", ".join(f"{p.topic}-{p.partition} at {p.offset}" for p in deleted)
        _log.warning("Offsets that were committed for deleted topics of the same names are not used: %s", names)
    missing = [*(p for p in committed if p.offset < 0), *deleted]
    first = reset.first_offsets(consumer, [TopicPartition(p.topic, p.partition) for p in missing])
    for p in missing:
        p.offset = first[TopicPartition(p.topic, p.partition)]
    return committed
