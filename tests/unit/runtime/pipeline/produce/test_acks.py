"""Acknowledgements of whole batches, and the behaviour of the client library that they rely on."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import KafkaError, Message

from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.producers import Producers, SlotProducer
from tests.support.broker import KafkaBroker
from tests.support.waiting import wait_until

OFFSETS = {b"k": {"position": 1}}


def served(producer: SlotProducer) -> bool:
    """Serves pending delivery reports."""
    producer.poll(0.05)
    return True


def test_a_batch_is_acknowledged_by_its_last_report(broker: KafkaBroker, topic: str) -> None:
    producer = Producers().take({"bootstrap.servers": broker.bootstrap, "linger.ms": 200})
    acks = Acks()
    delivery = acks.begin(OFFSETS)
    for _ in range(1000):
        producer.produce(topic, b"x", on_delivery=delivery)
    del delivery
    acks.seal()
    assert acks.take() == {}, "no delivery report was served yet"
    wait_until(lambda: served(producer) and acks.take() == OFFSETS)
    assert not acks.pending


def test_batches_are_acknowledged_in_order() -> None:
    acks = Acks()
    first, second = acks.begin({b"k": {"n": 1}}), None
    acks.seal()
    second = acks.begin({b"k": {"n": 2}, b"l": None})
    acks.seal()
    del second
    assert acks.take() == {}
    del first
    assert acks.take() == {b"k": {"n": 2}, b"l": None}


def test_a_batch_that_was_not_queued_completely_is_not_acknowledged() -> None:
    acks = Acks()
    acks.begin(OFFSETS)
    assert acks.take() == {}
    acks.drop_unsealed()
    assert not acks.pending


def test_a_failed_message_fails_its_batch(broker: KafkaBroker, topic: str) -> None:
    producer = Producers().take({"bootstrap.servers": broker.bootstrap})
    acks = Acks()
    producer.produce(topic, b"x", partition=77, on_delivery=acks.begin(OFFSETS))
    acks.seal()
    wait_until(lambda: served(producer) and acks.error)
    assert acks.take() == {}


def test_a_report_that_cannot_be_processed_fails_its_batch() -> None:
    def tolerates(error: KafkaError) -> bool:
        raise SystemError("the fatal error of the producer is pending")

    acks, error = Acks(tolerates), KafkaError(KafkaError._FATAL)
    delivery = acks.begin(OFFSETS)
    acks.seal()
    with pytest.raises(SystemError):
        delivery(error, cast("Message", SimpleNamespace(topic=lambda: "t")))
    del delivery
    assert (acks.take(), acks.error) == ({}, error)


def test_producers_are_shared_by_settings(broker: KafkaBroker) -> None:
    producers, settings = Producers(), {"bootstrap.servers": broker.bootstrap}
    shared = producers.take(settings)
    assert producers.take(dict(settings)) is shared
    assert producers.take({**settings, "linger.ms": 1}) is not shared
    own = producers.take(settings, "c-0")
    assert own is not shared
    producers.drop("c-0")
    assert producers.take(settings, "c-0") is not own
    with pytest.raises(Exception, match="no-such"):
        producers.take({**settings, "no-such.setting": 1})


def test_a_refused_record_is_reported_on_the_thread_of_its_task(broker: KafkaBroker) -> None:
    """Any thread may serve the delivery report; the task of the record handles it."""
    from confluent_kafka import Producer

    topic = broker.create_topic(max_message_bytes="1000")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "delivery.report.only.error": True, "log_level": 0})
    acks = Acks(tolerates=lambda error: True)
    delivery = acks.begin({b"k": {"n": 1}})
    producer.produce(topic, b"x" * 5000, on_delivery=delivery)
    producer.produce(topic, b"small", on_delivery=delivery)
    del delivery
    acks.seal()
    other = threading.Thread(target=producer.flush, args=(20,))
    other.start()
    other.join()
    refused = [error.name() for error in acks.take_refused()]
    assert refused and set(refused) == {"MSG_SIZE_TOO_LARGE"} and not list(acks.take_refused())
    assert acks.take() == {b"k": {"n": 1}} and acks.error is None
