"""Slots beyond the settled ones: cells for tasks that live apart, and more room when the settled ones are full."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from runtime.engine.protocol.settings import MAX_EXTRA_SLOTS

IDLE_TIMEOUT = 30.0  # seconds that one without tasks is kept


@dataclass(slots=True, eq=False)
class ExtraSlot:
    """A slot that is wanted. `cell` names what it is kept for; None: any task."""

    number: int
    cell: Hashable | None
    used: float  # when it last had a task, or was wanted
    missed: bool = field(default=False)  # it is said already that it does not come


class ExtraSlots:
    """Which extra slots are wanted. Numbers go on from those of the settled slots."""

    def __init__(self, settled: int, most: int = MAX_EXTRA_SLOTS) -> None:
        self._settled = settled
        self._most = most
        self._extras: dict[int, ExtraSlot] = {}

    @property
    def numbers(self) -> list[int]:
        """Every slot that there should be, the settled ones first."""
        return [*range(self._settled), *sorted(self._extras)]

    @property
    def shared(self) -> int:
        """How many extra slots take any task."""
        return sum(extra.cell is None for extra in self._extras.values())

    @property
    def may_grow(self) -> bool:
        return len(self._extras) < self._most

    def wanted(self, slot: int) -> bool:
        return slot < self._settled or slot in self._extras

    def private(self, slot: int) -> bool:
        extra = self._extras.get(slot)
        return extra is not None and extra.cell is not None

    def of(self, cell: Hashable) -> int | None:
        """The slot of a cell; None while it has none."""
        return next((extra.number for extra in self._extras.values() if extra.cell == cell), None)

    def add(self, cell: Hashable | None, now: float) -> int | None:
        """One more; None when there are as many as may be."""
        if not self.may_grow:
            return None
        number = next(n for n in range(self._settled, self._settled + self._most) if n not in self._extras)
        self._extras[number] = ExtraSlot(number, cell, now)
        return number

    def idle(self, busy: Iterable[int], now: float) -> list[int]:
        """Those to be given back: without a task for a while. `busy` are the slots that have some."""
        for number in busy:
            if number in self._extras:
                self._extras[number].used = now
        return [number for number, extra in self._extras.items() if now - extra.used > IDLE_TIMEOUT]

    def remove(self, number: int) -> None:
        del self._extras[number]

    def missing(self, there: Iterable[int], since: float) -> list[int]:
        """Those wanted before `since` that have not come; each is told once."""
        present = set(there)
        late = [e for e in self._extras.values() if e.number not in present and e.used < since and not e.missed]
        for extra in late:
            extra.missed = True
        return [extra.number for extra in late]
