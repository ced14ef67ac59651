"""A worker applies the assignments that it receives, and requests rebalances of its group."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from runtime.herder.group.assignor import Unit
from runtime.herder.group.departures import Departures
from runtime.herder.group.group import WorkerState
from runtime.herder.group.leader import GroupView, refusal
from runtime.herder.group.leader_view import GroupSettings, ViewSources
from runtime.herder.group.rejoin_backoff import REFUSALS_LOGGED, REJOIN_DELAY
from runtime.herder.group.worker_group import WorkerGroup
from runtime.kafka.group.group_member import GroupMember, MemberEvents, Place
from runtime.kafka.group.ownership import Ownership
from runtime.kafka.group.protocol import CONNECTOR, Assignment, AssignmentError, Details, WorkerMetadata
from runtime.model.states import State
from runtime.storage.statuses import StatusRecord
from runtime.system.lease_clock import lease_time
from tests.support.herder.herder_rig import HerderRig
from tests.support.waiting import until

URL = "http://w:1/"
OTHER = "http://w:2/"


class ScriptedMember:
    """A membership whose rebalances the test carries out."""

    group_id, trouble, rebalancing = "g", "", False
    confirmed_until = float("inf")
    process: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.ownership = Ownership()
        self.rejoins = 0
        self.generation = 0
        self.events: MemberEvents
        self.refusal = ""
        self.may_answer = asyncio.Event()  # the coordinator may describe the group
        self.may_answer.set()
        self.details = Details()  # of the other worker

    def start(self, events: MemberEvents, foreign_refusal: str) -> None:
        self.events, self.refusal = events, foreign_refusal

    def rejoin(self) -> None:
        self.rejoins += 1

    def released(self, units: Iterable[tuple[str, int]]) -> None:
        self.ownership.release(units)
        if not self.ownership.stopping:
            self.rejoin()

    async def leave(self) -> None:
        return

    async def members(self) -> Mapping[str, WorkerMetadata]:
        await self.may_answer.wait()
        return {"me": WorkerMetadata(URL, 0, None, Details()), "you": WorkerMetadata(OTHER, 0, None, self.details)}

    async def rebalance(self, others: Mapping[str, WorkerMetadata] = {}) -> Mapping[str, Assignment]:
        """A rebalance that this worker leads, with these other members."""
        own = self.events.describe()
        metadata = WorkerMetadata(own.url, own.config_offset, self.ownership.allocation(2), own.details)
        found = await asyncio.to_thread(self.events.lead, "me", {"me": metadata, **others})
        self.given(found["me"])
        return found

    def given(self, assignment: Assignment) -> None:
        self.generation += 1
        self.ownership.apply(assignment)
        place = Place(
            "me", self.generation, assignment.leader, assignment.leader_url, assignment.config_offset,
            bool(assignment.error), self.ownership.edition,
        )  # fmt: skip
        self.events.on_place(place)


class Listener:
    def __init__(self) -> None:
        self.changes = 0
        self.members_reads = 0
        self.refusals: list[str] = []
        self.leads: list[bool] = []
        self.unassigned: set[Unit] = set()

    def entered(self, generation: int) -> None:
        return

    def ownership_changed(self) -> None:
        self.changes += 1

    def members_read(self) -> None:
        self.members_reads += 1

    def leading(self, leads: bool, unassigned: Collection[Unit]) -> None:
        self.leads.append(leads)
        self.unassigned = set(unassigned)

    def refused(self, reason: str) -> None:
        self.refusals.append(reason)


class Rig:
    def __init__(self, delay: float = 0.0, mixed: bool = False) -> None:
        self.herder = HerderRig()
        self.member, self.listener = ScriptedMember(), Listener()
        self.departures = Departures(self.herder.journal.documents)
        self.group = WorkerGroup(
            cast(GroupMember, self.member),
            GroupSettings(URL, "test", 2, delay, mixed=mixed, topics={"config.storage.topic": "configs"}),
            self.herder.configs,
            self.herder.statuses,
            ViewSources(self.departures, states=lambda: self.states),
            await_view=self.await_view,
        )
        self.views: list[concurrent.futures.Future[GroupView]] = []
        self.is_busy = False  # the event loop has not collected a view within the time limit
        self.states: dict[str, WorkerState] = {}
        self.herder.configs.subscribe(changes=self.group.configured)

    def await_view(self, view: concurrent.futures.Future[GroupView], timeout: float) -> GroupView:
        """On the network thread."""
        self.views.append(view)
        if self.is_busy:
            raise concurrent.futures.TimeoutError
        return view.result(30)

    async def join(self, others: Mapping[str, WorkerMetadata] = {}) -> None:
        joining = asyncio.create_task(self.group.join(self.listener))
        await until(lambda: hasattr(self.member, "events"))
        await self.member.rebalance(others)
        await joining
        self.group.slots_up()

    async def rebalance_with(self, other: WorkerMetadata) -> None:
        """A rebalance with another worker, which this one then knows."""
        await self.member.rebalance({"you": other})
        await until(lambda: self.group.peers())

    def other(self, claims: Mapping[str, tuple[int, ...]] | None = None) -> WorkerMetadata:
        held = None if claims is None else Assignment("me", URL, 0, claims)
        return WorkerMetadata(OTHER, self.herder.configs.offset, held, Details("test", 2))


async def joined(*connectors: str, delay: float = 0.0) -> Rig:
    """A worker that is alone in its group, with these connectors."""
    rig = Rig(delay)
    for name in connectors:
        await rig.herder.create(name)
    await rig.join()
    return rig


async def test_a_membership_that_is_not_confirmed_is_named_as_the_trouble() -> None:
    """A frozen broker is no error of the client."""
    rig = await joined()
    before = rig.group.trouble
    rig.member.confirmed_until = lease_time() - 0.001
    assert (before, rig.group.trouble) == ("", "Kafka does not confirm the membership in group g")


async def test_a_cordoned_worker_adopts_nothing_even_if_it_is_alone() -> None:
    rig = await joined("old")
    rig.states["w:1"] = WorkerState.CORDONED
    await rig.member.rebalance()
    await rig.herder.create("new")
    await until(lambda: rig.member.rejoins)
    await rig.member.rebalance()
    assert rig.group.owns("old") and not rig.group.owns("new")
    await until(lambda: rig.listener.unassigned == {Unit("new", CONNECTOR)})
    rejoins = rig.member.rejoins
    rig.states.clear()
    await rig.member.rebalance()
    await until(lambda: rig.group.owns("new"))
    assert rig.member.rejoins == rejoins, "a unit that no worker accepts causes no rebalances"


async def test_a_worker_alone_adopts_new_connectors_without_a_rebalance() -> None:
    rig = await joined("old")
    assert rig.group.owns("old")
    assert rig.group.leads
    await rig.herder.create("new")
    await rig.herder.configs.put_tasks("new", [{}, {}])
    assert [rig.group.owns("new", task) for task in (CONNECTOR, 0, 1, 2)] == [True, True, True, False]
    assert rig.member.rejoins == 0


async def test_units_of_deleted_connectors_are_dropped_when_they_have_ended() -> None:
    rig = await joined("old")
    await rig.herder.configs.remove_connector("old")
    assert rig.group.owns("old"), "the unit may still run on this worker"
    rig.group.stopped("old", {CONNECTOR})
    assert not rig.group.owns_any("old")
    assert not rig.member.ownership.running


async def test_a_worker_that_has_left_reports_in_an_earlier_generation() -> None:
    rig = await joined()
    await rig.rebalance_with(rig.other())
    now = rig.group.generation
    reports = [("w:2", now), ("w:3", now - 1), ("w:3", now)]
    assert [rig.group.is_outside(worker, generation) for worker, generation in reports] == [False, False, True]
    rig.member.confirmed_until = lease_time() - 0.001
    assert not rig.group.is_outside("w:3", now + 1), "this worker was frozen: the other one may have its units"


async def test_with_other_workers_new_connectors_need_a_rebalance() -> None:
    rig = await joined()
    await rig.rebalance_with(rig.other())
    await rig.herder.create("new")
    assert not rig.group.owns("new")
    await until(lambda: rig.member.rejoins)
    found = await rig.member.rebalance({"you": rig.other()})
    assert sum("new" in assignment.assigned for assignment in found.values()) == 1


async def test_revoked_units_are_released_when_they_have_stopped() -> None:
    rig = await joined("a", "b")
    await rig.member.rebalance({"you": rig.other()})
    await until(lambda: not (rig.group.owns("a") and rig.group.owns("b")))
    (moved,) = (name for name in ("a", "b") if not rig.group.owns(name))
    assert rig.group.units(moved) == {CONNECTOR}
    rig.group.stopped(moved, {CONNECTOR})
    assert not rig.group.units(moved)
    assert rig.member.rejoins == 1
    await rig.member.rebalance({"you": rig.other()})
    await until(lambda: rig.group.owner_url(moved) == OTHER)


async def test_units_of_a_departed_worker_wait_for_its_return() -> None:
    rig = await joined(delay=60.0)
    await rig.rebalance_with(rig.other())
    await rig.herder.create("a")
    await rig.member.rebalance({"you": rig.other({"a": (CONNECTOR,)})})
    rig.herder.statuses.put_connector("a", StatusRecord(State.RUNNING, None, "w:2", 2))
    found = await rig.member.rebalance()
    assert not rig.group.owns("a")
    assert 0 < found["me"].delay <= 60_000
    await until(lambda: set(rig.departures.times()) == {"w:2"})
    assert set(rig.group.snapshot.waiting) == {Unit("a", CONNECTOR)}
    await rig.herder.create("new")
    await until(lambda: rig.group.owns("new"))
    assert not rig.group.owns("a"), "the only worker adopts new units, but not units that wait for another worker"


async def test_no_unit_waits_for_a_worker_that_was_draining() -> None:
    """The status names it as long as the new owner of a unit has not started it: a new owner that leaves at once left
    the unit waiting for the former one, for up to five minutes."""
    rig = await joined(delay=60.0)
    await rig.herder.create("a")
    rig.herder.statuses.put_connector("a", StatusRecord(State.FAILED, "no license", "w:2", 2))
    leaving = replace(rig.other(), details=Details("test", 2, draining=True))
    await rig.rebalance_with(leaving)
    rig.member.ownership.apply(Assignment("me", URL, 0, revoked={"a": (CONNECTOR,)}))
    rig.member.ownership.release([("a", CONNECTOR)])
    found = await rig.member.rebalance()
    assert found["me"].delay == 0
    await until(lambda: rig.group.owns("a"))
    assert not rig.departures.times()


async def test_a_departed_worker_has_returned_when_its_slots_are_up() -> None:
    rig = await joined(delay=60.0)
    await rig.rebalance_with(rig.other())
    await rig.member.rebalance()
    times = rig.departures.times
    await until(lambda: set(times()) == {"w:2"})
    starting = replace(rig.other(), details=Details("test", 0))
    await rig.rebalance_with(starting)
    assert set(times()) == {"w:2"}
    await rig.member.rebalance({"you": rig.other()})
    await until(lambda: not times())


async def test_units_that_are_revoked_before_they_are_known_here_are_still_released() -> None:
    rig = await joined()
    await rig.rebalance_with(rig.other())
    await rig.herder.create("a")
    rig.member.ownership.apply(Assignment("me", URL, 0, {"a": (CONNECTOR,)}))
    rig.member.given(Assignment("me", URL, 0, revoked={"a": (CONNECTOR,)}))
    await until(lambda: rig.group.units("a"))
    assert not rig.group.owns("a")
    assert rig.group.owned() == ["a"], "the control loop of the connector finds the units that it must stop"


async def test_a_lost_membership_revokes_all_units() -> None:
    rig = await joined("a")
    rig.member.ownership.lose()
    rig.member.events.on_lost()
    assert not rig.group.owns_any("a")
    assert not rig.group.leads
    assert rig.group.leader_url is None
    assert rig.listener.leads[-1] is False


async def test_a_leader_that_is_behind_reads_and_joins_again() -> None:
    rig = await joined()
    ahead = WorkerMetadata(OTHER, rig.herder.configs.offset + 5, None, Details("test", 2))
    found = await rig.member.rebalance({"you": ahead})
    assert bool(found["me"].error)
    await until(lambda: rig.member.rejoins)


async def test_a_worker_that_ends_does_not_wait_if_the_others_have_left_or_end_too() -> None:
    rig = await joined("a")
    await rig.rebalance_with(rig.other())
    handing_over = asyncio.create_task(rig.group.hand_over(60))
    await until(lambda: rig.member.rejoins)
    await rig.member.rebalance()
    await asyncio.wait_for(handing_over, 30)

    ending = replace(rig.other(), details=Details("test", 2, draining=True))
    await rig.rebalance_with(ending)
    await asyncio.wait_for(rig.group.hand_over(60), 30)


async def test_the_leader_reports_workers_that_advertise_the_same_address(caplog: pytest.LogCaptureFixture) -> None:
    rig = await joined()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    elsewhere = replace(rig.other(), url=URL, details=Details("test", 2, process={"host": "b", "pid": 2}))
    await rig.member.rebalance({"you": elsewhere})
    (found,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert found.startswith("The workers member me and process 2 on b have the same address http://w:1/")
    assert "rest.advertised.host.name" in found


def follows(rig: Rig, *added: str) -> Assignment:
    """An assignment by the other worker, which adds these connectors."""
    return Assignment("you", OTHER, rig.herder.configs.offset, dict.fromkeys(added, (CONNECTOR,)))


async def held_departure(rig: Rig) -> Any:
    """The other worker has left, but the record of its departure is not written yet. Returns the journal's topic."""
    await rig.join()
    await rig.rebalance_with(rig.other())
    journal = rig.herder.logs.by_topic["j"]
    journal.held = b"departures"
    await rig.member.rebalance()
    await asyncio.wait_for(journal.holding.wait(), 30)
    return journal


