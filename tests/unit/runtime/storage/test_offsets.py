"""The offset store on a real broker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.kafka.formats import canonical
from runtime.kafka.log.log import LogRecord
from runtime.storage.offsets import _FORGOTTEN_AT_ONCE, OffsetStore
from tests.support.broker import KafkaBroker, unique
from tests.support.clock import Clock
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.kafka import transactions
from tests.support.kafka.stores import MakeStores, Stores

FILE = {"filename": "/tmp/grün"}


def _offsets(stores: Stores, name: str) -> list[tuple[Any, Any]]:
    return [(o.partition, o.offset) for o in stores.offsets.offsets(name)]


async def test_the_next_worker_reads_altered_offsets(stores: MakeStores) -> None:
    one = await stores()
    await one.offsets.alter("c", [(FILE, {"position": 4}), (None, {"n": 1}), (FILE, {"position": 8})])
    assert sorted(_offsets(one, "c"), key=str) == [(None, {"n": 1}), (FILE, {"position": 8})]
    two = await stores(one.prefix)
    assert sorted(_offsets(two, "c"), key=str) == sorted(_offsets(one, "c"), key=str)
    await two.offsets.alter("c", [(FILE, None), ({"never": "seen"}, None)])
    await one.offsets.read_to_end()
    assert _offsets(one, "c") == [(None, {"n": 1})]
    assert _offsets(one, "d") == []


async def test_known_keys_keep_their_bytes(stores: MakeStores) -> None:
    one = await stores()
    key = b'["c",{"b": 1,  "a":2}]'
    await one.raw("offsets", (key, b'{"position":1}'))
    await one.offsets.alter("c", [({"a": 2, "b": 1}, {"position": 2})])
    (offset,) = one.offsets.offsets("c")
    assert (offset.raw_key.encode(), offset.offset) == (key, {"position": 2})
    assert [k for k, _ in await one.seen("offsets")] == [key, key]


async def test_the_latest_spelling_wins_and_a_reset_removes_all(stores: MakeStores) -> None:
    one = await stores()
    first, second = b'["c",{"a":2,"b":1}]', b'["c",{"b":1,"a":2}]'
    await one.raw("offsets", (first, b'{"position":1}'))
    await one.raw("offsets", (second, b'{"position":2}'))
    assert _offsets(one, "c") == [({"a": 2, "b": 1}, {"position": 2})]
    await one.offsets.alter("c", [({"a": 2, "b": 1}, {"position": 3})])
    assert dict(await one.seen("offsets")) == {first: None, second: b'{"position":3}'}
    await one.raw("offsets", (first, b'{"position":4}'))
    await one.offsets.alter("c", [({"b": 1, "a": 2}, None)])
    assert dict(await one.seen("offsets")) == {first: None, second: None}
    assert _offsets(await stores(one.prefix), "c") == []


async def test_numbers_of_other_types_are_other_partitions(stores: MakeStores) -> None:
    one = await stores()
    await one.offsets.alter("c", [({"n": n}, {"o": str(n)}) for n in (1, 1.0, True, "1", None)])
    assert len(one.offsets.offsets("c")) == 5


MALFORMED: tuple[tuple[bytes, bytes], ...] = (
    (b"no json", b"{}"),
    (b'["c"]', b"{}"),
    (b'["c",{},1]', b"{}"),
    (b'[1,{"a":1}]', b"{}"),
    (b'["c","a"]', b"{}"),
    (b'["c",{"a":1}]', b"[1]"),
    (b'["c",{"a":1}]', b"no json"),
    (b'["c",{"a":"\xff"}]', b"{}"),
)


async def test_malformed_records_are_skipped_and_named(stores: MakeStores, caplog: pytest.LogCaptureFixture) -> None:
    one = await stores()
    for record in MALFORMED:
        await one.raw("offsets", record)
        assert one.offsets.offsets("c") == [], record
    assert await one.not_reported("offsets", caplog.text) == []


OWN_KEY, OTHER_KEY = b'["own",{"n":1}]', b'["other",{"n":1}]'


def _topic(stores: Stores) -> str:
    return f"{stores.prefix}-offsets"


async def _opened(broker: KafkaBroker, stores: Stores, *records: tuple[bytes, bytes]) -> Any:
    return await asyncio.to_thread(transactions.open_transaction, broker.bootstrap, _topic(stores), *records)


async def test_open_transactions_of_other_connectors_hide_nothing_and_delay_nobody(
    stores: MakeStores, broker: KafkaBroker
) -> None:
    """One partition, so that all offsets of the connector are behind the open transaction."""
    broker.create_topic(f"{(prefix := unique('stores'))}-offsets", cleanup_policy="compact")
    one = await stores(prefix)
    held = await _opened(broker, one, (OTHER_KEY, b'{"position":9}'))
    done = await _opened(broker, one, (OWN_KEY, b'{"position":1}'))
    done.commit_transaction(20)
    two = await stores(prefix)
    for store in (one, two):
        async with asyncio.timeout(30):  # the open transaction ends after a minute
            await store.offsets.read_to_end("own")
        assert _offsets(store, "own") == [({"n": 1}, {"position": 1})]
        assert _offsets(store, "other") == []

    await asyncio.wait_for(two.offsets.alter("own", [({"n": 1}, {"position": 2})]), 30)
    assert _offsets(two, "own") == [({"n": 1}, {"position": 2})]
    await asyncio.wait_for(one.offsets.read_to_end("own"), 30)
    assert _offsets(one, "own") == [({"n": 1}, {"position": 2})]

    held.commit_transaction(20)
    for store in (one, two):
        await store.offsets.read_to_end("other")
        assert _offsets(store, "other") == [({"n": 1}, {"position": 9})]
        assert _offsets(store, "own") == [({"n": 1}, {"position": 2})], "read again, in the order of the topic"


@pytest.mark.parametrize("commits", [True, False])
async def test_open_transactions_of_the_connector_are_awaited(
    stores: MakeStores, broker: KafkaBroker, commits: bool
) -> None:
    one = await stores()
    await one.offsets.alter("own", [({"n": 1}, {"position": 1})])
    held = await _opened(broker, one, (OWN_KEY, b'{"position":2}'))
    await one.offsets.read_to_end()
    assert _offsets(one, "own") == [({"n": 1}, {"position": 1})], "without a connector, nothing is awaited"
    reading = asyncio.create_task(one.offsets.read_to_end("own"))
    assert (await asyncio.wait([reading], timeout=0.3))[0] == set()
    await asyncio.to_thread(held.commit_transaction if commits else held.abort_transaction, 20)
    await asyncio.wait_for(reading, 20)
    assert _offsets(one, "own") == [({"n": 1}, {"position": 2 if commits else 1})]


def test_records_that_arrive_again_change_nothing() -> None:
    """Records behind an open transaction are applied early; the reader delivers them again, with older ones first."""
    logs = TestLogs()
    store = OffsetStore(logs, topic("offsets"))

    def record(offset: int) -> LogRecord:
        return LogRecord(OWN_KEY, b'{"position":%d}' % offset, 0, offset, 1000 + offset)

    store.apply([record(7)])
    store.apply([record(5), record(6), record(7)])
    (found,) = store.offsets("own")
    assert (found.offset, store.written("own")) == ({"position": 7}, {'{"n":1}': 1007})


@pytest.mark.parametrize("later_first", [False, True])
def test_a_key_that_moved_to_another_kafka_partition_has_its_later_offset(later_first: bool) -> None:
    """After partitions were added to the topic, or by another partitioner: a worker that starts reads the partitions
    in any order, and the former record stays where it is."""
    store = OffsetStore(TestLogs(), topic("offsets"))
    earlier = LogRecord(OWN_KEY, b'{"position":9}', 0, 9, 1000)
    later = LogRecord(OWN_KEY, b'{"position":20}', 7, 0, 2000)
    for record in (later, earlier) if later_first else (earlier, later):
        store.apply([record])
    (stored,) = store.offsets("own")
    assert stored.offset == {"position": 20}


def test_resets_are_forgotten_after_a_day_unless_an_older_record_of_the_key_could_return() -> None:
    clock = Clock()
    store = OffsetStore(TestLogs(), topic("offsets"), clock)
    reset, again, moved = (b'["own",{"n":%d}]' % n for n in range(3))
    store.apply([LogRecord(moved, b"{}", 1, 0, 500)])
    store.apply([LogRecord(key, None, 0, offset, 1000) for offset, key in enumerate((reset, again, moved))])
    clock.now = 23 * 3600
    store.apply([LogRecord(again, b"{}", 0, 3, 2000), LogRecord(again, None, 0, 4, 2001)])
    assert len(store.known("own")) == 3
    clock.now = 25 * 3600
    store.apply([LogRecord(OTHER_KEY, b"{}", 0, 5, 3000)])
    assert store.known("own") == {canonical({"n": 1}), canonical({"n": 2})}
    assert store.offsets("own") == [] and len(store.offsets("other")) == 1


def test_resets_need_memory_for_each_partition_and_are_forgotten_in_small_steps() -> None:
    """A start reads thousands at once; and a partition may be reset with each commit."""
    clock = Clock()
    store = OffsetStore(TestLogs(), topic("offsets"), clock)
    count = _FORGOTTEN_AT_ONCE + 1
    for offset in range(2 * count):
        store.apply([LogRecord(b'["own",{"n":%d}]' % (offset % count), None, 0, offset, 1000)])
    assert len(store._resets) == count
    clock.now = 25 * 3600
    left = []
    for _ in range(2):
        store.apply([LogRecord(OTHER_KEY, b"{}", 0, 2 * count, 3000)])
        left.append(len(store.known("own")))
    assert left == [1, 0]


async def test_the_reset_of_a_key_that_moved_is_kept_by_compaction(broker: KafkaBroker, stores: MakeStores) -> None:
    """Compaction removes tombstones, and no record of another Kafka partition."""
    one = await stores()
    await one.offsets.alter("c", [(FILE, {"position": 4}), ({"n": 1}, {"position": 1})])
    key, value = next(record for record in await one.seen("offsets") if b"filename" in (record[0] or b""))
    with broker.writing() as write:
        for partition in range(5):
            write(f"{one.prefix}-offsets", value, key, partition=partition, timestamp=1)
    two = await stores(one.prefix)
    await two.offsets.alter("c", [(FILE, None), ({"n": 1}, None)])
    assert _offsets(two, "c") == []
    latest = [record for record in await one.seen("offsets") if record[1] in (None, b"null")]
    assert (key, b"null") in latest and len([key for key, value in latest if value == b"null"]) == 1
    assert _offsets(await stores(one.prefix), "c") == []
