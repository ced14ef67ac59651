"""Assigns connectors and tasks to the workers of a group: sticky, incremental, balanced by weight.

The assignor is a pure function of what every worker can read: members report what they run when they join, the status
topic names previous owners, and the journal records departures. A new leader therefore decides as the old one would
have.

Work moves in two generations (KIP-415): the owner stops it in the first, another member starts it in the second, so
that nothing ever has two owners. Weights are relative: a worker's share is its capacity divided by that of all.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

IMBALANCE: Final = 0.1
"""Fraction of its share by which a worker's load may differ from the share before work is moved. Measured weights
fluctuate."""

_EPSILON: Final = 1e-9


class Unit(NamedTuple):
    """The unit of assignment: a task, or, if `task` is -1, the connector itself."""

    connector: str
    task: int


@dataclass(frozen=True, slots=True)
class GroupWorker:
    """A worker in the group. `worker_id` (host:port of its REST API) survives its restarts, `member_id` does not.

    A cordoned worker receives no new work; a draining worker also hands over its work to others. A `starting` worker
    receives none yet, but units that wait for its return continue to wait."""

    member_id: str
    worker_id: str
    capacity: float = 1.0
    cordoned: bool = False
    draining: bool = False
    starting: bool = False

    @property
    def accepts(self) -> bool:
        """Whether the member may be given work."""
        return not (self.cordoned or self.draining or self.starting)


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of an assignment. Times are in seconds of one clock.

    `weights` names everything that should run. `running` has the units that each member reports as running. `previous`
    is the worker that ran a unit last. `departed` has the times at which workers left, until they receive their work
    again. `restricted` names, for connectors that only some workers can run, the members that can run them."""

    members: Sequence[GroupWorker]
    weights: Mapping[Unit, float]
    running: Mapping[str, Collection[Unit]] = field(default_factory=dict)
    previous: Mapping[Unit, str] = field(default_factory=dict)
    departed: Mapping[str, float] = field(default_factory=dict)
    restricted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    now: float = 0.0
    delay: float = 300.0


@dataclass(frozen=True, slots=True)
class Decision:
    """The changes of one generation, by member id. `waiting` units are reserved for workers that may return; no member
    can run `unassignable` units.

    `next_rebalance` is the number of seconds until the assignment must be computed again; None if that is not
    needed."""

    assigned: Mapping[str, list[Unit]]
    revoked: Mapping[str, list[Unit]]
    waiting: frozenset[Unit] = frozenset()
    unassignable: frozenset[Unit] = frozenset()
    next_rebalance: float | None = None


def assign(situation: Situation) -> Decision:
    """The decision for one generation. Deterministic: equal situations give equal decisions, in any order of
    members."""
    return _Assignment(situation).decide()


