"""Applying offsets when something breaks on the way: what was done, what was not, and in which state it is left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.tui.conftest import Cluster
from tui import model, session
from tui.client import Call, Connect
from tui.editor.apply import Applied, NotApplied, Plan, apply
from tui.errors import HeadraceError, TimedOut, Unreachable
from tui.model import Offset
from tui.offsets.changes import changes
from tui.profiles import Profile
from tui.wire.evented import Evented

Fault = Callable[[Call], HeadraceError | None]


class Faulty:
    """The real transport, that breaks after a call was answered, where `fault` says so."""

    def __init__(self, url: str) -> None:
        self.real, self.url = Evented(session.endpoint(Profile(url))), url
        self.fault: Fault = lambda call: None
        self.before: Callable[[Call], None] = lambda call: None
        self.calls: list[str] = []

    async def send(self, call: Call) -> Any:
        self.calls.append(f"{call.method} {call.path.rpartition('/')[2]}")
        self.before(call)
        answer = await self.real.send(call)
        if error := self.fault(call):
            raise error
        return answer

    async def sleep(self, seconds: float) -> None:
        await self.real.sleep(seconds)

    async def close(self) -> None:
        await self.real.close()


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


def plan(cluster: Cluster, name: str, position: int) -> Plan:
    base = tuple(Offset(*entry) for entry in cluster.offsets(name))
    wanted = [Offset(base[0].partition, {"position": position})]
    state = cluster.state(name).split()[0]
    return Plan(name, base, tuple(changes(base, wanted)), state, ran=state != "STOPPED")


def on(method: str, path: str, error: HeadraceError) -> Fault:
    return lambda call: error if (call.method, call.path.rpartition("/")[2]) == (method, path) else None


async def test_each_step_in_its_order(cluster: Cluster, running: str, wire: Faulty) -> None:
    said: list[str] = []
    done = await apply(plan(cluster, running, 10), Connect(wire), said.append)
    assert isinstance(done, Applied) and not done.left_stopped and not done.trouble and not done.differing
    asked = [call for call in wire.calls if not call.endswith("status")]
    assert asked == ["PUT stop", "GET offsets", "PATCH offsets", "GET offsets", "PUT resume"]
    assert said[0] == "stopping the connector" and said[-1].startswith("resume")


async def test_no_answer_to_the_change_itself(cluster: Cluster, running: str, wire: Faulty) -> None:
    wire.fault = on("PATCH", "offsets", TimedOut("no answer within 95 s"))
    with pytest.raises(NotApplied) as caught:
        await apply(plan(cluster, running, 10), Connect(wire))
    assert "whether it took effect is not known" in caught.value.advice and caught.value.stopped
    assert caught.value.now is not None and caught.value.now[0].offset == {"position": 10}, "it had taken effect"
    assert cluster.state(running) == "STOPPED 0/0"


async def test_lost_after_the_change(cluster: Cluster, running: str, wire: Faulty) -> None:
    """The change is made: nothing may say that it was not."""
    seen = []
    wire.fault = lambda call: (
        Unreachable("gone")
        if call.path.endswith("/offsets") and call.method == "GET" and seen.append(1) is None and len(seen) == 2
        else None
    )
    done = await apply(plan(cluster, running, 10), Connect(wire))
    assert done.trouble == "the offsets were changed, but then: gone" and done.left_stopped
    assert cluster.offsets(running)[0][1] == {"position": 10}


async def test_resume_fails(cluster: Cluster, running: str, wire: Faulty) -> None:
    wire.fault = on("PUT", "resume", Unreachable("gone"))
    done = await apply(plan(cluster, running, 10), Connect(wire))
    assert "gone" in done.trouble and done.left_stopped


async def test_somebody_resumes_it_in_between(cluster: Cluster, stopped_source: str, wire: Faulty) -> None:
    one = plan(cluster, stopped_source, 10)

    def meddle(call: Call) -> None:
        if call.method == "PATCH":
            cluster.request("PUT", f"/connectors/{stopped_source}/resume")
            cluster.wait(stopped_source, "RUNNING 1/1")

    wire.before = meddle
    with pytest.raises(NotApplied, match="must be in the STOPPED state") as caught:
        await apply(one, Connect(wire))
    assert not caught.value.stopped


async def test_a_running_one_that_moved_on_is_no_conflict(cluster: Cluster, running: str, wire: Faulty) -> None:
    one = plan(cluster, running, 10)
    (cluster.folder / f"{running}.txt").open("a").write("more\n" * 10)
    done = await apply(one, Connect(wire))
    assert done.verdict.certainty is model.Certainty.DEFINITE
