"""The cluster store: requests, reported differences, retries after a lost connection. The tests control the clock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.tui.scripted import Scripted, expanded, status
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.cluster.snapshot import ClusterLink, Diff, LinkState, Notice, Snapshot
from tui.cluster.store import ClusterStore, StorePace
from tui.errors import NotFound, ServerError, Unreachable

PACE = StorePace(interval=2.0, jitter=0.0, gather=0.0, spacing=0.0)


class Watcher:
    """Collects the snapshots and notices of a store; `until` waits for them. Sleeping takes no real time."""

    def __init__(self, transport: Scripted, streams: list[Any] | None = None, pace: StorePace = PACE) -> None:
        self.now, self.slept = 1000.0, list[float]()
        self.seen: list[tuple[Snapshot, Diff]] = []
        self.notices: list[Notice] = []
        self.last_ids: list[str] = []
        self.streams = streams
        self._news, self._pauses = asyncio.Event(), asyncio.Event()
        lines = self._lines if streams is not None else None
        self.store = ClusterStore(
            Connect(transport),
            lines,
            pace=pace,
            clock=lambda: self.now,
            wall_clock=lambda: self.now,
            sleep=self._sleep,
            chance=lambda: 0.5,
        )
        self.store.subscribe(self._hear)
        self.store.on_notice(self.notices.append)
        self.gate: asyncio.Event | None = None

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._pauses.set()
        self.now += seconds
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)

    async def _lines(self, path: str, last_id: str) -> AsyncGenerator[str, None]:
        self.last_ids.append(last_id)
        assert self.streams is not None
        stream = self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]
        if isinstance(stream, Exception):
            raise stream
        for line in stream:
            yield line
        await asyncio.Event().wait() if stream and stream[-1] == ": hold" else None

    def _hear(self, snapshot: Snapshot, diff: Diff) -> None:
        self.seen.append((snapshot, diff))
        self._news.set()

    async def paused_again(self, before: int) -> None:
        while len(self.slept) == before:
            self._pauses.clear()
            await asyncio.wait_for(self._pauses.wait(), 30)

    async def hold(self) -> None:
        """The store stays in its next pause."""
        self.gate, before = asyncio.Event(), len(self.slept)
        await self.paused_again(before)

    async def until(self, count: int) -> None:
        while len(self.seen) < count:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), 30)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        task = asyncio.create_task(self.store.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def run_until(self, count: int) -> None:
        async with self.running():
            await self.until(count)


async def test_polling_reports_only_differences() -> None:
    failed = status("a", tasks=["FAILED"])
    transport = Scripted(
        expanded(status("a"), status("b")),
        expanded(status("a"), status("b")),
        expanded(failed, status("c")),
        expanded(failed, status("c")),
    )
    watcher = Watcher(transport)
    await watcher.run_until(2)
    (first, one), (second, two) = watcher.seen[:2]
    assert (one.added, one.link) == (frozenset("ab"), True)
    assert first.since == {}, "the time of states in the first snapshot is unknown"
    assert (two.added, two.changed, two.removed) == (frozenset("c"), frozenset("a"), frozenset("b"))
    assert second.connectors["a"].overall == "FAILED"
    assert second.since == {"a": 1004.0, "c": 1004.0}, "later changes have the time of their snapshot"
    assert first.connectors["a"].overall == "RUNNING", "snapshots are immutable"
    assert watcher.slept[:2] == [2.0, 2.0]
    assert all(call.path == "/connectors?expand=status&expand=info" for call in transport.calls)


async def test_retries_back_off_to_a_minute_and_the_status_shows_the_delay() -> None:
    transport = Scripted(expanded(status("a")), Unreachable("cannot reach it"))
    watcher = Watcher(transport)
    await watcher.run_until(10)
    assert watcher.slept[:9] == [2.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    lost = watcher.seen[2][0]
    assert lost.link == ClusterLink(LinkState.LOST, 1000.0, 1005.0, "cannot reach it")
    assert lost.link.text(1003.0) == "stale 3 s, next try in 2 s: cannot reach it"
    assert lost.connectors.keys() == {"a"}, "the last known connectors remain"


async def test_a_requested_refresh_does_not_lengthen_the_pauses() -> None:
    watcher = Watcher(Scripted(expanded(status("a")), Unreachable("cannot reach it")))
    async with watcher.running():
        await watcher.until(2)
        await watcher.hold()
        for attempt in range(3):
            before = len(watcher.slept)
            watcher.store.refresh() if attempt % 2 else watcher.store.mark_contact()
            await watcher.until(len(watcher.seen) + 1)
            await watcher.paused_again(before)
    assert len(set(watcher.slept[-3:])) == 1


async def test_other_answers_trigger_a_refresh_only_while_the_connection_is_lost() -> None:
    watcher = Watcher(Scripted(expanded(status("a"))))
    watcher.gate = asyncio.Event()
    async with watcher.running():
        await watcher.until(1)
        watcher.store.mark_contact()
        assert not watcher.store._wake.is_set()


async def test_a_lost_connection_is_restored_without_intervention() -> None:
    transport = Scripted(expanded(), Unreachable("gone"), Unreachable("gone"), expanded(status("a")))
    watcher = Watcher(transport)
    await watcher.run_until(4)
    states = [snapshot.link.state for snapshot, _ in watcher.seen[:4]]
    assert states == [LinkState.POLLING, LinkState.LOST, LinkState.LOST, LinkState.POLLING]


async def test_a_key_press_shortens_a_long_back_off_but_keys_in_a_row_do_not_repeat_the_request() -> None:
    watcher = Watcher(Scripted(expanded(status("a")), Unreachable("gone")))
    async with watcher.running():
        await watcher.until(2)
        await watcher.hold()
        failed_at = watcher.store._failed_at
        watcher.now = failed_at + 2.9
        watcher.store.nudge()
        assert not watcher.store._wake.is_set()
        watcher.now = failed_at + 3.1
        watcher.store.nudge()
        await watcher.until(len(watcher.seen) + 1)
        watcher.now = watcher.store._failed_at + 1
        watcher.store.nudge()
        assert not watcher.store._wake.is_set()


async def test_refresh_does_not_wait() -> None:
    watcher = Watcher(Scripted(expanded(), expanded(status("a"))))
    watcher.gate = asyncio.Event()  # never opened
    async with watcher.running():
        await watcher.until(1)
        watcher.store.refresh()
        await watcher.until(2)
    assert watcher.seen[1][1].added == frozenset("a")


def event(name: str, data: Any, seq: int) -> list[str]:
    return [f"id: boot.{seq}", f"event: {name}", f"data: {json.dumps(data)}", ""]


def part(body: Any) -> Any:
    return {"name": body["name"], **expanded(body)[body["name"]]}


async def test_a_lost_event_stream_is_resumed_after_the_last_event_id() -> None:
    first = [
        *event("snapshot", {"connectors": expanded(status("a"), status("b"))}, 1),
        *event("connector", part(status("a", "STOPPED", [])), 2),
        *event("removed", {"name": "b"}, 3),
        *event("log", {"time": "t", "level": "ERROR", "connector": "a", "task": 0, "message": "oh"}, 4),
        *event("from-the-future", {"x": 1}, 5),
    ]
    again = event("connector", part(status("c")), 6)
    watcher = Watcher(Scripted(AssertionError("polled")), [first, [*again, ": hold"]])
    await watcher.run_until(3)
    assert watcher.last_ids == ["", "boot.5"]
    snapshot = watcher.store.snapshot
    assert snapshot.connectors["a"].state == "STOPPED"
    assert snapshot.connectors.keys() == {"a", "c"}
    assert [s.link.state for s, d in watcher.seen if d.link] == [LinkState.LIVE]
    assert watcher.notices == [Notice("t", "ERROR", "oh", "a", 0)]


async def test_a_lost_stream_is_live_again_after_its_first_line() -> None:
    first = event("snapshot", {"connectors": expanded(status("a"))}, 1)
    watcher = Watcher(Scripted(None), [first, Unreachable("gone"), ["", ": hold"]])
    await watcher.run_until(3)
    assert watcher.last_ids == ["", "boot.1", "boot.1"]
    assert [s.link.state for s, _ in watcher.seen] == [LinkState.LIVE, LinkState.LOST, LinkState.LIVE]


async def test_a_burst_of_events_is_one_difference() -> None:
    names = [f"c{n}" for n in range(100)]
    lines = [
        *event("snapshot", {"connectors": {}}, 1),
        *[line for n, name in enumerate(names, 2) for line in event("connector", part(status(name)), n)],
        ": hold",
    ]
    watcher = Watcher(Scripted(None), [lines])
    await watcher.run_until(2)
    assert watcher.seen[1][1].added == frozenset(names)


async def test_changes_of_a_busy_cluster_are_reported_at_a_limited_rate() -> None:
    """The first change is reported immediately; later changes are collected and reported at intervals."""
    loop, heard = asyncio.get_running_loop(), list[float]()
    watcher = Watcher(Scripted(None), [[]], PACE._replace(spacing=0.2))
    watcher.store.subscribe(lambda snapshot, diff: heard.append(loop.time()))

    async def lines(path: str, last_id: str) -> AsyncGenerator[str, None]:
        for line in event("snapshot", {"connectors": {}}, 1):
            yield line
        for number in range(2, 1000):
            for line in event("connector", part(status(f"c{number}")), number):
                yield line
            await asyncio.sleep(0.005)

    watcher.store.lines = lines
    await watcher.run_until(4)
    pauses = [after - before for before, after in pairwise(heard[1:4])]
    assert all(pause > 0.19 for pause in pauses), pauses


async def test_without_an_event_stream_the_store_polls() -> None:
    watcher = Watcher(Scripted(expanded(status("a"))), [NotFound("HTTP 404 Not Found", 404)])
    await watcher.run_until(1)
    assert watcher.seen[0][0].link.state is LinkState.POLLING


async def test_an_invalid_event_reconnects_the_stream() -> None:
    watcher = Watcher(Scripted(None), [event("snapshot", [], 1), [*event("snapshot", {"connectors": {}}, 2), ": hold"]])
    await watcher.run_until(2)
    assert [snapshot.link.state for snapshot, _ in watcher.seen] == [LinkState.LOST, LinkState.LIVE]


MALFORMED: dict[str, Any] = {
    "a status that is text": {"one": {"status": {"connector": "x", "tasks": 5}}},
    "a list of anything": [1, 2, {"x": 1}],
    "nothing": None,
    "a state that is an object": {"one": {"status": {"connector": {"state": {}}}}},
    "tasks without numbers": {"one": {"status": {"tasks": [{"id": "x"}, {"id": 0}]}}},
    "a config that is a list": {"one": {"status": None, "info": {"config": [1]}}},
    "an unexpected error": RecursionError("maximum recursion depth exceeded"),
}


@pytest.mark.parametrize("answer", MALFORMED.values(), ids=MALFORMED)
async def test_the_watch_continues_after_any_answer(answer: Any) -> None:
    watcher = Watcher(Scripted(expanded(status("a")), answer, answer, expanded(status("a"), status("b"))))
    await watcher.run_until(4)
    first, lost, again, back = (snapshot for snapshot, _ in watcher.seen[:4])
    assert [one.link.state for one in (lost, again)] == [LinkState.LOST] * 2
    assert lost.link.trouble and lost.connectors == first.connectors, "the connectors are kept and the reason is shown"
    assert back.link.state is LinkState.POLLING and back.connectors.keys() == {"a", "b"}
    assert watcher.slept[1:3] == [1.0, 2.0]


async def test_a_malformed_event_is_followed_by_a_snapshot() -> None:
    """The content of the event is unknown, so continuing after it would lose a change."""
    bad = event("connector", {"name": "a", "status": {"tasks": 5}}, 2)
    streams = [
        [*event("snapshot", {"connectors": expanded(status("a"))}, 1), *bad],
        [*event("snapshot", {"connectors": expanded(status("a", "STOPPED", []))}, 3), ": hold"],
    ]
    watcher = Watcher(Scripted(Unreachable("not polled")), streams)
    await watcher.run_until(3)
    assert watcher.last_ids == ["", ""]
    assert [snapshot.link.state for snapshot, _ in watcher.seen] == [LinkState.LIVE, LinkState.LOST, LinkState.LIVE]


@pytest.mark.parametrize("error", [ServerError("HTTP 502", 502), Unreachable("cannot reach it: reset")], ids=str)
async def test_after_failed_events_the_store_polls_shows_the_reason_and_retries(error: Exception) -> None:
    live = [*event("snapshot", {"connectors": expanded(status("b"))}, 1), ": hold"]
    watcher = Watcher(Scripted(expanded(status("a"))), [error, error, live])
    await watcher.run_until(2)
    polling, live_again = (snapshot for snapshot, _ in watcher.seen)
    assert polling.link.state is LinkState.POLLING and polling.connectors.keys() == {"a"}
    assert polling.link.text(0) == f"polling (events: {error.message})"  # type: ignore[attr-defined]
    assert live_again.link.state is LinkState.LIVE and live_again.connectors.keys() == {"b"}
    assert watcher.now >= 1000.0 + 2 * PACE.listen_again, "not after every poll"


@pytest.mark.parametrize("lines", [["", ": hold"], []], ids=["after its head", "from the start"])
async def test_a_silent_stream_does_not_delay_the_list(lines: list[str]) -> None:
    watcher = Watcher(Scripted(expanded(status("a"))), [lines], PACE._replace(opening=0.05))

    async def hanging(path: str, last_id: str) -> AsyncGenerator[str, None]:
        for line in lines:
            yield line
        await asyncio.Event().wait()

    watcher.store.lines = hanging
    await watcher.run_until(1)
    assert watcher.seen[0][0].link.state is LinkState.POLLING
    assert watcher.seen[0][0].link.trouble == "events: nothing arrived within 0.05 s"


async def test_a_store_cancelled_while_a_pause_ends_does_not_continue() -> None:
    paused, runs = asyncio.Event(), list[asyncio.Task[None]]()

    async def sleep(seconds: float) -> None:
        paused.set()
        try:
            await asyncio.Event().wait()
        finally:
            runs[0].cancel()  # the pause has ended and waits for this one

    connect = Connect(Scripted(Unreachable("cannot reach it")))
    store = ClusterStore(connect, pace=PACE, clock=lambda: 0.0, sleep=sleep)
    runs.append(asyncio.create_task(store.run()))
    await asyncio.wait_for(paused.wait(), 30)
    store.refresh()
    done, _ = await asyncio.wait(runs, timeout=5)
    runs[0].cancel()
    assert done


async def test_a_list_that_needs_long_on_a_slow_connection_is_read() -> None:
    """Each try waits twice as long as the one before. Later ones wait as long as the one that succeeded."""

    class Slow(Scripted):
        async def send(self, call: ApiCall) -> Any:
            await asyncio.sleep(0.2)
            return await super().send(call)

    transport = Slow(expanded(status("a")), expanded(status("b")))
    watcher = Watcher(transport, pace=PACE._replace(patience=0.02))
    async with watcher.running():
        while watcher.store.snapshot.connectors.keys() != {"b"}:
            await watcher.until(len(watcher.seen) + 1)
    states = [now.link.state for now, _ in watcher.seen]
    troubles = [now.link.trouble for now, _ in watcher.seen]
    first = states.index(LinkState.POLLING)
    assert "no complete response within 0.02 s" in troubles[0] and "within 0.04 s" in troubles[1]
    assert first >= 3
