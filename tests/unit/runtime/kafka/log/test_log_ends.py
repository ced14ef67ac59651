"""Questions for the ends of topics that Kafka does not answer."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import Future
from typing import Any
from unittest.mock import Mock

import pytest

from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.log import TopicLogs, TopicSpec


async def test_a_question_that_is_not_answered_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Others wait for their turn: a topic that is gone must not keep the ends of all topics from being asked for."""
    logs = TopicLogs({"bootstrap.servers": "nowhere:9092"}, timeout=0.05)
    topic = logs.open(TopicSpec("t", 1, 1, "status.storage"), lambda records: None)
    logs._positions["t", 0] = 1

    def never(asked: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        return {position: Future() for position in asked}

    admin = Mock(list_offsets=never)
    monkeypatch.setattr(logs, "_admin_client", lambda: admin)
    with pytest.raises(BrokerUnavailable):
        await topic.read_to_end()
    async with asyncio.timeout(2):
        while logs._ends._in_flight.locked():  # noqa: ASYNC110 - nothing tells when a question is given up
            await asyncio.sleep(0.001)
    del topic, logs
    gc.collect()
    assert not caplog.records, "asyncio has nothing to report"
