"""Differences from events reach subscribers together, at a limited rate."""

from __future__ import annotations

import asyncio

from tui.cluster.publisher import SnapshotPublisher
from tui.cluster.snapshot import ClusterLink, Diff, Snapshot


def _status(state: str) -> dict[str, object]:
    return {"status": {"name": "a", "connector": {"state": state, "worker_id": "w"}, "tasks": [], "type": "sink"}}


async def test_changes_within_a_short_time_are_one_difference() -> None:
    publisher, seen = SnapshotPublisher(lambda: 0.0, gather=0.02, spacing=0.1), list[Snapshot]()

    def note(snapshot: Snapshot, diff: Diff) -> None:
        seen.append(snapshot)

    cancel = publisher.subscribe(note)
    for number in range(5):
        publisher.builder.put(f"c{number}", _status("RUNNING"))
        publisher.publish_soon()
    async with asyncio.timeout(30):
        while not seen:  # noqa: ASYNC110 - the publisher has no event
            await asyncio.sleep(0.005)
    assert [sorted(snapshot.connectors) for snapshot in seen] == [[f"c{number}" for number in range(5)]]
    first = asyncio.get_running_loop().time()
    publisher.builder.put("c0", _status("FAILED"))
    publisher.publish_soon()
    async with asyncio.timeout(30):
        while len(seen) < 2:  # noqa: ASYNC110 - the publisher has no event
            await asyncio.sleep(0.005)
    assert asyncio.get_running_loop().time() - first > 0.05, "at least `spacing` after the first difference"
    cancel()
    publisher.builder.remove("c0")
    publisher.publish(publisher.snapshot.link)
    assert len(seen) == 2


async def test_a_connector_that_was_created_again_within_a_moment_has_changed() -> None:
    times = iter((1.0, 2.0))
    publisher, diffs = SnapshotPublisher(lambda: next(times), gather=0.0, spacing=0.0), list[Diff]()
    publisher.builder.replace({})
    publisher.builder.put("a", _status("RUNNING"))
    publisher.publish(ClusterLink())
    publisher.subscribe(lambda snapshot, diff: diffs.append(diff))
    publisher.builder.remove("a")
    publisher.builder.put("a", _status("RUNNING"))
    publisher.publish(ClusterLink())
    assert [diff.changed for diff in diffs] == [{"a"}] and publisher.snapshot.since == {"a": 2.0}
