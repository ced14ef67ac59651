"""Slots beyond the configured number: cells for isolated tasks, and further slots when the configured ones are full."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass

from runtime.engine.protocol.settings import MAX_EXTRA_SLOTS
from runtime.model.executor_size import ANY_SIZE, ExecutorSize
from runtime.model.states import TaskId

IDLE_TIMEOUT = 30.0  # seconds for which a slot without tasks is kept


@dataclass(frozen=True, slots=True)
class DedicatedCell:
    """A task that has a slot of its own, on an executor of this size. With another size it gets another slot."""

    task: TaskId
    executor: ExecutorSize


@dataclass(frozen=True, slots=True)
class EnvironmentCell:
    """Tasks of one plugin environment that run in the same slot: one of several for the environment, or the slot of an
    isolated task (`part` is the cell of its isolation)."""

    environment: str
    part: Hashable

    @property
    def shares(self) -> str | None:
        """The environment, if any of its tasks may run in the slot."""
        return self.environment if isinstance(self.part, int) else None


@dataclass(slots=True, eq=False)
class ExtraSlot:
    """A requested slot. `cell` identifies the tasks that it is reserved for; None: any task."""

    number: int
    cell: Hashable | None
    last_used: float  # when it last had a task, or was requested
    reported_missing: bool = False


class ExtraSlots:
    """The extra slots that are requested. Their numbers follow those of the configured slots."""

    def __init__(self, configured: int, max_extras: int = MAX_EXTRA_SLOTS) -> None:
        self._configured = configured
        self._max = max_extras
        self._extras: dict[int, ExtraSlot] = {}

    @property
    def numbers(self) -> list[int]:
        """Every slot that should run, the configured ones first."""
        return [*range(self._configured), *sorted(self._extras)]

    @property
    def shared(self) -> int:
        """The number of extra slots that accept any task."""
        return sum(extra.cell is None for extra in self._extras.values())

    @property
    def may_grow(self) -> bool:
        """Whether another extra slot may be requested."""
        return len(self._extras) < self._max

    def is_wanted(self, slot: int) -> bool:
        """Whether the slot should run."""
        return slot < self._configured or slot in self._extras

    def is_private(self, slot: int) -> bool:
        """Whether the slot is reserved for certain tasks."""
        extra = self._extras.get(slot)
        return extra is not None and extra.cell is not None

    def of(self, cell: Hashable) -> int | None:
        """The slot that is reserved for a cell; None if there is none."""
        return next((extra.number for extra in self._extras.values() if extra.cell == cell), None)

    @property
    def executors(self) -> Mapping[int, ExecutorSize]:
        """The slots that need an executor of a certain size."""
        sizes = {extra.number: _size(extra.cell) for extra in self._extras.values()}
        return {number: size for number, size in sizes.items() if size != ANY_SIZE}

    def sharing(self, environment: str) -> list[int]:
        """The slots that are reserved for several tasks of an environment."""
        return [
            extra.number
            for extra in self._extras.values()
            if isinstance(extra.cell, EnvironmentCell) and extra.cell.shares == environment
        ]

    def add(self, cell: Hashable | None, now: float) -> int | None:
        """Request another slot and return its number; None if the limit is reached."""
        if not self.may_grow:
            return None
        number = next(n for n in range(self._configured, self._configured + self._max) if n not in self._extras)
        self._extras[number] = ExtraSlot(number, cell, now)
        return number

    def idle(self, busy: Iterable[int], awaited: Collection[Hashable | None], now: float) -> list[int]:
        """Extra slots that have had no task for IDLE_TIMEOUT. `busy` are the slots that have tasks, `awaited` the cells
        of tasks that wait: executors may take longer to start."""
        for number in busy:
            if number in self._extras:
                self._extras[number].last_used = now
        unused = [extra for extra in self._extras.values() if now - extra.last_used > IDLE_TIMEOUT]
        return [extra.number for extra in unused if extra.cell not in awaited]

    def remove(self, number: int) -> None:
        """Give up an extra slot."""
        del self._extras[number]

    def missing(self, connected: Iterable[int], since: float) -> list[int]:
        """Slots requested before `since` that have not connected; each is returned once."""
        present = set(connected)
        late = [
            extra
            for extra in self._extras.values()
            if extra.number not in present and extra.last_used < since and not extra.reported_missing
        ]
        for extra in late:
            extra.reported_missing = True
        return [extra.number for extra in late]


def _size(cell: Hashable | None) -> ExecutorSize:
    own = cell.part if isinstance(cell, EnvironmentCell) else cell
    return own.executor if isinstance(own, DedicatedCell) else ANY_SIZE
