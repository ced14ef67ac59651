"""Offsets of a partition whose leader has died, before and after the election of another one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaException

from runtime.kafka.clients import open_clients
from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.end_offsets import EndOffsets
from runtime.kafka.positions import Positions
from tests.support.kafka.mock_kafka import MockKafka
from tests.support.kafka.topic_ends import latest_offsets
from tests.support.waiting import wait_until
from tui import kafka_clients
from tui.errors import Unreachable
from tui.offsets.brokers import Brokers

_WITHOUT = 1.0  # seconds of a request to a dead leader
_MOST_CONNECTS = 8  # to the dead broker meanwhile; with sparse connections there are hundreds


@pytest.fixture
def kafka() -> MockKafka:
    """Two brokers; topic `t` is led by the second one."""
    found = MockKafka(brokers=2)
    found.create_topic("t")
    found.elect_leader("t", broker=2)
    return found


@pytest.mark.parametrize("module", [open_clients, kafka_clients], ids=["worker", "console"])
def test_a_request_to_a_dead_leader_keeps_the_delays_between_connections(kafka: MockKafka, module: Any) -> None:
    connects = [0]

    def count(statistics: str) -> None:
        brokers = json.loads(statistics)["brokers"].values()
        connects.extend(broker["connects"] for broker in brokers if broker["nodeid"] == 2)

    admin = module.KeptAdmin({"bootstrap.servers": kafka.bootstrap, "statistics.interval.ms": 100, "stats_cb": count})
    with admin.use() as client:
        assert latest_offsets(client, [("t", 0)], 20.0) == {("t", 0): 0}
        wait_until(lambda: client.poll(0.02) or max(connects) > 0)
        kafka.set_down(2)
        with suppress(KafkaException):
            latest_offsets(client, [("t", 0)], _WITHOUT)
        for _ in range(20):  # statistics of the last seconds, until the client drops the broker
            client.poll(0.02)
    admin.renew()
    assert max(connects) <= _MOST_CONNECTS


async def test_an_end_is_read_from_the_next_leader(kafka: MockKafka) -> None:
    ends = EndOffsets({"bootstrap.servers": kafka.bootstrap}, [("t", 0)], lambda: kafka.elect_leader("t"), 20.0)
    assert await ends.committed("t") == {("t", 0): 0}
    kafka.set_down(2)
    started = time.monotonic()
    assert await ends.committed("t") == {("t", 0): 0}
    assert time.monotonic() - started < 15.0, "the client waits for the dead leader until the request times out"
    ends.close()


def test_a_dead_leader_has_no_offsets(kafka: MockKafka) -> None:
    """librdkafka reports an offset below zero, and no error."""
    positions, brokers = (
        Positions({"bootstrap.servers": kafka.bootstrap}, _WITHOUT),
        Brokers(kafka.bootstrap, {}, _WITHOUT),
    )
    ends: list[Callable[[], Any]] = [
        lambda: asyncio.run(positions.ends([("t", 0)])),
        lambda: brokers.ends([("t", 0)]),
    ]
    for read in ends:
        wait_until(partial(_or_none, read))
    kafka.set_down(2)
    for read in ends:
        with pytest.raises((BrokerUnavailable, Unreachable), match="leader"):
            read()


def _or_none(read: Callable[[], Any]) -> Any:
    """None if the machine is too busy for the short time limit."""
    try:
        return read()
    except (BrokerUnavailable, Unreachable):
        return None
