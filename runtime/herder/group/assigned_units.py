"""The connectors and tasks of one worker: what it owns, and what it must stop before another worker may start it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from runtime.herder.group.assignor import Unit
from runtime.kafka.group.ownership import Ownership
from runtime.kafka.group.protocol import CONNECTOR


class AssignedUnits:
    """The last assignment by connector, and what the worker has adopted since. Event loop only: the network thread may
    have received a later assignment, which `Ownership` has already."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._existing: dict[str, frozenset[int]] = {}  # in the group, by connector
        self._owned: dict[str, set[int]] = {}
        self._stopping: dict[str, set[int]] = {}
        self._alone: int | None = None  # the edition of the ownership while this is the only worker, not cordoned

    def __bool__(self) -> bool:
        """Whether anything runs here, or must stop."""
        return bool(self._owned or self._stopping)

    @property
    def is_alone(self) -> bool:
        """Whether this is the only worker of the group, and accepts units."""
        return self._alone is not None

    @property
    def owned(self) -> frozenset[Unit]:
        return frozenset(Unit(name, task) for name, tasks in self._owned.items() for task in tasks)

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return task in self._owned.get(connector, ())

    def owns_any(self, connector: str) -> bool:
        return bool(self._owned.get(connector))

    def connectors(self) -> list[str]:
        """Those of which this worker owns anything, or must stop anything."""
        return [*{**self._owned, **self._stopping}]

    def of(self, connector: str) -> frozenset[int]:
        """The units that this worker owns, and those that must stop here before another worker may start them."""
        return frozenset((*self._owned.get(connector, ()), *self._stopping.get(connector, ())))

    def exist(self, units: Mapping[str, frozenset[int]]) -> None:
        """The units of all connectors when the worker joins."""
        self._existing = dict(units)

    def configured(self, name: str, units: frozenset[int]) -> frozenset[int] | None:
        """Notes the units that a connector has now; returns those that it did not have, None if nothing has changed."""
        before = self._existing.pop(name, frozenset())
        if units:
            self._existing[name] = units
        return None if units == before else units - before

    def stopped(self, connector: str, tasks: Collection[int]) -> list[int]:
        """These tasks have stopped. Returns those that this worker has to release to others."""
        existing = self._existing.get(connector, frozenset())
        gone = [task for task in tasks if task not in existing]
        self._ownership.drop((connector, task) for task in gone)
        _discard(self._owned, connector, gone)
        released = [task for task in tasks if task in self._stopping.get(connector, ())]
        _discard(self._stopping, connector, released)
        return released

    def assigned(self, alone: int | None, left: Collection[Unit]) -> bool:
        """Take over the last assignment, and adopt what has been created since. False if that needs a rebalance.

        `alone`: the edition of the ownership if this is the only worker of the group; `left`: units that the leader
        has assigned to nobody."""
        self._owned, self._stopping = _by_connector(self._ownership.running), _by_connector(self._ownership.stopping)
        self._alone = alone
        missing = {name: self._created_since(name, units, left) for name, units in self._existing.items()}
        return alone is None or self.adopt({name: units for name, units in missing.items() if units})

    def _created_since(self, name: str, units: frozenset[int], left: Collection[Unit]) -> frozenset[int]:
        """The units of a connector that the rebalance did not know: neither owned, nor left for another worker."""
        return frozenset(task for task in units - self._owned.get(name, set()) if Unit(name, task) not in left)

    def adopt(self, units: Mapping[str, frozenset[int]]) -> bool:
        """Whether these units now run here without a rebalance, because this worker is alone in the group."""
        if self._alone is None:
            return False
        pairs = [(name, task) for name, tasks in units.items() for task in tasks]
        if not self._ownership.adopt(pairs, self._alone):
            return False
        for name, task in pairs:
            self._owned.setdefault(name, set()).add(task)
        return True

    def lose(self) -> None:
        """The group no longer counts this worker as a member."""
        self._owned, self._stopping, self._alone = {}, {}, None


def _by_connector(units: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    tasks_of: dict[str, set[int]] = defaultdict(set)
    for connector, task in units:
        tasks_of[connector].add(task)
    return dict(tasks_of)


def _discard(units: dict[str, set[int]], connector: str, tasks: Iterable[int]) -> None:
    left = units.get(connector)
    if left is not None:
        left.difference_update(tasks)
        if not left:
            del units[connector]
