"""Requests for end offsets that Kafka does not answer."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.end_offsets import EndOffsets
from runtime.kafka.log.log import TopicLogs, TopicSpec
from tests.support.never_called import NEVER_CALLED


async def test_a_request_without_an_answer_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    """Other requests wait for their turn: a missing topic must not block the requests for all topics."""
    logs = TopicLogs({"bootstrap.servers": "nowhere:9092"}, timeout=0.05)
    topic = logs.open(TopicSpec("t", 1, 1, "status.storage"), lambda records: None)
    logs._positions["t", 0] = 1

    held = threading.Event()
    lists: Any = SimpleNamespace(list_topics=lambda *_, **__: held.wait(10), list_offsets=lambda *_, **__: {})
    admin: Any = SimpleNamespace(use=lambda: nullcontext(lists))
    logs._ends._admin = admin
    with pytest.raises(BrokerUnavailable):
        await topic.read_to_end()
    async with asyncio.timeout(2):
        while logs._ends._batcher._in_flight.locked():  # noqa: ASYNC110 - no event for an abandoned request
            await asyncio.sleep(0.001)
    held.set()
    del topic, logs
    gc.collect()
    assert not caplog.records, "asyncio has nothing to report"


async def test_partitions_may_be_added_while_their_ends_are_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are made on a thread, while the event loop applies what has been read of new partitions."""
    positions = {("t", number): 0 for number in range(3)}
    ends = EndOffsets({"bootstrap.servers": "nowhere:9092"}, positions, NEVER_CALLED, 5.0)
    admin: Any = SimpleNamespace(use=lambda: nullcontext(None))
    ends._admin = admin

    def asked(topic: str, partition: int) -> TopicPartition:
        positions[topic, partition + 3] = 0
        return TopicPartition(topic, partition)

    monkeypatch.setattr("confluent_kafka.TopicPartition", asked)
    monkeypatch.setattr("runtime.kafka.log.end_offsets.list_offsets", lambda *_: {})
    assert await ends.committed("t") == {}
    assert len(positions) == 6