async def test_a_rebalance_does_not_wait_for_kafka_to_answer_requests_after_the_one_before() -> None:
    rig = Rig(delay=60.0)
    await rig.herder.create("a")
    journal = await held_departure(rig)
    await rig.rebalance_with(rig.other())

    rig.member.may_answer.clear()
    rig.member.given(follows(rig, "b"))
    await until(lambda: rig.group.owns("b"))
    rig.member.given(follows(rig, "c"))
    await until(lambda: rig.group.owns("c"))
    assert not rig.listener.members_reads
    journal.held = b""
    journal.may_go.set()
    rig.member.may_answer.set()
    await until(lambda: rig.group.snapshot.leader == "w:2" and rig.listener.members_reads == 1)
    assert not rig.departures.times(), "another worker leads"


@pytest.mark.parametrize("theirs", ["configs", "others", None])
async def test_a_worker_with_other_storage_topics_than_the_leader_ends(theirs: str | None) -> None:
    rig = await joined("a")
    rig.member.details = Details("test", 2, topics={"config.storage.topic": theirs} if theirs else {})
    rig.member.given(follows(rig, "a"))
    await until(lambda: rig.listener.members_reads == 1)
    assert rig.listener.refusals == (
        [
            "config.storage.topic=configs, but others on w:2, the leader of group.id=g: set the same topics on all "
            "workers, or choose another group.id"
        ]
        if theirs == "others"
        else []
    )


