"""The offset store on a real broker."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.stores import MakeStores, Stores

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


@pytest.mark.parametrize(
    "key, value",
    [
        (b"no json", b"{}"),
        (b'["c"]', b"{}"),
        (b'["c",{},1]', b"{}"),
        (b'[1,{"a":1}]', b"{}"),
        (b'["c","a"]', b"{}"),
        (b'["c",{"a":1}]', b"[1]"),
        (b'["c",{"a":1}]', b"no json"),
        (b'["c",{"a":"\xff"}]', b"{}"),
    ],
)
async def test_malformed_records_are_skipped_and_named(
    stores: MakeStores, caplog: pytest.LogCaptureFixture, key: bytes, value: bytes
) -> None:
    one = await stores()
    await one.raw("offsets", (key, value))
    assert one.offsets.offsets("c") == []
    assert "Ignoring the record at offset 0" in caplog.text
