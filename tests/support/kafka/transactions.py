"""Transactions that a test leaves open."""

from __future__ import annotations

from typing import Any

from tests.support.broker import unique
from tests.support.waiting import allowed

Record = tuple[bytes, "bytes | None"]


def begin(bootstrap: str, transactional_id: str | None = None, **settings: Any) -> Any:
    """A producer with an open transaction; settings with `_` for dots."""
    from confluent_kafka import Producer

    more = {key.replace("_", "."): value for key, value in settings.items()}
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": transactional_id or unique("txn"),
         "partitioner": "murmur2_random", "linger.ms": 0, **more}
    )  # fmt: skip
    producer.init_transactions(20)
    producer.begin_transaction()
    return producer


def write(producer: Any, topic: str, *records: Record) -> None:
    """Writes records, which are in the topic when this returns."""
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(allowed(20)) == 0


def open_transaction(bootstrap: str, topic: str, *records: Record, **settings: Any) -> Any:
    """A producer with an open transaction that has written these records."""
    producer = begin(bootstrap, **settings)
    write(producer, topic, *records)
    return producer
