"""Requests for end offsets that Kafka does not answer."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.log import TopicLogs, TopicSpec


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
