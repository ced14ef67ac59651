"""The store's books: only what changed is made anew, and keys have their turn while many are taken in."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.tui.scripted import expanded, status
from tui.cluster.snapshot import ClusterLink
from tui.cluster.snapshot_builder import SLICE_SIZE, SnapshotBuilder


def books(*statuses: dict[str, Any]) -> dict[str, Any]:
    return dict(expanded(*statuses))


async def test_what_did_not_change_is_the_same_object() -> None:
    ledger = SnapshotBuilder(lambda: 1.0)
    await ledger.replace_in_slices(books(status("a"), status("b"), status("c")))
    before = ledger.snapshot(ClusterLink()).connectors
    await ledger.replace_in_slices(books(status("a"), status("b", tasks=["FAILED"])))
    now = ledger.snapshot(ClusterLink())
    assert list(now.connectors) == ["a", "b"]
    assert now.connectors["a"] is before["a"]
    assert now.connectors["b"].overall == "FAILED"
    assert now.since == {"b": 1.0}


async def test_what_came_while_one_looked_has_its_time() -> None:
    ledger = SnapshotBuilder(lambda: 7.0)
    await ledger.replace_in_slices(books(status("a")))
    assert ledger.snapshot(ClusterLink()).since == {}, "nobody knows since when"
    ledger.put("b", books(status("b"))["b"])
    await ledger.replace_in_slices(books(status("a"), status("b"), status("c")))
    assert ledger.snapshot(ClusterLink()).since == {"b": 7.0, "c": 7.0}


async def test_others_have_their_turn_between_slices() -> None:
    ledger, turns = SnapshotBuilder(lambda: 1.0), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(count())
    await ledger.replace_in_slices(books(*(status(f"c{number}") for number in range(3 * SLICE_SIZE))))
    task.cancel()
    assert turns >= 3
    assert len(ledger.snapshot(ClusterLink()).connectors) == 3 * SLICE_SIZE
