"""What clients have requested of each connector, and what follows from that for its configuration and positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Outcome(Enum):
    """What a client knows of its request."""

    PENDING = auto()
    DONE = auto()
    REFUSED = auto()
    UNKNOWN = auto()  # it may have been carried out, or may be still


@dataclass(eq=False)
class Change:
    """A change of positions: the next record of each partition. `everything`: partitions that it does not name start
    at 0."""

    positions: Mapping[int, int]
    everything: bool = False
    outcome: Outcome = Outcome.PENDING

    def applied(self, before: Mapping[int, int]) -> dict[int, int]:
        return {**({} if self.everything else before), **self.positions}


@dataclass(frozen=True, slots=True)
class _Possibility:
    """The next record of each partition, and the changes that have not been applied but still may be."""

    next: Mapping[int, int] = field(default_factory=dict)
    open: tuple[Change, ...] = ()

    def applied(self, change: Change) -> _Possibility:
        return _Possibility(change.applied(self.next), self.without(change).open)

    def without(self, change: Change) -> _Possibility:
        return _Possibility(self.next, tuple(c for c in self.open if c is not change))

    def at(self, part: int) -> int:
        return self.next.get(part, 0)

    def moved(self, part: int, number: int) -> _Possibility:
        return _Possibility({**self.next, part: number}, self.open)


class Positions:
    """The next record of each partition. A change may have been applied before its response arrives: each possibility
    is kept until a record or a response rules it out."""

    def __init__(self) -> None:
        self._possible = [_Possibility()]

    def begin(self, change: Change) -> None:
        self._possible = [_Possibility(p.next, (*p.open, change)) for p in self._possible]

    def end(self, change: Change, outcome: Outcome) -> bool:
        """A response has arrived. False if the change was refused, but has been applied."""
        change.outcome = outcome
        if outcome is Outcome.DONE:
            self._possible = _distinct(p.applied(change) if change in p.open else p for p in self._possible)
        elif outcome is Outcome.REFUSED:
            untouched = [p.without(change) for p in self._possible if change in p.open]
            self._possible = untouched or self._possible
            return bool(untouched)
        return True

    def settle(self) -> None:
        """A later request has been acknowledged: changes with unknown outcome have happened by now, or never will."""
        self._possible = self._reachable()
        ended = dict.fromkeys(c for p in self._possible for c in p.open if c.outcome is Outcome.UNKNOWN)
        for change in ended:
            self._possible = _distinct(p.without(change) for p in self._possible)

    def _reachable(self) -> list[_Possibility]:
        """What is possible if open changes are applied now, in any order."""
        found = list(self._possible)
        for possibility in found:
            found += [possibility.applied(change) for change in possibility.open]
        return _distinct(found) if len(found) > len(self._possible) else found

    def expected(self, part: int) -> str:
        return " or ".join(sorted({str(p.at(part)) for p in self._reachable()}))

    def exactly(self, part: int, number: int) -> bool:
        """Whether this record may be the next one; it is, from now on."""
        fitting = [p for p in self._reachable() if p.at(part) == number]
        self._possible = _distinct(p.moved(part, number + 1) for p in fitting or self._possible)
        return bool(fitting)

    def at_least(self, part: int, number: int) -> bool:
        """Whether no record before this one is missing."""
        complete = [p for p in self._reachable() if number <= p.at(part)]
        self._possible = _distinct(p.moved(part, max(p.at(part), number + 1)) for p in complete or self._possible)
        return bool(complete)

    def has_put(self, part: int, number: int) -> bool:
        return any(number <= p.at(part) for p in self._reachable())


def _distinct(possible: Iterable[_Possibility]) -> list[_Possibility]:
    return list({(tuple(sorted(p.next.items())), p.open): p for p in possible}.values())


@dataclass
class Connector:
    """One name. Versions of its configuration are numbers that rise with each request."""

    name: str
    positions: Positions = field(default_factory=Positions)
    newest: int = -1  # the order of the version of the newest records
    latest_run: int = 0  # of its tasks
    outdated: int = 0  # the latest run when its positions were changed last
    created: int = 0  # version with which the connector was created
    config: str | None = None  # the version in force; None: no connector
    target: str | None = None
    configs_under_way: dict[str | None, Outcome] = field(default_factory=dict)
    targets_under_way: dict[str | None, Outcome] = field(default_factory=dict)

    orders: dict[int, int] = field(default_factory=dict)
    """How many configurations had been written before each version: a request that was slow may follow later ones."""
    written: set[str | None] = field(default_factory=set)  # configurations written since the last request was sent

    def writes_config(self, version: str | None) -> str | None:
        self.written.add(version)
        if version == self.config or version in self.configs_under_way:
            if self.config is None and version is not None:
                self.created = int(version)
            self.config = version
            if version is not None:
                self.orders[int(version)] = 1 + max(self.orders.values(), default=-1)
            return None
        return f"config {version} of {self.name} is written, but {self.config} is in force, {self.configs_under_way}"

    def writes_target(self, target: str | None) -> str | None:
        if target in (None, self.target) or target in self.targets_under_way:
            self.target = target
            return None
        return f"target {target} of {self.name} is written, but {self.target} is in force, {self.targets_under_way}"


class Models(dict[str, Connector]):
    """By name."""

    def __missing__(self, name: str) -> Connector:
        self[name] = Connector(name)
        return self[name]
