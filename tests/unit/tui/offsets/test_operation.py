"""Outages during a change of offsets: the change is completed or rolled back, and the connector is not left STOPPED."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.console_transports import InMemory
from tests.unit.tui.scripted import status
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.offsets.changing import outcome
from tui.errors import HeadraceError, ServerError, TimedOut, Unreachable, refusal
from tui.model import Offset
from tui.offsets.change_store import ChangeStore
from tui.offsets.changes import OffsetChange, changes
from tui.offsets.operation import Replan, carry_out
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied, PlanAction
from tui.offsets.recovery import Recovered, Recovery
from tui.offsets.retry import OUTAGE_LIMIT
from tui.screens.offsets import wording

PARTITION = {"kafka_topic": "t", "kafka_partition": 0}
REQUESTS = 9  # of a complete change: status, stop, status, status, offsets, alter, offsets, resume; and one more


def unsent() -> HeadraceError:
    return Unreachable("cannot reach http://w: Connection refused")


def unknown() -> HeadraceError:
    error = Unreachable("cannot reach http://w: Connection reset by peer")
    error.sent = True
    return error


OUTAGES: list[tuple[Callable[[], HeadraceError], bool]] = [
    (unsent, False),
    (unknown, False),
    (unknown, True),
    (lambda: TimedOut("http://w gave no response within 95 s"), True),
    (lambda: refusal(503, "HTTP 503 Service Unavailable"), False),
    (lambda: refusal(504, "HTTP 504 Gateway Timeout"), True),
]


class Worker(InMemory):
    """A connector with one offset. With `arrives`, the worker executes the request and only its answer is lost."""

    url = "http://w"

    def __init__(self) -> None:
        self.state, self.offset, self.looks = "RUNNING", 1500, 0
        self.now, self.seen = 0.0, 0
        self.away: Callable[[int], HeadraceError | None] = lambda seen: None
        self.arrives = False
        self.refuses: Callable[[ApiCall], HeadraceError | None] = lambda call: None  # instead of executing the request
        self.fails_after: Callable[[ApiCall], HeadraceError | None] = lambda call: None
        self.there = True
        self.stale = 0  # requests that are answered with the offset before the change
        self.late = 0  # records that a running sink still commits before it stops

    async def send(self, call: ApiCall) -> Any:
        if call.path == "/":
            return {"version": "4.3.0"}
        self.seen += 1
        error = self.away(self.seen)
        answer = self.answer(call) if error is None or self.arrives else None
        if error is not None:
            raise error
        return answer

    def answer(self, call: ApiCall) -> Any:
        if refused := self.refuses(call):
            raise refused
        done = self._execute(call)
        if failure := self.fails_after(call):
            raise failure
        return done

    def _execute(self, call: ApiCall) -> Any:
        if not self.there:
            raise refusal(404, "Connector s not found")
        match call.method, call.path.rpartition("/")[2]:
            case "PUT", "stop":
                self.state, self.looks = "STOPPED", 0
                self.offset, self.late = self.offset + self.late, 0
            case "PUT", verb:
                self.state = {"resume": "RUNNING", "pause": "PAUSED"}[verb]
            case "GET", "status":
                self.looks += 1
                return status("s", self.state, ["RUNNING"] * (self.looks < 2 or self.state != "STOPPED"), "sink")
            case "GET", "offsets":
                offset = self.offset
                if self.stale and offset == 500:
                    offset, self.stale = 1500, self.stale - 1
                return {"offsets": [Offset(PARTITION, {"kafka_offset": offset}).entry()]}
            case "PATCH", "offsets":
                assert self.state == "STOPPED"
                self.offset = call.body["offsets"][0]["offset"]["kafka_offset"]
                return {"message": "The offsets for this connector have been altered successfully"}
            case "DELETE", "offsets":
                return {"message": "The offsets for this connector have been reset successfully"}
            case "DELETE", _:
                self.there = False
        return None

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now


def plan(state: str = "RUNNING", action: PlanAction = PlanAction.ALTER) -> OffsetPlan:
    base = (Offset(PARTITION, {"kafka_offset": 1500}),)
    wanted = Offset(PARTITION, None if action is PlanAction.DELETE else {"kafka_offset": 500})
    return OffsetPlan("s", base, tuple(changes(base, [wanted])), state, ran=True, action=action)


def seek(worker: Worker, records: int) -> Replan:
    """Computes a position relative to the current offset again."""

    async def replan() -> tuple[OffsetChange, ...]:
        now, wanted = (Offset(PARTITION, {"kafka_offset": worker.offset + plus}) for plus in (0, records))
        return tuple(changes([now], [wanted]))

    return replan


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def store(tmp_path: Path) -> ChangeStore:
    return ChangeStore(tmp_path, "http://w", "somebody")


async def apply_plan(
    worker: Worker, store: ChangeStore, notices: list[str], chosen: OffsetPlan | None = None
) -> OffsetsApplied:
    return await carry_out(chosen or plan(), Connect(worker), store, notices.append, worker.clock)


async def test_an_answer_from_before_the_change_is_read_again(worker: Worker, store: ChangeStore) -> None:
    worker.stale = 2
    done = await apply_plan(worker, store, [])
    assert (worker.state, worker.stale, done.differing, done.left_stopped) == ("RUNNING", 0, (), False)
    assert done.after[0].offset == {"kafka_offset": 500}


async def test_offsets_that_remain_different_are_reported(worker: Worker, store: ChangeStore) -> None:
    worker.stale = 10
    done = await apply_plan(worker, store, [])
    assert (worker.state, worker.now < 10) == ("STOPPED", True)
    assert done.differing == plan().changes
    assert done.left_stopped


@pytest.mark.parametrize("requests", [1, 4])
@pytest.mark.parametrize("outage", range(len(OUTAGES)))
@pytest.mark.parametrize("first", range(1, REQUESTS + 1))
async def test_an_outage_at_each_request(
    worker: Worker, store: ChangeStore, first: int, outage: int, requests: int
) -> None:
    make, worker.arrives = OUTAGES[outage]
    worker.away = lambda seen: make() if first <= seen < first + requests else None
    notices: list[str] = []
    done = await apply_plan(worker, store, notices)
    assert (worker.state, worker.offset) == ("RUNNING", 500)
    assert not (done.left_stopped or done.trouble or done.differing) and store.pending.of("s") is None
    assert len(store.histories.read("s")) == 1
    if first < REQUESTS:
        assert any("again" in text for text in notices), notices


@pytest.mark.parametrize("first", range(2, REQUESTS))  # nothing is to be finished if the first request is not sent
async def test_a_change_in_a_long_outage_is_recorded_and_finished_later(
    worker: Worker, store: ChangeStore, first: int
) -> None:
    worker.away = lambda seen: unsent() if seen >= first else None
    try:
        done = await apply_plan(worker, store, [])
        assert done.left_stopped and done.trouble
    except OffsetsNotApplied as error:
        assert error.unfinished and "finish s" in error.advice
    assert OUTAGE_LIMIT <= worker.now < 2 * OUTAGE_LIMIT, "the time limit applies to the whole change, not to each step"
    worker.away = lambda seen: None
    await Recovery(Connect(worker), store).finish("s")
    assert (worker.state, worker.offset) == ("RUNNING", 500) and store.pending.of("s") is None


@pytest.mark.parametrize("first", range(1, REQUESTS))
async def test_a_refused_change_is_rolled_back_despite_an_outage(
    worker: Worker, store: ChangeStore, first: int
) -> None:
    """The rollback retries as often as the change."""
    worker.away = lambda seen: unsent() if first <= seen < first + 3 else None

    def refuses(call: ApiCall) -> HeadraceError | None:
        if call.method == "PATCH" and call.body["offsets"][0]["offset"]["kafka_offset"] == 500:
            return refusal(500, "Failed to alter consumer group offsets")
        return None

    worker.refuses = refuses
    with pytest.raises(OffsetsNotApplied, match="Failed to alter") as caught:
        await apply_plan(worker, store, [])
    assert not caught.value.stopped and not caught.value.unfinished
    assert (worker.state, worker.offset) == ("RUNNING", 1500) and store.pending.of("s") is None


async def test_a_stop_answered_with_a_server_error_is_reverted(worker: Worker, store: ChangeStore) -> None:
    bad_gateway = ServerError("HTTP 502 Bad Gateway", 502)
    worker.fails_after = lambda call: bad_gateway if call.path.endswith("/stop") else None
    with pytest.raises(OffsetsNotApplied, match="502"):
        await apply_plan(worker, store, [])
    assert worker.state == "RUNNING", "the worker had stopped the connector, so the change resumed it"


def make_unwritable(store: ChangeStore) -> None:
    """No further step can be stored, as on a full disk."""
    (stored,) = store.pending.folder.glob("*.json")
    stored.with_name(f".{stored.name}.{os.getpid()}").mkdir()


async def test_a_disk_that_is_full_before_the_change_leaves_no_connector_stopped(
    worker: Worker, store: ChangeStore
) -> None:
    worker.fails_after = lambda call: make_unwritable(store) if call.path.endswith("/stop") else None
    with pytest.raises(OffsetsNotApplied, match=r"cannot use .*json") as caught:
        await apply_plan(worker, store, [])
    assert not caught.value.stopped and not caught.value.unfinished
    assert (worker.state, worker.offset) == ("RUNNING", 1500) and store.pending.of("s") is None


async def test_a_disk_that_is_full_after_the_change_leaves_no_connector_stopped(
    worker: Worker, store: ChangeStore
) -> None:
    worker.fails_after = lambda call: make_unwritable(store) if call.method == "PATCH" else None
    done = await apply_plan(worker, store, [])
    assert not done.left_stopped and "not in the history: cannot use" in done.trouble
    assert (worker.state, worker.offset) == ("RUNNING", 500) and store.pending.of("s") is None


@pytest.mark.parametrize("first", range(1, REQUESTS))
async def test_a_paused_connector_is_paused_again(worker: Worker, store: ChangeStore, first: int) -> None:
    worker.state = "PAUSED"
    worker.away = lambda seen: unsent() if first <= seen < first + 2 else None
    await apply_plan(worker, store, [], plan("PAUSED"))
    assert (worker.state, worker.offset) == ("PAUSED", 500)


async def test_a_connector_that_someone_else_has_stopped_meanwhile_is_not_resumed(
    worker: Worker, store: ChangeStore
) -> None:
    worker.state, steps = "STOPPED", list[str]()
    done = await apply_plan(worker, store, steps, plan("RUNNING"))
    assert (worker.state, worker.offset, done.plan.state) == ("STOPPED", 500, "STOPPED")
    assert not outcome(done).failed, "the change is complete"
    assert steps[0] == "someone else has stopped the connector: it remains STOPPED"
    shown = wording.verdict(plan("RUNNING"), done)[0].plain
    assert "The connector remains STOPPED, since someone else has stopped it; r resumes it." in shown


async def test_a_relative_position_is_resolved_again_after_someone_else_has_stopped_the_connector(
    worker: Worker, store: ChangeStore
) -> None:
    """The connector ran on from 1500 to 5000 until someone else stopped it."""
    worker.state, worker.offset = "STOPPED", 5000
    done = await carry_out(plan(), Connect(worker), store, clock=worker.clock, replan=seek(worker, -1000))
    assert (worker.state, worker.offset) == ("STOPPED", 4000)
    assert not done.problems() and [change.after for change in done.moved] == [{"kafka_offset": 4000}]


async def test_a_sink_that_someone_else_has_stopped_at_the_position_is_not_resumed(
    worker: Worker, store: ChangeStore
) -> None:
    worker.state, worker.offset = "STOPPED", 5000
    done = await carry_out(plan(), Connect(worker), store, clock=worker.clock, replan=seek(worker, 0))
    assert (worker.state, worker.offset) == ("STOPPED", 5000) and "by itself" in done.verdict.message
    assert store.pending.of("s") is None


@pytest.mark.parametrize("act", [Recovery.finish, Recovery.roll_back])
@pytest.mark.parametrize("first", [3, 4, 5])  # the alter request, the offsets read back, and the request after these
async def test_a_recovery_does_not_resume_a_connector_that_someone_else_had_stopped(
    worker: Worker, store: ChangeStore, first: int, act: Callable[[Recovery, str], Awaitable[Recovered]]
) -> None:
    worker.state = "STOPPED"
    worker.away = lambda seen: unsent() if seen >= first else None
    with suppress(OffsetsNotApplied):
        await apply_plan(worker, store, [])
    worker.away = lambda seen: None
    if store.pending.of("s") is not None:
        await act(Recovery(Connect(worker), store), "s")
    assert worker.state == "STOPPED" and store.pending.of("s") is None


@pytest.mark.parametrize("resumed", [False, True])
async def test_a_change_killed_while_it_waits_for_the_stop_of_someone_else_is_finished_only_if_stopped(
    worker: Worker, store: ChangeStore, resumed: bool
) -> None:
    class Killed(Exception):
        pass

    def report(step: str) -> None:
        if step.startswith("waiting for STOPPED"):
            raise Killed

    worker.state, worker.looks = "STOPPED", -1  # the task is still running when the state is read again
    with pytest.raises(Killed):
        await carry_out(plan(), Connect(worker), store, report, worker.clock)
    if resumed:
        worker.state = "RUNNING"
        with pytest.raises(OffsetsNotApplied, match="s is RUNNING: someone resumed it") as caught:
            await Recovery(Connect(worker), store).finish("s")
        assert "finish s --forget" in caught.value.advice
        assert worker.offset == 1500 and store.pending.of("s") is not None
    else:
        await Recovery(Connect(worker), store).finish("s")
        assert (worker.state, worker.offset) == ("STOPPED", 500) and store.pending.of("s") is None


async def test_a_deletion_without_an_answer_is_detected(worker: Worker, store: ChangeStore) -> None:
    worker.state, worker.arrives = "STOPPED", True
    worker.away = lambda seen: unknown() if seen == 3 else None  # offsets, reset, delete
    done = await apply_plan(worker, store, [], plan("STOPPED", PlanAction.DELETE))
    assert not worker.there and "the connector no longer exists" in done.verdict.message


async def test_the_alter_request_is_retried_a_limited_number_of_times(worker: Worker, store: ChangeStore) -> None:
    altered = []

    def refuses(call: ApiCall) -> HeadraceError | None:
        if call.method != "PATCH":
            return None
        altered.append(call)
        return unsent()

    worker.refuses = refuses
    with pytest.raises(OffsetsNotApplied, match="refused"):
        await apply_plan(worker, store, [])
    assert len(altered) == 3 and worker.state == "RUNNING"


async def test_a_relative_position_is_resolved_again_after_the_stop(worker: Worker, store: ChangeStore) -> None:
    """A running sink advances after the plan: `-5` is relative to its position after the stop."""
    worker.late = 10
    replan = seek(worker, -5)
    one = plan()._replace(changes=await replan())
    done = await carry_out(one, Connect(worker), store, clock=worker.clock, replan=replan)
    assert (worker.state, worker.offset) == ("RUNNING", 1505)
    assert [(c.before, c.after) for c in done.moved] == [({"kafka_offset": 1510}, {"kafka_offset": 1505})]
    (past,) = store.histories.read("s")
    assert past["after"][0]["offset"] == {"kafka_offset": 1505}


async def test_a_sink_that_reached_the_position_by_itself_is_not_altered(worker: Worker, store: ChangeStore) -> None:
    worker.late = 10
    done = await carry_out(plan(), Connect(worker), store, clock=worker.clock, replan=seek(worker, 0))
    assert (worker.state, worker.offset) == ("RUNNING", 1510) and "by itself" in done.verdict.message
    assert store.pending.of("s") is None and not store.histories.read("s")


async def test_the_result_shows_the_offsets_before_the_change(worker: Worker, store: ChangeStore) -> None:
    """A fixed offset is set as confirmed; only the offset before it differs from the one confirmed."""
    worker.late = 10
    done = await apply_plan(worker, store, [])
    assert [(c.before, c.after) for c in done.moved] == [({"kafka_offset": 1510}, {"kafka_offset": 500})]
    worker.state = "STOPPED"
    base = (Offset(PARTITION, {"kafka_offset": 500}),)
    still = OffsetPlan("s", base, tuple(changes(base, [Offset(PARTITION, {"kafka_offset": 7})])), "STOPPED")
    assert not (await apply_plan(worker, store, [], still)).moved
