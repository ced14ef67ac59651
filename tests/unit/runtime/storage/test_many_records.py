"""Stores whose topics have 100,000 records."""

from __future__ import annotations

import time

import pytest

from tests.support.broker import KafkaBroker
from tests.support.kafka.stores import MakeStores

RECORDS, KEYS = 100_000, 1_000


@pytest.mark.slow
async def test_a_hundred_thousand_records_are_read_in_seconds(stores: MakeStores, broker: KafkaBroker) -> None:
    from confluent_kafka import Producer

    one = await stores()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "queue.buffering.max.messages": RECORDS + 1})
    for i in range(RECORDS):
        key, value = b'["c",{"file":"%d"}]' % (i % KEYS), b'{"position":%d}' % i
        producer.produce(f"{one.prefix}-offsets", value, key)
    assert producer.flush(60) == 0
    started = time.monotonic()
    again = await stores(one.prefix)
    took = time.monotonic() - started
    print(f"\n{RECORDS:,} offsets read in {took:.1f} s")
    found = {o.partition["file"]: o.offset["position"] for o in again.offsets.offsets("c")}
    assert found == {str(i % KEYS): i for i in range(RECORDS - KEYS, RECORDS)}
    assert took < 20
