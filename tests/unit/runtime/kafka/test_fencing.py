"""Fencing of transactional producers on a real broker."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from kafka import errors

from runtime.kafka import fencing
from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.fencing import fence
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.topics import committed_end


def producer_in_transaction(broker: KafkaBroker, transactional_id: str, topic: str) -> Producer:
    """A producer with an open transaction that holds one record."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"uncommitted")
    producer.flush(20)
    return producer


async def test_open_transactions_are_aborted_and_their_producers_refused(broker: KafkaBroker) -> None:
    topic, prefix = broker.create_topic(), unique("fenced")
    ids = [f"{prefix}-{number}" for number in range(12)]
    zombies = [producer_in_transaction(broker, ids[number], topic) for number in (0, 7)]
    assert committed_end(broker.bootstrap, topic) == 0
    started = time.monotonic()
    await fence({"bootstrap.servers": broker.bootstrap}, ids)
    assert time.monotonic() - started < 30  # far less than the 60 s after which Kafka itself aborts a transaction
    assert committed_end(broker.bootstrap, topic) == 4  # two records and two markers
    for zombie in zombies:
        with pytest.raises(KafkaException, match=r"_FENCED|fenced"):
            zombie.commit_transaction(20)


async def test_a_producer_that_starts_after_the_fencing_is_not_affected(broker: KafkaBroker) -> None:
    topic, transactional_id = broker.create_topic(), unique("successor")
    await fence({"bootstrap.servers": broker.bootstrap}, [transactional_id, transactional_id])
    successor = producer_in_transaction(broker, transactional_id, topic)
    successor.commit_transaction(20)
    assert committed_end(broker.bootstrap, topic) == 2


async def test_a_broker_that_cannot_be_reached() -> None:
    with pytest.raises(BrokerUnavailable, match="transactional id one, two within 1 seconds"):
        await fence({"bootstrap.servers": "127.0.0.1:1"}, ["one", "two"], within=1)
    await fence({"bootstrap.servers": "127.0.0.1:1"}, [])


async def test_no_attempt_is_too_short_to_fail_for_its_own_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that has half a second cannot connect to brokers of which one is dead."""
    seconds = []

    def attempt(settings: Any, wanted: list[str], timeout: float) -> dict[str, Exception]:
        seconds.append(timeout)
        return dict.fromkeys(wanted, errors.ConcurrentTransactionsError())

    monkeypatch.setattr(fencing, "_attempt", attempt)
    with pytest.raises(BrokerUnavailable, match="ConcurrentTransactions"):
        await fence({"bootstrap.servers": "127.0.0.1:1"}, ["t"], within=2)
    assert len(seconds) > 1 and min(seconds) > 0.5, "a second, less what the machine has delayed it"
