"""Questions for the ends of topics that Kafka refuses."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from runtime.kafka import log
from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log import TopicLogs, TopicSpec


async def test_a_question_that_is_refused_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for their turn: a topic that is gone must not keep the ends of all topics from being asked for."""
    monkeypatch.setattr(log, "_AGAIN", 0.001)
    logs = TopicLogs({"bootstrap.servers": "nowhere:9092"}, timeout=0.05)
    topic = logs.open(TopicSpec("t", 1, 1, "status.storage"), lambda records: None)
    logs._positions["t", 0] = 1

    def refuse(asked: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        refused: Future[Any] = Future()
        refused.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
        return dict.fromkeys(asked, refused)

    monkeypatch.setattr(logs, "_admin_client", lambda: Mock(list_offsets=refuse))
    with pytest.raises(BrokerUnavailable):
        await topic.read_to_end()
    async with asyncio.timeout(5):
        while logs._ends._one_at_a_time.locked():  # noqa: ASYNC110 - nothing tells when a question is given up
            await asyncio.sleep(0.001)
