"""What clients have requested of each connector, and what follows from that for its configuration and positions."""

from __future__ import annotations

from collections.abc import Mapping
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


class Positions:
    """The next record of each partition; several possibilities after changes with unknown outcomes."""

    def __init__(self) -> None:
        self._possible: list[dict[int, int]] = [{}]
        self._changes: list[Change] = []

    def begin(self, change: Change) -> None:
        self._changes.append(change)

    def end(self, change: Change, outcome: Outcome) -> None:
        """A response has arrived."""
        change.outcome = outcome
        if change in self._changes and outcome in (Outcome.DONE, Outcome.REFUSED):
            self._changes.remove(change)
            if outcome is Outcome.DONE:
                self._possible = _distinct([change.applied(p) for p in self._possible])

    def settle(self) -> None:
        """A later request has been acknowledged: changes with unknown outcome have happened by now, or never will."""
        for change in [c for c in self._changes if c.outcome is Outcome.UNKNOWN]:
            self._changes.remove(change)
            self._possible = _distinct([*self._possible, *(change.applied(p) for p in self._possible)])

    def expected(self, part: int) -> str:
        return " or ".join(sorted({str(p.get(part, 0)) for p in self._possible}))

    def exactly(self, part: int, number: int) -> bool:
        """Whether this record may be the next one; it is, from now on."""
        fitting = [p for p in self._possible if p.get(part, 0) == number]
        for change in () if fitting else list(self._changes):
            fitting = [a for p in self._possible if (a := change.applied(p)).get(part, 0) == number]
            if fitting:
                self._changes.remove(change)
                break
        self._possible = _distinct([{**p, part: number + 1} for p in fitting or self._possible])
        return bool(fitting)

    def at_least(self, part: int, number: int) -> bool:
        """Whether no record before this one is missing."""
        possible = [*self._possible, *(c.applied(p) for c in self._changes for p in self._possible)]
        complete = any(number <= p.get(part, 0) for p in possible)
        self._possible = _distinct([{**p, part: max(p.get(part, 0), number + 1)} for p in self._possible])
        return complete

    def has_put(self, part: int, number: int) -> bool:
        possible = [*self._possible, *(c.applied(p) for c in self._changes for p in self._possible)]
        return any(number <= p.get(part, 0) for p in possible)


def _distinct(possible: list[dict[int, int]]) -> list[dict[int, int]]:
    return list({tuple(sorted(p.items())): p for p in possible}.values())


@dataclass
class Connector:
    """One name. Versions of its configuration are numbers that rise with each request."""

    name: str
    positions: Positions = field(default_factory=Positions)
    newest: int = -1  # version of the newest records
    created: int = 0  # version with which the connector was created
    config: str | None = None  # the version in force; None: no connector
    target: str | None = None
    configs_under_way: dict[str | None, Outcome] = field(default_factory=dict)
    targets_under_way: dict[str | None, Outcome] = field(default_factory=dict)

    written: set[str | None] = field(default_factory=set)  # configurations written since the last request was sent

    def writes_config(self, version: str | None) -> str | None:
        self.written.add(version)
        if version == self.config or version in self.configs_under_way:
            if self.config is None and version is not None:
                self.created = int(version)
            self.config = version
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
