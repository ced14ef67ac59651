"""Stores whose topics have 100,000 records."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.support.broker import KafkaBroker
from tests.support.kafka.stores import MakeStores

CLIENT_QUEUE = 100_000  # records that librdkafka's producer holds by default
RECORDS, KEYS = 100_000, 1_000


@pytest.mark.slow
async def test_a_hundred_thousand_records_are_read_in_seconds(stores: MakeStores, broker: KafkaBroker) -> None:
    one = await stores()
    with broker.writing() as write:
        for i in range(RECORDS):
            key, value = b'["c",{"file":"%d"}]' % (i % KEYS), b'{"position":%d}' % i
            write(f"{one.prefix}-offsets", value, key)
    started = time.monotonic()
    again = await stores(one.prefix)
    took = time.monotonic() - started
    print(f"\n{RECORDS:,} offsets read in {took:.1f} s")
    found = {o.partition["file"]: o.offset["position"] for o in again.offsets.offsets("c")}
    assert found == {str(i % KEYS): i for i in range(RECORDS - KEYS, RECORDS)}
    assert took < 20


async def test_sets_of_many_task_configs_that_are_written_at_once_stay_apart(stores: MakeStores) -> None:
    store = (await stores()).configs
    await store.put_connector("c", {"a": "1"})
    sets = [[{"set": which, "n": str(i)} for i in range(1_200)] for which in ("a", "b")]
    await asyncio.gather(*(store.put_tasks("c", tasks) for tasks in sets))
    stored = store.connector("c")
    assert stored is not None
    assert list(stored.tasks) in sets


@pytest.mark.soak
async def test_a_connector_may_have_more_tasks_than_the_client_has_room_for_records(stores: MakeStores) -> None:
    store = (await stores()).configs
    await store.put_connector("c", {"a": "1"})
    await store.put_tasks("c", [{"n": str(i)} for i in range(CLIENT_QUEUE + 1)])
    stored = store.connector("c")
    assert stored is not None
    assert len(stored.tasks) == CLIENT_QUEUE + 1