async def test_departures_are_recorded_in_the_order_of_the_rebalances() -> None:
    rig = Rig(delay=60.0)
    journal = await held_departure(rig)
    third = replace(rig.other(), url="http://w:3/")
    await rig.rebalance_with(third)
    await rig.member.rebalance()
    await until(lambda: not rig.group.peers())
    journal.held = b""
    journal.may_go.set()
    await until(lambda: set(rig.departures.times()) == {"w:2", "w:3"})


async def test_a_task_runs_elsewhere_until_its_worker_has_stopped_it() -> None:
    """Its status is removed when it has committed for the last time, by that worker."""
    rig = await joined("a")
    await rig.rebalance_with(rig.other({"removed": (0,)}))
    await until(lambda: rig.group.peers())
    assert rig.group.runs_elsewhere("w:2", "removed", 0)
    await rig.rebalance_with(rig.other())
    await until(lambda: not rig.group.runs_elsewhere("w:2", "removed", 0))


async def test_connectors_of_apaches_workers_are_known() -> None:
    rig = Rig(mixed=True)
    await rig.herder.create("a")
    held = Assignment("me", URL, 0, {"a": (CONNECTOR,)})
    await rig.join({"you": WorkerMetadata(OTHER, rig.herder.configs.offset, held)})
    await until(lambda: rig.group.owned_by_apache() == ["a"])


