"""Assigns connectors and tasks to the workers of a group: sticky, incremental, balanced by weight.

Connectors are balanced on their own and tasks on their own, as by Apache's assignor: the instances of connectors are a
small part of the load, which would otherwise be used to even out that of the tasks.

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
from enum import Enum
from functools import partial
from typing import Final, NamedTuple

from runtime.kafka.group.protocol import CONNECTOR

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


class _Kind(Enum):
    TASK = 0
    CONNECTOR = 1


_KINDS: Final = tuple(_Kind)  # tasks first: connectors then go to the members with fewer of them


_Entry = tuple[float, float, str]  # a member's load of a kind and of the other, and its id


def _kind(unit: Unit) -> _Kind:
    return _Kind.CONNECTOR if unit.task == CONNECTOR else _Kind.TASK


class _Assignment:
    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._members = {m.member_id: m for m in sorted(situation.members, key=lambda m: m.member_id)}
        self._accepting = [m for m in self._members.values() if m.accepts]
        self._held: dict[str, set[Unit]] = {name: set() for name in self._members}
        self._loads = {kind: dict.fromkeys(self._members, 0.0) for kind in _KINDS}
        self._assigned: dict[str, list[Unit]] = defaultdict(list)
        self._revoked: dict[str, list[Unit]] = defaultdict(list)

    def decide(self) -> Decision:
        moving = self._keep() | self._drain()
        held = {unit for units in self._held.values() for unit in units}
        free = [unit for unit in self._situation.weights if unit not in held and unit not in moving]
        free, waiting, soonest = self._wait(free)
        free = self._return(free)
        unassignable = [unit for kind in _KINDS for unit in self._place(kind, free)]
        if not waiting:
            for kind in _KINDS:
                self._balance(kind)
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

    def _place(self, kind: _Kind, free: Iterable[Unit]) -> list[Unit]:
        """Assign heavy units of this kind first, each to the member whose load of this kind is then the smallest for
        its capacity; returns units that no member can run."""
        loads, unassignable = self._loads_of(kind), []
        units = [unit for unit in free if _kind(unit) is kind]
        for unit in sorted(units, key=lambda u: (-self._situation.weights[u], u)):
            weight = self._situation.weights[unit]
            name = loads.lightest(weight, partial(self._may_run, unit=unit))
            if name is None:
                unassignable.append(unit)
            else:
                self._give(name, unit)
                loads.add(name, weight)
        return unassignable

    def _loads_of(self, kind: _Kind) -> _Loads:
        return _Loads(self._loads[kind], self._loads[_Kind(1 - kind.value)], self._accepting)

    def _balance(self, kind: _Kind) -> None:
        """If a member's load of this kind is far above or below its share, move units from members above their share to
        those whose load is then the smallest, provided that the new owner's load stays below the old owner's. Small
        differences move nothing."""
        capacity = sum(member.capacity for member in self._accepting)
        if len(self._accepting) < 2 or not capacity:
            return
        load = self._loads[kind]
        total = sum(load[m.member_id] for m in self._accepting)
        shares = {m.member_id: total * m.capacity / capacity for m in self._accepting}
        over = {name for name, share in shares.items() if load[name] > share * (1 + IMBALANCE)}
        under = {name for name, share in shares.items() if load[name] < share * (1 - IMBALANCE)}
        if not over and not under:
            return
        expected = self._loads_of(kind)  # after revoked units have been assigned again
        for name in sorted(shares, key=lambda name: shares[name] - load[name]):
            started = set(self._assigned[name])  # in this generation; not moved again at once
            units = [unit for unit in self._held[name] - started if _kind(unit) is kind]
            for unit in sorted(units, key=lambda u: (-self._situation.weights[u], u)):
                weight = self._situation.weights[unit]
                if not weight or expected.of(name) <= shares[name] + _EPSILON:
                    continue
                # The lambda is called at once.
                target = expected.lightest(weight, lambda other: other != name and self._may_run(other, unit))  # noqa: B023
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
        self._loads[_kind(unit)][name] += self._situation.weights[unit]

    def _revoke(self, name: str, unit: Unit) -> None:
        self._held[name].discard(unit)
        self._loads[_kind(unit)][name] -= self._situation.weights[unit]
        self._revoked[name].append(unit)


class _Loads:
    """Loads of members of one kind; the member with the smallest load after another unit is found without comparing
    all. If loads are equal, the loads of the other kind decide."""

    def __init__(self, loads: Mapping[str, float], others: Mapping[str, float], members: Iterable[GroupWorker]) -> None:
        self._loads, self._others = dict(loads), others
        self._capacity = {member.member_id: member.capacity for member in members}
        self._queues: dict[float, list[_Entry]] = defaultdict(list)  # by capacity, with outdated entries
        for name, capacity in self._capacity.items():
            self._queues[capacity].append(self._entry(name))
        for queue in self._queues.values():
            heapq.heapify(queue)

    def of(self, name: str) -> float:
        """The load of a member."""
        return self._loads[name]

    def add(self, name: str, weight: float) -> None:
        """Change the load of a member."""
        self._loads[name] += weight
        heapq.heappush(self._queues[self._capacity[name]], self._entry(name))

    def lightest(self, weight: float, is_able: Callable[[str], bool]) -> str | None:
        """The able member with the smallest load for its capacity after a unit of this weight has been added."""
        ablest = [(capacity, entry) for capacity in self._queues if (entry := self._first(capacity, is_able))]
        ranks = [((load + weight) / capacity, other / capacity, name) for capacity, (load, other, name) in ablest]
        return min(ranks)[2] if ranks else None

    def _first(self, capacity: float, is_able: Callable[[str], bool]) -> _Entry | None:
        """Among members with the same capacity the load before decides."""
        queue, current, lightest = self._queues[capacity], [], None
        while queue and lightest is None:
            entry = heapq.heappop(queue)
            if entry == self._entry(entry[2]):
                current.append(entry)
                lightest = entry if is_able(entry[2]) else None
        for entry in current:
            heapq.heappush(queue, entry)
        return lightest

    def _entry(self, name: str) -> _Entry:
        return self._loads[name], self._others[name], name