class _Assignment:
    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._members = {m.member_id: m for m in sorted(situation.members, key=lambda m: m.member_id)}
        self._accepting = [m for m in self._members.values() if m.accepts]
        self._held: dict[str, set[Unit]] = {name: set() for name in self._members}
        self._load = dict.fromkeys(self._members, 0.0)
        self._assigned: dict[str, list[Unit]] = defaultdict(list)
        self._revoked: dict[str, list[Unit]] = defaultdict(list)

    def decide(self) -> Decision:
        moving = self._keep() | self._drain()
        held = {unit for units in self._held.values() for unit in units}
        free = [unit for unit in self._situation.weights if unit not in held and unit not in moving]
        free, waiting, soonest = self._wait(free)
        unassignable = self._place(self._return(free))
        if not waiting:
            self._balance()
        next_rebalance = None if soonest is None else max(0.0, soonest - self._situation.now)
        return Decision(self._assigned, self._revoked, frozenset(waiting), frozenset(unassignable), next_rebalance)

    def _keep(self) -> set[Unit]:
        """Units stay with the members that run them, unless a unit should no longer run, the member may not run it, or
        two members claim it. Returns units that a member must stop before another can start them."""
        claims: dict[Unit, list[str]] = defaultdict(list)
        for name in self._members:
            for unit in sorted(self._situation.running.get(name, ())):
                claims[unit].append(name)
        moving = set()
        for unit, names in claims.items():
            allowed = [n for n in names if unit in self._situation.weights and self._may_run(n, unit)]
            owner = next((n for n in allowed if self._ran_last(n, unit)), allowed[0] if allowed else None)
            for name in names:
                if name != owner:
                    self._revoked[name].append(unit)
            if owner is not None:
                self._hold(owner, unit)
            elif unit in self._situation.weights:
                moving.add(unit)
        return moving

    def _drain(self) -> set[Unit]:
        """Draining members stop units that another member can run. Returns these units."""
        moving = set()
        for member in self._members.values():
            if not member.draining:
                continue
            for unit in sorted(self._held[member.member_id]):
                if any(self._may_run(other.member_id, unit) for other in self._accepting):
                    self._revoke(member.member_id, unit)
                    moving.add(unit)
        return moving

    def _wait(self, free: Iterable[Unit]) -> tuple[list[Unit], set[Unit], float | None]:
        """Units whose last worker may still return wait for that worker (`scheduled.rebalance.max.delay.ms`)."""
        situation = self._situation
        present = {member.worker_id for member in self._members.values() if not member.starting}
        deadlines = {w: t + situation.delay for w, t in situation.departed.items() if w not in present}
        now_free, waiting, soonest = [], set(), None
        for unit in free:
            deadline = deadlines.get(situation.previous.get(unit, ""), 0.0)
            if deadline > situation.now:
                waiting.add(unit)
                soonest = deadline if soonest is None else min(soonest, deadline)
            else:
                now_free.append(unit)
        return now_free, waiting, soonest

    def _return(self, free: Iterable[Unit]) -> list[Unit]:
        """Give returned workers the units that they ran before; returns the other units."""
        back = {m.worker_id: m for m in self._accepting if m.worker_id in self._situation.departed}
        others = []
        for unit in free:
            member = back.get(self._situation.previous.get(unit, ""))
            if member is not None and self._may_run(member.member_id, unit):
                self._give(member.member_id, unit)
            else:
                others.append(unit)
        return others

    def _place(self, units: Iterable[Unit]) -> list[Unit]:
        """Assign heavy units first, each to the member with the smallest load for its capacity; returns units that no
        member can run."""
        queue = [(self._load[m.member_id] / m.capacity, m.member_id) for m in self._accepting]
        heapq.heapify(queue)
        unassignable = []
        for unit in sorted(units, key=lambda u: (-self._situation.weights[u], u)):
            refused = []
            while queue:
                load, name = heapq.heappop(queue)
                if self._may_run(name, unit):
                    self._give(name, unit)
                    refused.append((self._load[name] / self._members[name].capacity, name))
                    break
                refused.append((load, name))
            else:
                unassignable.append(unit)
            for entry in refused:
                heapq.heappush(queue, entry)
        return unassignable

    def _balance(self) -> None:
        """If a member's load is far above or below its share, move units from members above their share to the members
        with the smallest load, provided that the new owner's load stays below the old owner's. Small differences move
        nothing."""
        capacity = sum(member.capacity for member in self._accepting)
        if len(self._accepting) < 2 or not capacity:
            return
        total = sum(self._load[m.member_id] for m in self._accepting)
        shares = {m.member_id: total * m.capacity / capacity for m in self._accepting}
        over = {name for name, share in shares.items() if self._load[name] > share * (1 + IMBALANCE)}
        under = {name for name, share in shares.items() if self._load[name] < share * (1 - IMBALANCE)}
        if not over and not under:
            return
        expected = _Loads(self._load, self._accepting)  # after revoked units have been assigned again
        for name in sorted(shares, key=lambda name: shares[name] - self._load[name]):
            started = set(self._assigned[name])  # in this generation; not moved again at once
            for unit in sorted(self._held[name] - started, key=lambda u: (-self._situation.weights[u], u)):
                weight = self._situation.weights[unit]
                if not weight or expected.of(name) <= shares[name] + _EPSILON:
                    continue
                target = expected.lightest(lambda other: other != name and self._may_run(other, unit))  # noqa: B023
                if target is None or not (name in over or target in under):
                    continue
                if self._improves(expected, name, target, weight):
                    expected.add(name, -weight)
                    expected.add(target, weight)
                    self._revoke(name, unit)

    def _improves(self, loads: _Loads, source: str, target: str, weight: float) -> bool:
        after = (loads.of(target) + weight) / self._members[target].capacity
        return after < loads.of(source) / self._members[source].capacity - _EPSILON

    def _may_run(self, name: str, unit: Unit) -> bool:
        able = self._situation.restricted.get(unit.connector)
        return able is None or name in able

    def _ran_last(self, name: str, unit: Unit) -> bool:
        return self._situation.previous.get(unit) == self._members[name].worker_id

    def _give(self, name: str, unit: Unit) -> None:
        self._assigned[name].append(unit)
        self._hold(name, unit)

    def _hold(self, name: str, unit: Unit) -> None:
        self._held[name].add(unit)
        self._load[name] += self._situation.weights[unit]

    def _revoke(self, name: str, unit: Unit) -> None:
        self._held[name].discard(unit)
        self._load[name] -= self._situation.weights[unit]
        self._revoked[name].append(unit)


class _Loads:
    """Loads of members; the lightest of many is found without comparing all."""

    def __init__(self, loads: Mapping[str, float], members: Iterable[GroupWorker]) -> None:
        self._loads = dict(loads)
        self._capacity = {member.member_id: member.capacity for member in members}
        self._queue = [(self._relative(name), name) for name in self._capacity]  # with outdated entries
        heapq.heapify(self._queue)

    def of(self, name: str) -> float:
        """The load of a member."""
        return self._loads[name]

    def add(self, name: str, weight: float) -> None:
        """Change the load of a member."""
        self._loads[name] += weight
        heapq.heappush(self._queue, (self._relative(name), name))

    def lightest(self, is_able: Callable[[str], bool]) -> str | None:
        """The member with the smallest load for its capacity among the able ones."""
        current = []
        lightest = None
        while self._queue and lightest is None:
            load, name = heapq.heappop(self._queue)
            if load == self._relative(name):
                current.append((load, name))
                lightest = name if is_able(name) else None
        for entry in current:
            heapq.heappush(self._queue, entry)
        return lightest

    def _relative(self, name: str) -> float:
        return self._loads[name] / self._capacity[name]