async def test_a_worker_that_ends_notices_that_the_others_end_too_when_it_has_read_their_metadata() -> None:
    rig = await joined("a")
    rig.member.given(follows(rig, "a"))
    await until(lambda: rig.group.peers())
    handing_over = asyncio.create_task(rig.group.hand_over(60))
    await until(lambda: rig.member.rejoins)
    rig.member.may_answer.clear()
    rig.member.details = Details("test", 2, draining=True)
    rig.member.given(follows(rig))
    await until(lambda: rig.group.generation == rig.member.generation)
    assert not handing_over.done()
    rig.member.may_answer.set()
    await asyncio.wait_for(handing_over, 30)


def rejoined(rig: Rig, count: int) -> bool:
    return rig.member.rejoins == count


async def test_a_group_that_gets_no_assignments_joins_again_less_and_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = await joined()

    async def refused(count: int) -> float:
        """Seconds until the worker joins again, for the `count`th time."""
        nothing = refusal("you", {"you": replace(rig.other(), config_offset=rig.herder.configs.offset)})
        started = time.monotonic()
        rig.member.given(nothing.assignments["you"])
        await until(partial(rejoined, rig, count))
        return time.monotonic() - started

    delays = [await refused(count) for count in range(1, REFUSALS_LOGGED + 1)]
    assert delays[-1] >= 8 * REJOIN_DELAY > 2 * delays[0], delays
    (found,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert found.startswith("Leader w:2 of group g has assigned nothing 5 times in a row")
    assert "config.storage.topic" in found
    generation = rig.group.generation
    await rig.member.rebalance()
    await until(lambda: rig.group.generation > generation)
    assert await refused(REFUSALS_LOGGED + 1) < delays[-1], "an assignment ends the back-off"


async def test_a_leader_with_a_busy_event_loop_assigns_at_the_second_attempt() -> None:
    rig = await joined()
    await rig.herder.configs.put_connector("a", {"connector.class": "S"})
    rig.is_busy = True
    refused = await rig.member.rebalance({"you": rig.other()})
    assert {assignment.error for assignment in refused.values()} == {AssignmentError.CONFIG_MISMATCH}
    rig.is_busy = False
    assigned = await rig.member.rebalance({"you": rig.other()})
    assert {assignment.error for assignment in assigned.values()} == {AssignmentError.NONE}
    assert rig.views[-1] is rig.views[-2], "the view of the first attempt serves the second"


async def test_the_leader_is_known_before_its_assignment_has_been_applied() -> None:
    """On a busy machine that may take minutes: it may assign nothing yet, or this worker may not have read as much."""
    rig = await joined()
    rig.member.events.on_lost()
    assert rig.group.leader_url is None
    rig.member.given(Assignment("you", OTHER, 10**6, {}, error=AssignmentError.CONFIG_MISMATCH))
    assert rig.group.leader_url == OTHER
    rig.member.events.on_lost()
    assert (rig.group.leader_url, rig.group.last_leader_url) == (None, OTHER)


async def test_an_error_in_computing_assignments_ends_no_worker(caplog: pytest.LogCaptureFixture) -> None:
    rig = await joined("a")
    rig.states = cast(Any, None)  # the leader's view cannot be built
    found = await rig.member.rebalance({"you": rig.other()})
    assert {bool(assignment.error) for assignment in found.values()} == {True}
    assert "Connectors and tasks could not be assigned" in caplog.text
    await until(lambda: rig.member.rejoins)
    assert rig.group.owns("a")
