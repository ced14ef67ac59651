"""Consumer groups of sinks: their offsets and members (KIP-875)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from runtime.kafka.errors import BrokerUnavailable, GroupError, OffsetsRefused
from runtime.kafka.kafka_python import Member, ask, describe, evict, not_empty

_TIMEOUT = 15.0  # seconds for one request
_T = TypeVar("_T")

TopicPartition = tuple[str, int]


class Groups:
    """Requests about groups. Every call raises BrokerUnavailable when Kafka does not answer, and GroupError when it
    refuses. `settings` are librdkafka settings that reach the cluster."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._admin: Any = None

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """Committed offsets; none for a group that does not exist."""
        from confluent_kafka import ConsumerGroupTopicPartitions as OfGroup

        futures = self._client().list_consumer_group_offsets([OfGroup(group)], request_timeout=_TIMEOUT)
        found = await _result(futures[group], group)
        return {
            (tp.topic, tp.partition): tp.offset for tp in found.topic_partitions if tp.error is None and tp.offset >= 0
        }

    async def check_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """OffsetsRefused names the partitions that do not exist."""
        wanted = set(partitions)
        if not wanted:
            return
        metadata = await _in_thread(lambda: self._client().list_topics(timeout=_TIMEOUT))
        missing = {tp: "no such topic or partition" for tp in wanted if not _exists(metadata, tp)}
        if missing:
            raise OffsetsRefused(missing)

    async def alter(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set committed offsets; OffsetsRefused when some were not (the others are)."""
        from confluent_kafka import ConsumerGroupTopicPartitions as OfGroup
        from confluent_kafka import TopicPartition as At

        _check_range(offsets)
        if not offsets:
            return
        request = [OfGroup(group, [At(topic, partition, offset) for (topic, partition), offset in offsets.items()])]
        futures = self._client().alter_consumer_group_offsets(request, request_timeout=_TIMEOUT)
        done = await _result(futures[group], group)
        refused = {(tp.topic, tp.partition): tp.error for tp in done.topic_partitions if tp.error is not None}
        if any(e.name() == "UNKNOWN_MEMBER_ID" for e in refused.values()):
            raise not_empty(group)
        if refused:
            raise OffsetsRefused({tp: e.str() for tp, e in refused.items()})

    async def delete_offsets(self, group: str, partitions: Iterable[TopicPartition]) -> None:
        """Remove the committed offsets of these partitions; those without one, and unknown groups, are no error."""
        wanted = list(partitions)
        if not wanted:
            return
        from kafka import TopicPartition as At

        asked = [At(topic, partition) for topic, partition in wanted]
        errors = await self._ask(group, lambda admin: admin.delete_group_offsets(group, asked))
        refused = {(tp.topic, tp.partition): e for tp, e in (errors or {}).items() if e.errno != 0}
        if any(e.__name__ == "GroupSubscribedToTopicError" for e in refused.values()):
            raise not_empty(group)
        unknown = ("UnknownTopicOrPartitionError",)  # there is no offset to remove
        refused = {tp: e for tp, e in refused.items() if e.__name__ not in unknown}
        if refused:
            raise OffsetsRefused({tp: e.__name__ for tp, e in refused.items()})

    async def delete(self, group: str) -> None:
        """Remove the group with all its offsets; a group that does not exist is no error."""
        futures = self._client().delete_consumer_groups([group], request_timeout=_TIMEOUT)
        await _result(futures[group], group, ignore="GROUP_ID_NOT_FOUND")

    async def members(self, group: str) -> list[Member]:
        """Live members, and dead ones that are not missed yet; none for a group that does not exist."""
        found = await self._ask(group, describe(group))
        return list(found.members) if found else []

    async def evict(self, group: str, members: Iterable[str]) -> None:
        """Make the coordinator forget members, so that their partitions are free at once; unknown ones are no error."""
        wanted = sorted(members)
        if wanted:
            await self._ask(group, evict(group, wanted))

    def _client(self) -> Any:
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            self._admin = AdminClient({**self._settings, "log_level": 2})
        return self._admin

    async def _ask(self, group: str, request: Callable[[Any], _T]) -> _T | None:
        """A request that only kafka-python has; None when there is no such group."""
        return await _in_thread(lambda: ask(self._settings, group, request, _TIMEOUT))


async def _in_thread(call: Callable[[], _T]) -> _T:
    from confluent_kafka import KafkaException

    try:
        return await asyncio.to_thread(call)
    except KafkaException as e:
        raise BrokerUnavailable(f"Kafka did not answer: {e.args[0].str()}") from None


async def _result(future: Future[Any], group: str, ignore: str = "") -> Any:
    from confluent_kafka import KafkaException

    try:
        return await asyncio.wrap_future(future)
    except KafkaException as e:
        error = e.args[0]
    if error.name() == ignore:
        return None
    if error.name() in ("NON_EMPTY_GROUP", "UNKNOWN_MEMBER_ID"):
        raise not_empty(group)
    if error.retriable() or error.name() in ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN"):
        raise BrokerUnavailable(f"Kafka did not answer about group {group}: {error.str()}")
    raise GroupError(f"Kafka refused a request about group {group}: {error.str()}")


def _check_range(offsets: Mapping[TopicPartition, int]) -> None:
    """What the client library would refuse with a riddle."""
    bad = {tp: "the partition is negative" for tp in offsets if tp[1] < 0}
    bad |= {tp: f"offset {offset} is not possible" for tp, offset in offsets.items() if not 0 <= offset < 2**63}
    if bad:
        raise OffsetsRefused(bad)


def _exists(metadata: Any, at: TopicPartition) -> bool:
    topic = metadata.topics.get(at[0])
    return topic is not None and topic.error is None and at[1] in topic.partitions
