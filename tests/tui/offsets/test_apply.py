"""A change of offsets is one operation: a failure changes nothing, or the change is finished later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.forwarder import Forwarder
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui import session
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, TimedOut, Unreachable
from tui.model import Certainty, Offset
from tui.offsets.change_store import ChangeStore
from tui.offsets.changes import changes
from tui.offsets.operation import carry_out
from tui.offsets.pending_changes import ChangeStep
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied
from tui.offsets.recovery import Recovery
from tui.wire.evented import AsyncTransport
from tui.wire.wrapper import TransportWrapper

Fault = Callable[[ApiCall], HeadraceError | None]


class Faulty(TransportWrapper):
    """The real transport, which raises after an answered call if `fault` says so."""

    def __init__(self, url: str) -> None:
        super().__init__(AsyncTransport(session.endpoint(Profile(url))))
        self.fault: Fault = lambda call: None
        self.before: Callable[[ApiCall], None] = lambda call: None
        self.calls: list[str] = []

    async def send(self, call: ApiCall) -> Any:
        self.calls.append(f"{call.method} {call.path.rpartition('/')[2]}")
        self.before(call)
        answer = await self.inner.send(call)
        if error := self.fault(call):
            raise error
        return answer


@pytest.fixture
async def wire(cluster: Cluster) -> AsyncIterator[Faulty]:
    one = Faulty(cluster.url)
    yield one
    await one.close()


@pytest.fixture
def running(cluster: Cluster, stopped_source: str) -> str:
    cluster.request("PUT", f"/connectors/{stopped_source}/resume")
    cluster.wait(stopped_source, "RUNNING 1/1")
    return stopped_source


@pytest.fixture
def book(tmp_path: Path, cluster: Cluster) -> ChangeStore:
    return ChangeStore(tmp_path / "state", cluster.url, "somebody")


class Killed(BaseException):
    """Stands for the end of the process: the operation neither catches it nor cleans up."""


def plan(cluster: Cluster, name: str, position: int | None) -> OffsetPlan:
    base = tuple(Offset(*entry) for entry in cluster.offsets(name))
    wanted = [Offset(base[0].partition, None if position is None else {"position": position})]
    state = cluster.state(name).split()[0]
    return OffsetPlan(name, base, tuple(changes(base, wanted)), state, ran=state != "STOPPED", why="a test")


def on(method: str, path: str, error: HeadraceError) -> Fault:
    return lambda call: error if (call.method, call.path.rpartition("/")[2]) == (method, path) else None


def killed(method: str, path: str, nth: int = 1) -> Callable[[ApiCall], None]:
    """Ends the process before the nth of these calls is sent."""
    seen = []

    def kill(call: ApiCall) -> None:
        if (call.method, call.path.rpartition("/")[2]) == (method, path):
            seen.append(call)
            if len(seen) == nth:
                raise Killed

    return kill


def position(cluster: Cluster, name: str) -> Any:
    return cluster.offsets(name)[0][1]["position"]


async def test_the_order_of_the_steps(cluster: Cluster, running: str, wire: Faulty, book: ChangeStore) -> None:
    notices: list[str] = []
    done = await carry_out(plan(cluster, running, 10), Connect(wire), book, notices.append)
    assert isinstance(done, OffsetsApplied) and not done.left_stopped and not done.trouble and not done.differing
    asked = [call for call in wire.calls if not call.endswith("status")]
    assert asked == ["GET ", "PUT stop", "GET offsets", "PATCH offsets", "GET offsets", "PUT resume"]
    assert notices[0] == "stopping the connector" and notices[-1].startswith("resume")
    assert book.pending.of(running) is None
    (past,) = book.histories.read(running)
    assert (past["number"], past["who"], past["why"]) == (1, "somebody", "a test")
    assert past["before"][0]["offset"] == {"position": 1000} and past["after"][0]["offset"] == {"position": 10}


async def test_a_request_without_answer_is_repeated(
    cluster: Cluster, running: str, wire: Faulty, book: ChangeStore
) -> None:
    lost: list[ApiCall] = []

    def once(call: ApiCall) -> HeadraceError | None:
        if call.method == "PATCH" and not lost:
            lost.append(call)
            return TimedOut("no response within 95 s")
        return None

    wire.fault = once
    done = await carry_out(plan(cluster, running, 10), Connect(wire), book)
    assert done.verdict.certainty is Certainty.DEFINITE and not done.left_stopped
    assert wire.calls.count("PATCH offsets") == 2


async def test_a_change_applied_without_answer_is_detected(
    cluster: Cluster, running: str, wire: Faulty, book: ChangeStore
) -> None:
    wire.fault = on("PATCH", "offsets", TimedOut("no response within 95 s"))
    done = await carry_out(plan(cluster, running, 10), Connect(wire), book)
    assert done.verdict.certainty is Certainty.POSSIBLE and "read back" in done.verdict.message
    assert done.left_stopped and position(cluster, running) == 10


async def test_unreachable_before_the_change_took_effect(
    cluster: Cluster, running: str, wire: Faulty, book: ChangeStore
) -> None:
    def cut(call: ApiCall) -> None:
        if call.method == "PATCH":
            raise Unreachable("gone")

    wire.before = cut
    with pytest.raises(OffsetsNotApplied, match="gone") as caught:
        await carry_out(plan(cluster, running, 10), Connect(wire), book)
    assert not caught.value.stopped and not caught.value.unfinished
    cluster.wait(running, "RUNNING 1/1")
    assert book.pending.of(running) is None


async def test_a_change_lost_in_an_outage_is_recorded_and_finished_later(
    cluster: Cluster, running: str, wire: Faulty, book: ChangeStore
) -> None:
    gone: list[ApiCall] = []

    def cut(call: ApiCall) -> None:
        if call.method == "PATCH" or gone:
            gone.append(call)
            raise Unreachable("gone")

    wire.before = cut
    with pytest.raises(OffsetsNotApplied) as caught:
        await carry_out(
            plan(cluster, running, 10), Connect(wire), book, clock=lambda: time.monotonic() + 40 * len(gone)
        )
    assert caught.value.stopped and caught.value.unfinished and f"finish {running}" in caught.value.advice
    wire.before = lambda call: None
    with pytest.raises(OffsetsNotApplied, match="still unfinished"):
        await carry_out(plan(cluster, running, 20), Connect(wire), book)
    assert [intent.plan.name for intent in book.pending.interrupted()] == [running]
    done = await Recovery(Connect(wire), book).finish(running)
    assert "successfully" in done.message and not done.left_stopped
    cluster.wait(running, "RUNNING 1/1")
    wait_until(lambda: "PUT resume" in wire.calls, 30, "resumed")


async def test_an_outage_after_the_change(cluster: Cluster, running: str, wire: Faulty, book: ChangeStore) -> None:
    """The change took effect, so no message may deny it."""
    seen: list[ApiCall] = []

    def cut(call: ApiCall) -> None:
        seen.extend([call] if seen or call.method == "PATCH" else [])
        if len(seen) > 1:
            raise Unreachable("gone")

    wire.before = cut

    def clock() -> float:
        return time.monotonic() + 40 * len(seen)

    done = await carry_out(plan(cluster, running, 10), Connect(wire), book, clock=clock)
    assert done.trouble == "the offsets were changed, but a later step failed: gone" and done.left_stopped
    assert position(cluster, running) == 10
    wire.before = lambda call: None
    done_later = await Recovery(Connect(wire), book).finish(running)
    assert "resumed" in done_later.message
    cluster.wait(running, "RUNNING 1/1")
    assert len(book.histories.read(running)) == 1


async def test_a_refused_change_leaves_the_connector_running(
    cluster: Cluster, running: str, wire: Faulty, book: ChangeStore
) -> None:
    base = tuple(Offset(*entry) for entry in cluster.offsets(running))
    bad = changes(base, [Offset(base[0].partition, {"position": -5})])
    with pytest.raises(OffsetsNotApplied, match="non-negative") as caught:
        await carry_out(OffsetPlan(running, base, tuple(bad), "RUNNING", True), Connect(wire), book)
    assert not caught.value.stopped
    cluster.wait(running, "RUNNING 1/1")
    assert position(cluster, running) == 1000 and not book.histories.read(running)


async def test_the_connector_is_resumed_by_someone_else_meanwhile(
    cluster: Cluster, stopped_source: str, wire: Faulty, book: ChangeStore
) -> None:
    one = plan(cluster, stopped_source, 10)

    def resume_by_someone_else(call: ApiCall) -> None:
        if call.method == "PATCH":
            cluster.request("PUT", f"/connectors/{stopped_source}/resume")
            cluster.wait(stopped_source, "RUNNING 1/1")

    wire.before = resume_by_someone_else
    with pytest.raises(OffsetsNotApplied, match="must be in the STOPPED state") as caught:
        await carry_out(one, Connect(wire), book)
    assert not caught.value.stopped and caught.value.exit_code == 4


async def test_progress_of_a_running_connector_is_not_a_conflict(
    cluster: Cluster, running: str, wire: Faulty, book: ChangeStore
) -> None:
    one = plan(cluster, running, 10)
    (cluster.folder / f"{running}.txt").open("a").write("more\n" * 10)
    done = await carry_out(one, Connect(wire), book)
    assert done.verdict.certainty is Certainty.DEFINITE


async def test_a_conflict_changes_nothing(
    cluster: Cluster, stopped_source: str, wire: Faulty, book: ChangeStore
) -> None:
    one = plan(cluster, stopped_source, 10)
    body = {"offsets": [{"partition": one.changes[0].partition, "offset": {"position": 7}}]}
    assert cluster.request("PATCH", f"/connectors/{stopped_source}/offsets", body)[0] == 200
    with pytest.raises(OffsetsNotApplied, match="someone else changed") as caught:
        await carry_out(one, Connect(wire), book)
    assert caught.value.exit_code == 4 and caught.value.conflicts and position(cluster, stopped_source) == 7


BLIPS = (("PUT", "stop"), ("GET", "status"), ("GET", "offsets"), ("PATCH", "offsets"), ("PUT", "resume"))


@pytest.mark.parametrize("is_sent", [False, True], ids=["before it is sent", "its answer is lost"])
async def test_a_short_outage_at_each_request(cluster: Cluster, running: str, book: ChangeStore, is_sent: bool) -> None:
    """All connections break, and the port is closed until the console has noticed. No connector remains STOPPED."""
    async with Forwarder(cluster.url) as forwarder:
        wire = Faulty(forwarder.url)
        for number, blip in enumerate(BLIPS):
            hit: list[ApiCall] = []

            def break_connections(call: ApiCall, blip: tuple[str, str] = blip, hit: list[ApiCall] = hit) -> None:
                if not hit and (call.method, call.path.rpartition("/")[2]) == blip:
                    hit.append(call)
                    if is_sent:
                        forwarder.dies_at_answer = True
                    else:
                        forwarder.die()

            back: list[asyncio.Task[None]] = []

            def restore(text: str, back: list[asyncio.Task[None]] = back) -> None:
                if "retrying" in text:
                    back.append(asyncio.create_task(forwarder.revive()))

            wire.before = break_connections
            done = await carry_out(plan(cluster, running, 20 + number), Connect(wire), book, restore)
            assert hit and back and not done.left_stopped and not done.trouble, blip
            assert done.verdict.certainty is Certainty.DEFINITE and book.pending.of(running) is None
            cluster.wait(running, "RUNNING 1/1")
            assert book.histories.read(running)[0]["after"][0]["offset"] == {"position": 20 + number}
        await wire.close()


KILLS = (
    ("PUT", "stop", 1, ChangeStep.STOPPING),
    ("GET", "offsets", 1, ChangeStep.STOPPING),
    ("PATCH", "offsets", 1, ChangeStep.ALTERING),
    ("GET", "offsets", 2, ChangeStep.RESUMING),
    ("PUT", "resume", 1, ChangeStep.RESUMING),
)


@pytest.mark.parametrize("way", ["finish", "roll_back"])
async def test_a_change_that_is_killed_before_any_request_is_settled_afterwards(
    cluster: Cluster, running: str, wire: Faulty, tmp_path: Path, way: str
) -> None:
    for number, (method, path, nth, step) in enumerate(KILLS):
        book = ChangeStore(tmp_path / str(number), cluster.url, "somebody")
        wire.before = killed(method, path, nth)
        was = position(cluster, running)
        with pytest.raises(Killed):
            await carry_out(plan(cluster, running, 10 + number), Connect(wire), book)
        (left,) = book.pending.interrupted()
        assert left.step is step and left.plan.state == "RUNNING"
        wire.before = lambda call: None
        await getattr(Recovery(Connect(wire), book), way)(running)
        cluster.wait(running, "RUNNING 1/1")
        assert not book.pending.interrupted()
        altered = [past["after"][0]["offset"]["position"] for past in book.histories.read(running)]
        undone = [was, 10 + number] if step is ChangeStep.RESUMING else []
        assert altered == ([10 + number] if way == "finish" else undone), step


async def test_after_a_kill_changes_by_others_are_kept(
    cluster: Cluster, running: str, wire: Faulty, book: ChangeStore
) -> None:
    wire.before = killed("PATCH", "offsets")
    with pytest.raises(Killed):
        await carry_out(plan(cluster, running, 10), Connect(wire), book)
    wire.before = lambda call: None
    partition = cluster.offsets(running)[0][0]
    body = {"offsets": [{"partition": partition, "offset": {"position": 777}}]}
    assert cluster.request("PATCH", f"/connectors/{running}/offsets", body)[0] == 200
    recovery = Recovery(Connect(wire), book)
    with pytest.raises(OffsetsNotApplied, match="someone else changed"):
        await recovery.finish(running)
    with pytest.raises(OffsetsNotApplied, match="someone else changed"):
        await recovery.roll_back(running)
    cluster.request("PUT", f"/connectors/{running}/resume")
    cluster.wait(running, "RUNNING 1/1")
    with pytest.raises(OffsetsNotApplied, match="someone resumed it"):
        await recovery.finish(running)
    await recovery.forget(running)
    assert not book.pending.interrupted()
