"""Partitioners and interceptors of Java's clients: honoured or refused."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import Producer

from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import ClientConfigError

PRODUCER = "org.apache.kafka.clients.producer."


def partitions(**properties: str) -> set[int | None]:
    """The partitions of 200 records with one key, at a broker inside librdkafka."""
    settings = client_config(
        {f"producer.{k.replace('_', '.')}": v for k, v in properties.items()}, "producer", {}
    ).settings
    producer = Producer({**settings, "bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
    reached: set[int | None] = set()
    for _ in range(200):
        producer.produce("topic", b"v", b"key", on_delivery=lambda error, message: reached.add(message.partition()))
    assert producer.flush(60) == 0
    return reached


def test_records_with_a_key_stay_together_unless_keys_are_ignored() -> None:
    assert len(partitions()) == 1
    assert len(partitions(partitioner_ignore_keys="true")) > 1


@pytest.mark.parametrize(
    "name, partitioner",
    [
        ("", "murmur2_random"),
        (f"{PRODUCER}internals.DefaultPartitioner", "murmur2_random"),
        (f"{PRODUCER}RoundRobinPartitioner", "random"),
        (f"{PRODUCER}UniformStickyPartitioner", "random"),
    ],
)
def test_partitioners_of_kafka(name: str, partitioner: str) -> None:
    settings = client_config({"producer.partitioner.class": name}, "producer", {}).settings
    assert settings["partitioner"] == partitioner


@pytest.mark.parametrize(
    "kind, key, value, message",
    [
        (
            "producer",
            "partitioner.class",
            "a.B",
            "partitioner.class=a.B is a Java class, which this worker does not run",
        ),
        ("producer", "partitioner.ignore.keys", "yes", "Invalid value yes for configuration partitioner.ignore.keys"),
        ("producer", "interceptor.classes", "a.B", "interceptor.classes=a.B names Java classes, which this worker's"),
        ("consumer", "interceptor.classes", "a.B,c.D", "or list c.D in headrace.ignore.interceptors of the worker"),
    ],
)
def test_what_cannot_be_honoured_is_refused(kind: str, key: str, value: str, message: str) -> None:
    worker = {"headrace.ignore.interceptors": "x.Y, a.B"} if kind == "consumer" else {}
    for own, connector in (({f"{kind}.{key}": value}, {}), ({}, {f"{kind}.override.{key}": value})):
        with pytest.raises(ClientConfigError, match=re.escape(message)):
            client_config({**worker, **own}, kind, connector)


def test_interceptors_may_be_ignored() -> None:
    worker = {"headrace.ignore.interceptors": "a.B", "consumer.interceptor.classes": "a.B"}
    assert client_config(worker, "consumer", {}) == client_config({}, "consumer", {})
