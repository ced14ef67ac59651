"""End offsets of the storage topics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from runtime.kafka.clients.listed_offsets import list_offsets, listed_offset, offset_spec
from runtime.kafka.clients.open_clients import KeptAdmin
from runtime.kafka.log.reader import Position
from runtime.kafka.request_batcher import RequestBatcher

_log = logging.getLogger(__name__)
_RETRY_DELAY = 0.2  # seconds until end offsets are requested again
_FIRST_ATTEMPT, _LONGEST_ATTEMPT = 2.0, 8.0  # seconds of a request: the client waits for a dead leader until its end

Ends = dict[Position, int]
_Key = tuple[str, bool]  # a topic, and whether its uncommitted end is requested


class EndOffsets:
    """Requests the end offsets of topics, for many callers at once, until Kafka responds. Event loop only.

    `partitions` are those of all topics. `refused` is called when Kafka refuses a request. Every call raises
    TimeoutError after `timeout` seconds."""

    def __init__(
        self, settings: Mapping[str, Any], partitions: Collection[Position], refused: Callable[[], None], timeout: float
    ) -> None:
        self._partitions, self._refused, self._timeout = partitions, refused, timeout
        self._batcher: RequestBatcher[_Key, Ends] = RequestBatcher(self._request)
        self._admin = KeptAdmin(settings)

    async def committed(self, topic: str) -> Ends:
        """The last stable offsets: those of the first records of open transactions, or the uncommitted ends."""
        return await self._batcher.get((topic, False))

    async def uncommitted(self, topic: str) -> Ends:
        """The high watermarks: the ends of all records, with or without a transaction."""
        return await self._batcher.get((topic, True))

    def close(self) -> None:
        """Close the client."""
        self._admin.close()

    async def _request(self, keys: Sequence[_Key]) -> Mapping[_Key, Ends]:
        """A client from before a broker's restart may keep using the old leader epoch (FENCED_LEADER_EPOCH, seen with
        librdkafka 2.16), and one from before an election the dead leader, so a new client is created after a
        refusal."""
        from confluent_kafka import KafkaException

        attempt = min(_FIRST_ATTEMPT, self._timeout)
        async with asyncio.timeout(self._timeout):  # other requests wait for this one
            while True:
                try:
                    return await asyncio.to_thread(self._list, keys, attempt)
                except KafkaException as e:
                    _log.debug("End offsets of %s were refused: %s", ", ".join({topic for topic, _ in keys}), e)
                    self._refused()
                self._admin.renew()
                attempt = min(attempt * 2, _LONGEST_ATTEMPT, self._timeout)
                await asyncio.sleep(_RETRY_DELAY)

    def _list(self, keys: Sequence[_Key], seconds: float) -> dict[_Key, Ends]:
        from confluent_kafka import IsolationLevel, TopicPartition

        latest = offset_spec("latest")
        ends: dict[_Key, Ends] = {key: {} for key in keys}
        with self._admin.use() as admin:
            for uncommitted in {uncommitted for _, uncommitted in keys}:
                level = IsolationLevel.READ_UNCOMMITTED if uncommitted else IsolationLevel.READ_COMMITTED
                partitions = tuple(self._partitions)  # at once: the event loop may add some meanwhile
                asked = {TopicPartition(t, p): latest for t, p in partitions if (t, uncommitted) in ends}
                for tp, future in list_offsets(admin, asked, seconds, level).items():
                    ends[tp.topic, uncommitted][tp.topic, tp.partition] = listed_offset(future.result())
        return ends
