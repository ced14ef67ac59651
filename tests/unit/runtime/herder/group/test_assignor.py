"""The assignor in simulated groups: no unit runs twice or is forgotten, few units move, and the load is balanced."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runtime.herder.group.assignor import Decision, GroupWorker, Situation, Unit, assign

DELAY = 300.0


class Group:
    """Members that follow their assignments, with a check that no unit has two owners."""

    def __init__(self, weights: Mapping[Unit, float]) -> None:
        self.weights = dict(weights)
        self.members: dict[str, GroupWorker] = {}
        self.running: dict[str, set[Unit]] = {}
        self.previous: dict[Unit, str] = {}
        self.departed: dict[str, float] = {}
        self.restricted: dict[str, frozenset[str]] = {}
        self.now = 0.0
        self.starts: Counter[Unit] = Counter()

    def join(self, worker_id: str, capacity: float = 1.0) -> None:
        name = f"{worker_id}-{self.now}-{len(self.starts)}-{len(self.members)}"
        self.members[name] = GroupWorker(name, worker_id, capacity)
        self.running[name] = set()

    def leave(self, worker_id: str) -> None:
        name = self.member(worker_id)
        del self.members[name], self.running[name]
        self.departed[worker_id] = self.now

    def member(self, worker_id: str) -> str:
        return next(name for name, m in self.members.items() if m.worker_id == worker_id)

    def generation(self) -> Decision:
        decision = assign(
            Situation(
                list(self.members.values()),
                self.weights,
                self.running,
                self.previous,
                self.departed,
                self.restricted,
                self.now,
                DELAY,
            )
        )
        self._check(decision)
        for name, units in decision.revoked.items():
            self.running[name] -= set(units)
        for name, units in decision.assigned.items():
            self.running[name] |= set(units)
            for unit in units:
                self.previous[unit] = self.members[name].worker_id
                self.starts[unit] += 1
        present = {m.worker_id for m in self.members.values()}
        self.departed = {w: t for w, t in self.departed.items() if w not in present and t + DELAY > self.now}
        return decision

    def settle(self) -> Decision:
        """Runs generations until nothing changes; fails after twelve."""
        for _ in range(12):
            decision = self.generation()
            if not any(decision.assigned.values()) and not any(decision.revoked.values()):
                return decision
        raise AssertionError("the group does not settle")

    def _check(self, decision: Decision) -> None:
        before = {unit for units in self.running.values() for unit in units}
        given = [unit for units in decision.assigned.values() for unit in units]
        assert len(given) == len(set(given)), "a unit is assigned twice"
        assert not set(given) & before, "a unit is assigned while another member runs it"
        for name, units in decision.revoked.items():
            assert set(units) <= self.running[name], "a unit is revoked from a member that does not run it"
        revoked = {unit for units in decision.revoked.values() for unit in units}
        covered = before | set(given) | decision.waiting | decision.unassignable | revoked
        assert set(self.weights) <= covered, "a unit is forgotten"

    def loads(self) -> dict[str, float]:
        return {
            name: sum(self.weights.get(unit, 0) for unit in units) / self.members[name].capacity
            for name, units in self.running.items()
        }


def units(connectors: int, tasks: int) -> dict[Unit, float]:
    return {Unit(f"c{c}", t): 1.0 for c in range(connectors) for t in range(-1, tasks)}


def settled(workers: int, connectors: int, tasks: int) -> Group:
    group = Group(units(connectors, tasks))
    for number in range(workers):
        group.join(f"w{number}")
    group.settle()
    return group


def test_work_is_spread_evenly() -> None:
    group = settled(3, 10, 2)
    assert sorted(group.loads().values()) == [10, 10, 10]


def test_units_are_assigned_in_proportion_to_capacity() -> None:
    group = Group(units(10, 2))
    group.join("small", 1)
    group.join("large", 4)
    group.settle()
    assert sorted(len(held) for held in group.running.values()) == [6, 24]


def test_connectors_are_spread_evenly_although_they_are_a_small_part_of_the_load() -> None:
    group = Group({unit: 0.05 if unit.task < 0 else 0.25 for unit in units(4, 4)})
    for number in range(2):
        group.join(f"w{number}")
    most, others = group.running.values()  # as workers that have left have given their units to these
    most |= {unit for unit in group.weights if (unit.connector < "c3" if unit.task < 0 else unit.task < 2)}
    others |= set(group.weights) - most
    group.settle()
    assert [sum(unit.task < 0 for unit in held) for held in group.running.values()] == [2, 2]
    assert group.starts.total() == 1, "no task moves"


def test_a_unit_that_a_larger_worker_takes_over_stays_there() -> None:
    group = Group({Unit("c", 0): 1.0})
    group.join("a", 1)
    group.settle()
    group.join("b", 4)
    group.settle()
    assert group.running[group.member("b")] == {Unit("c", 0)}


def test_a_new_worker_gets_its_share_and_nothing_else_moves() -> None:
    group = settled(3, 10, 3)
    group.starts.clear()
    group.join("w3")
    group.settle()
    assert max(group.loads().values()) - min(group.loads().values()) <= 2, "a connector and a task"
    assert sum(group.starts.values()) == 10
    assert max(group.starts.values()) == 1


def test_the_work_of_a_departed_worker_waits_for_it() -> None:
    group = settled(3, 10, 2)
    before = set(group.running[group.member("w1")])
    group.starts.clear()
    group.leave("w1")
    decision = group.settle()
    assert decision.waiting == before
    assert decision.next_rebalance == DELAY
    group.now += DELAY / 2
    group.join("w1")
    assert not group.settle().waiting
    assert group.running[group.member("w1")] == before
    assert set(group.starts) == before


def test_the_work_of_a_departed_worker_is_given_to_others_after_the_delay() -> None:
    group = settled(3, 10, 2)
    group.leave("w1")
    group.settle()
    group.now += DELAY
    assert not group.settle().waiting
    assert sorted(group.loads().values()) == [15, 15]


def test_a_new_leader_decides_as_the_old_one_would_have() -> None:
    """The assignor keeps no state, so none is lost with a leader."""
    group = settled(3, 10, 2)
    group.leave("w0")
    situation = Situation(
        list(group.members.values()), group.weights, group.running, group.previous, group.departed, delay=DELAY
    )
    reordered = Situation(
        list(group.members.values())[::-1], group.weights, group.running, group.previous, group.departed, delay=DELAY
    )
    assert assign(situation) == assign(reordered)


def test_a_draining_worker_gives_its_work_away_and_a_cordoned_one_keeps_it() -> None:
    group = settled(3, 10, 2)
    cordoned, draining = group.member("w0"), group.member("w1")
    kept = set(group.running[cordoned])
    group.members[cordoned] = GroupWorker(cordoned, "w0", cordoned=True)
    group.members[draining] = GroupWorker(draining, "w1", draining=True)
    group.settle()
    assert group.running[cordoned] == kept
    assert not group.running[draining]
    assert len(group.running[group.member("w2")]) == 20


def test_the_last_worker_keeps_its_work_while_it_drains() -> None:
    group = settled(1, 2, 2)
    name = group.member("w0")
    group.members[name] = GroupWorker(name, "w0", draining=True)
    group.settle()
    assert len(group.running[name]) == 6


def test_restricted_connectors_run_only_on_suitable_workers() -> None:
    group = settled(3, 10, 2)
    able = group.member("w2")
    group.restricted = {"c1": frozenset((able,)), "c2": frozenset(("nobody",))}
    decision = group.settle()
    assert {unit for unit in group.weights if unit.connector == "c1"} <= group.running[able]
    assert decision.unassignable == {unit for unit in group.weights if unit.connector == "c2"}


def test_a_unit_with_two_owners_stays_with_the_latest_owner() -> None:
    group = settled(2, 2, 2)
    unit = next(iter(group.running[group.member("w1")]))
    stale = {name: set(held) for name, held in group.running.items()}
    stale[group.member("w0")].add(unit)
    decision = assign(Situation(list(group.members.values()), group.weights, stale, group.previous, delay=DELAY))
    assert decision.revoked == {group.member("w0"): [unit]}


def test_deleted_connectors_are_revoked() -> None:
    group = settled(2, 3, 2)
    group.weights = {unit: weight for unit, weight in group.weights.items() if unit.connector != "c1"}
    group.settle()
    assert not [unit for held in group.running.values() for unit in held if unit.connector == "c1"]


def test_small_changes_of_measured_load_move_nothing() -> None:
    group = settled(4, 20, 3)
    group.starts.clear()
    group.weights = {unit: 1.0 + (hash(unit) % 7) / 100 for unit in group.weights}
    group.settle()
    assert not group.starts


@pytest.mark.parametrize("change", ["join", "leave"])
def test_ten_thousand_tasks_on_fifty_workers_take_less_than_a_second(change: str) -> None:
    group = settled(50, 500, 19)
    if change == "join":
        group.join("w50")
    else:
        group.leave("w7")
        group.now += DELAY
    start = time.thread_time()
    group.generation()
    assert time.thread_time() - start < 1.0
    group.settle()
    assert max(group.loads().values()) - min(group.loads().values()) <= 20


class Life(RuleBasedStateMachine):
    """Workers come and go, connectors are created and deleted, time passes, weights change."""

    def __init__(self) -> None:
        super().__init__()
        self.group = Group({})
        self.group.join("w0")

    @rule(number=st.integers(0, 5), capacity=st.sampled_from((1.0, 2.0, 8.0)))
    def join(self, number: int, capacity: float) -> None:
        if f"w{number}" not in {m.worker_id for m in self.group.members.values()}:
            self.group.join(f"w{number}", capacity)

    @precondition(lambda self: len(self.group.members) > 1)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.group.leave(data.draw(st.sampled_from(sorted(m.worker_id for m in self.group.members.values()))))

    @rule(name=st.integers(0, 5), tasks=st.integers(0, 6), weight=st.sampled_from((0.0, 0.2, 1.0, 3.0)))
    def configure(self, name: int, tasks: int, weight: float) -> None:
        self.delete(name)
        self.group.weights |= {Unit(f"c{name}", task): weight if task >= 0 else 0.1 for task in range(-1, tasks)}

    @rule(name=st.integers(0, 5))
    def delete(self, name: int) -> None:
        self.group.weights = {u: w for u, w in self.group.weights.items() if u.connector != f"c{name}"}

    @rule(seconds=st.sampled_from((1.0, DELAY / 2, DELAY)))
    def wait(self, seconds: float) -> None:
        self.group.now += seconds

    @rule()
    def generation(self) -> None:
        self.group.generation()

    @rule(draining=st.booleans(), cordoned=st.booleans(), data=st.data())
    def cordon(self, draining: bool, cordoned: bool, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.group.members)))
        member = self.group.members[name]
        self.group.members[name] = GroupWorker(name, member.worker_id, member.capacity, cordoned, draining)

    @rule()
    def settle(self) -> None:
        decision = self.group.settle()
        running = [unit for held in self.group.running.values() for unit in held]
        assert len(running) == len(set(running))
        assert set(running) | decision.waiting | decision.unassignable == set(self.group.weights)
        assert not decision.unassignable or not any(m.accepts for m in self.group.members.values())

    @invariant()
    def nothing_has_two_owners(self) -> None:
        running = [unit for held in self.group.running.values() for unit in held]
        assert len(running) == len(set(running))


Life.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestLife = Life.TestCase


@settings(max_examples=50)
@given(st.lists(st.floats(0.05, 5), min_size=1, max_size=60), st.integers(1, 6), st.integers(0, 3))
def test_no_worker_exceeds_its_share_by_more_than_one_unit(weights: list[float], workers: int, extra: int) -> None:
    group = Group({Unit("c", number): weight for number, weight in enumerate(weights)})
    for number in range(workers):
        group.join(f"w{number}")
    group.settle()
    for number in range(extra):
        group.join(f"x{number}")
    group.settle()
    share = sum(weights) / (workers + extra)
    assert max(group.loads().values()) <= share * 1.1 + max(weights) + 1e-6
