"""Runs a sequence on two workers and compares each response and each settled state."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.contract.parity.comparison import Difference as PlaceDifference
from tests.contract.parity.comparison import differing_leaves, step_differences, without_text
from tests.contract.parity.recorder import Step, Target
from tests.soak.sequences.known import is_known, without_known, without_records
from tests.soak.sequences.operation import Operation
from tests.soak.sequences.side import Side, State
from tests.support.waiting import allowed

QUIET = 0.4
"""Seconds for which both states have to be equal and unchanged after a change, longer than offset.flush.interval.ms."""
SETTLED_WITHIN = 15.0
READ_AGAIN_WITHIN = 2.0
_SHOWN = 10

Places = tuple[tuple[str, str, str], ...]
"""Of differences, with Apache's value and ours."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`number`: of the operation; in `places`."""

    number: int
    operation: Operation
    of_state: bool
    places: Places

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for differences of the same kind."""
        return self.operation.label, self.of_state, tuple(place for place, _, _ in self.places[:3])

    def __str__(self) -> str:
        what = "state after" if self.of_state else "response to"
        lines = [f"    {at}\n      Apache:   {theirs}\n      Headrace: {ours}" for at, theirs, ours in self.places]
        return "\n".join([f"{what} {self.number}: {self.operation}", *lines[:_SHOWN]])


@dataclass(slots=True)
class Outcome:
    """`steps`: operations that were performed; the run ends after a difference of states."""

    steps: int = 0
    differences: list[Difference] = field(default_factory=list)


class Lockstep:
    """Two sides that perform the same operations."""

    def __init__(self, theirs: Target, ours: Target) -> None:
        self._targets = theirs, ours

    def run(self, operations: Sequence[Operation]) -> Outcome:
        outcome = Outcome()
        with ThreadPoolExecutor(2) as pool:
            sides = list(pool.map(Side, self._targets))
            try:
                run = _Run(pool, sides, outcome)
                for number, operation in enumerate(operations):
                    if not run.step(number, operation):
                        break
            finally:
                list(pool.map(Side.close, sides))
        return outcome


class _Run:
    def __init__(self, pool: ThreadPoolExecutor, sides: list[Side], outcome: Outcome) -> None:
        self._pool, self._sides, self._outcome = pool, sides, outcome
        self._hasty = self._had_burst = False  # whether the operation before was, or any of them

    def step(self, number: int, operation: Operation) -> bool:
        """Whether the sequence can continue: both states are equal."""
        self._outcome.steps += 1
        theirs, ours = self._perform(operation)
        changed, half_done = True, False
        if theirs is not None and ours is not None:
            places = () if is_known(theirs, ours) else self._differences(operation, theirs, ours)
            if places:
                self._outcome.differences.append(Difference(number, operation, False, places))
            half_done = theirs["status"] >= 500 > ours["status"] >= 400  # Headrace has changed nothing
            changed = not operation.reads and min(theirs["status"], ours["status"]) < 400
        if operation.hasty:
            self._hasty = self._had_burst = True
            return True
        places = self._settle(changed or self._hasty)
        self._hasty = False
        if places and not half_done:
            self._outcome.differences.append(Difference(number, operation, True, places))
        return not places

    def _differences(self, operation: Operation, theirs: Step, ours: Step) -> Places:
        """Restarts depend on a state that is about to change, and offsets and topics on records."""
        of_records = self._had_burst and operation.path.endswith(("/offsets", "/topics"))
        if operation.hasty or self._hasty or of_records:
            before, now = theirs["status"], ours["status"]
            return () if operation.label == "restart" or before == now else (("status", str(before), str(now)),)
        return _places(step_differences(theirs, ours))

    def _perform(self, operation: Operation) -> list[Step | None]:
        """The steps of both sides. Reads are repeated while they differ: a state may be about to change."""
        until = time.monotonic() + READ_AGAIN_WITHIN
        while True:
            steps = list(self._pool.map(lambda side: side.perform(operation), self._sides))
            theirs, ours = steps
            if not operation.reads or theirs is None or ours is None or time.monotonic() > until:
                return steps
            if is_known(theirs, ours) or not list(step_differences(theirs, ours)):
                return steps
            time.sleep(0.2)

    def _settle(self, changed: bool) -> Places:
        """The remaining differences of both states, once they are equal and, if `changed`, remain unchanged."""
        started = time.monotonic()
        since, last = started, None
        while True:
            theirs, ours = self._states()
            now = time.monotonic()
            places = _places(differing_leaves(theirs, ours))
            if places or theirs != last:
                since, last = now, None if places else theirs
            if not places and (not changed or now - since >= QUIET):
                return ()
            if places and now - started > allowed(SETTLED_WITHIN):
                return places
            if now - started > 60:
                return (("never settles", "", ""),)
            time.sleep(0.1)

    def _states(self) -> tuple[State, State]:
        theirs, ours = self._pool.map(Side.state, self._sides)
        theirs, ours = without_known(theirs, ours)
        if self._had_burst:
            theirs, ours = without_records(theirs), without_records(ours)
        return without_text(theirs), without_text(ours)


def _places(differences: Iterable[PlaceDifference]) -> Places:
    return tuple((place, str(theirs)[:400], str(ours)[:400]) for place, theirs, ours in differences)
