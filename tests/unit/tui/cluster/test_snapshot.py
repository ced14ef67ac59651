"""Snapshots: unchanged connectors keep their objects, long updates let other tasks run, and the connection as text."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.tui.scripted import expanded, status
from tui.cluster.publisher import SLICE_SIZE, SnapshotBuilder
from tui.cluster.snapshot import ClusterLink, LinkState


def listing(*statuses: dict[str, Any]) -> dict[str, Any]:
    return dict(expanded(*statuses))


async def test_an_unchanged_connector_keeps_its_object() -> None:
    builder = SnapshotBuilder(lambda: 1.0)
    await builder.replace_in_slices(listing(status("a"), status("b"), status("c")))
    before = builder.snapshot(ClusterLink()).connectors
    await builder.replace_in_slices(listing(status("a"), status("b", tasks=["FAILED"])))
    now = builder.snapshot(ClusterLink())
    assert list(now.connectors) == ["a", "b"]
    assert now.connectors["a"] is before["a"]
    assert now.connectors["b"].overall == "FAILED"
    assert now.since == {"b": 1.0}


async def test_only_states_that_began_after_the_first_snapshot_have_a_time() -> None:
    builder = SnapshotBuilder(lambda: 7.0)
    await builder.replace_in_slices(listing(status("a")))
    assert builder.snapshot(ClusterLink()).since == {}, "the time of states in the first snapshot is unknown"
    builder.put("b", listing(status("b"))["b"])
    await builder.replace_in_slices(listing(status("a"), status("b"), status("c")))
    assert builder.snapshot(ClusterLink()).since == {"b": 7.0, "c": 7.0}


def test_a_worker_may_report_the_times_of_states() -> None:
    builder = SnapshotBuilder(lambda: 7.0)
    builder.replace(listing(status("a"), status("b")), {"a": 3_500, "gone": 1_000})
    assert builder.snapshot(ClusterLink()).since == {"a": 3.5}
    builder.put("a", listing(status("a", tasks=["FAILED"]))["a"])
    assert builder.snapshot(ClusterLink()).since == {"a": 7.0}


async def test_other_tasks_run_between_slices() -> None:
    builder, turns = SnapshotBuilder(lambda: 1.0), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(count())
    await builder.replace_in_slices(listing(*(status(f"c{number}") for number in range(3 * SLICE_SIZE))))
    task.cancel()
    assert turns >= 3
    assert len(builder.snapshot(ClusterLink()).connectors) == 3 * SLICE_SIZE


def test_a_silent_event_stream_is_shown_before_it_counts_as_lost() -> None:
    link = ClusterLink(LinkState.LIVE, 100.0)
    assert link.text(110.0) == "live" and not link.is_silent(110.0)
    assert link.text(114.0) == "live, silent for 14 s" and link.is_silent(114.0)
    assert not ClusterLink(LinkState.POLLING, 100.0).is_silent(200.0)
