"""Consumer groups of sinks: their offsets and members (KIP-875)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from runtime.kafka.clients import kafka_python
from runtime.kafka.clients.kafka_python import KafkaGroup, Member, TopicPartition
from runtime.kafka.clients.open_clients import admin_client
from runtime.kafka.errors import BrokerUnavailable, GroupError, OffsetsRefused
from runtime.kafka.request_batcher import RequestBatcher

_TIMEOUT = 15.0
_NEW_TOPIC = 0.5
"""Seconds after which a broker that has not learned of a new topic is asked again."""
_T = TypeVar("_T")

__all__ = ["Groups", "Member", "TopicPartition"]


class Groups:
    """Requests about groups. Every call raises BrokerUnavailable if Kafka does not respond and GroupError if it
    refuses; every call may be repeated. `settings` are librdkafka settings that reach the cluster."""

    def __init__(self, settings: Mapping[str, Any], timeout: float = _TIMEOUT) -> None:
        """`timeout`: seconds for a request with all its attempts."""
        self._settings, self._timeout = dict(settings), timeout
        self._members: RequestBatcher[str, list[Member]] = RequestBatcher(self._members_of)

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """Committed offsets by partition; empty if the group does not exist."""
        return await self._ask(group, kafka_python.committed(group), "DESCRIBE") or {}

    async def exists(self, group: str) -> bool:
        groups = await self._ask(group, kafka_python.list_groups()) or []
        return any(listed.group == group for listed in groups)

    async def empty_groups(self) -> list[str]:
        """All consumer groups of the cluster without members."""
        groups = await self._ask("*", kafka_python.list_groups()) or []
        return sorted(g.group for g in groups if g.state == "Empty")

    async def check_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Raises OffsetsRefused with the partitions that do not exist."""
        missing = set(partitions)
        for wait in (0.0, _NEW_TOPIC):
            if missing:
                await asyncio.sleep(wait)
                metadata = await asyncio.to_thread(_metadata, self._settings, self._timeout)
                missing = {tp for tp in missing if not _exists(metadata, tp)}
        if missing:
            raise OffsetsRefused(dict.fromkeys(missing, "no such topic or partition"))

    async def alter(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set committed offsets. OffsetsRefused names the partitions that were refused; the others are set."""
        bad = {tp: "the partition is negative" for tp in offsets if tp[1] < 0}
        bad |= {tp: f"offset {offset} is not valid" for tp, offset in offsets.items() if not 0 <= offset < 2**63}
        if bad:
            raise OffsetsRefused(bad)
        if offsets:
            await self._ask(group, kafka_python.alter(group, offsets))

    async def delete_offsets(self, group: str, partitions: Iterable[TopicPartition]) -> None:
        """Remove the committed offsets of these partitions. Partitions without offset and unknown groups are
        ignored."""
        wanted = list(partitions)
        if wanted:
            await self._ask(group, kafka_python.delete_offsets(group, wanted), "DELETE")

    async def delete(self, group: str) -> None:
        """Remove the group with all its offsets; an unknown group is ignored."""
        await self._ask(group, kafka_python.delete(group), "DELETE")

    async def members(self, group: str) -> list[Member]:
        """The members, including dead ones whose session has not expired; empty if the group does not exist.

        Concurrent calls share requests: a starting worker may ask for a thousand groups."""
        return await self._members.get(group)

    async def _members_of(self, groups: Sequence[str]) -> Mapping[str, list[Member] | Exception]:
        if len(groups) > 1:
            with contextlib.suppress(GroupError):  # one of the groups was refused: request each separately
                described = (
                    await self._ask(f"{groups[0]} and others", kafka_python.describe_all(groups), "DESCRIBE") or {}
                )
                return {group: list(described[group].members) if group in described else [] for group in groups}
        responses = await asyncio.gather(
            *(self._ask(group, kafka_python.describe(group), "DESCRIBE") for group in groups), return_exceptions=True
        )
        return dict(zip(groups, map(_members_or_error, responses), strict=True))

    async def evict(self, group: str, members: Iterable[str]) -> None:
        """Remove members from the group, so that their partitions are free immediately. Unknown members are ignored."""
        wanted = sorted(members)
        if wanted:
            await self._ask(group, kafka_python.evict(group, wanted))

    async def _ask(self, group: str, request: Callable[[Any], _T], operation: str = "READ") -> _T | None:
        """None if the group does not exist. `operation`: the right that the request needs."""
        return await asyncio.to_thread(kafka_python.ask, self._settings, group, request, self._timeout, operation)


def _members_or_error(response: KafkaGroup | BaseException | None) -> list[Member] | Exception:
    if isinstance(response, BaseException):
        return response if isinstance(response, Exception) else GroupError(repr(response))
    return list(response.members) if response else []


def _metadata(settings: Mapping[str, Any], timeout: float) -> Any:
    """Metadata of all topics: a request for a missing topic might create it."""
    from confluent_kafka import KafkaException

    try:
        with admin_client(settings) as admin:
            return admin.list_topics(timeout=timeout)
    except KafkaException as e:
        raise BrokerUnavailable(f"Kafka did not respond: {e.args[0].str()}") from None


def _exists(metadata: Any, at: TopicPartition) -> bool:
    topic = metadata.topics.get(at[0])
    return topic is not None and topic.error is None and at[1] in topic.partitions
