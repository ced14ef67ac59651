"""The connected slots and the tasks: which of them wait, and for which slot."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

from runtime.api.errors import ConnectError
from runtime.engine.placement.client_failures import ClientFailures
from runtime.engine.placement.extra_slots import DedicatedCell, EnvironmentCell, ExtraSlots
from runtime.engine.placement.free_room import FreeRoom, is_full
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.placement.start_history import StartHistory
from runtime.engine.placement.suspects import MAX_LONELY_ENDS, Suspects, is_suspicion
from runtime.engine.protocol.descriptors import needed
from runtime.engine.protocol.task_specs import Key
from runtime.model.states import TaskId
from runtime.model.task_spec import TaskSpec


class Roster:
    """Slots and tasks. Until a deadline tasks wait for slots that are starting, so that they are spread evenly."""

    def __init__(
        self,
        slots: int,
        wait: float,
        clock: Callable[[], float],
        max_extra_slots: int = 0,
        expected_room: float = math.inf,
    ) -> None:
        """`expected_room`: expected number of file descriptors for the tasks of a slot, until a slot reports it."""
        self.links: dict[int, SlotLink] = {}
        self.tasks: dict[TaskId, TaskRun] = {}  # as the herder knows them
        self.starts = StartHistory()
        self._waiting: dict[Key, TaskRun] = {}  # oldest first
        self._isolated: dict[Hashable, dict[Key, TaskRun]] = {}  # by cell: tasks that wait for its slot, oldest first
        self.extras = ExtraSlots(slots, max_extra_slots)
        self.suspects = Suspects()
        self.client_failures = ClientFailures(clock)
        self._configured = slots
        self._wait = wait
        self._clock = clock
        self._expected_room = expected_room
        self._wait_until = 0.0

    def missing_slot(self) -> None:
        """A slot has died or the first one has connected: the missing slots are expected soon."""
        self._wait_until = self._clock() + self._wait

    def add(self, task: TaskRun) -> None:
        """A task to be placed."""
        self.tasks[task.spec.id] = task
        self._await_slot(task)

    @property
    def has_waiting(self) -> bool:
        """Whether tasks may be waiting for a slot."""
        return bool(self._waiting or self._isolated)

    @property
    def waiting(self) -> int:
        """The number of tasks that wait for a slot."""
        return len(self.waiting_tasks())

    def archives(self) -> set[str]:
        """The digests of the archives that tasks need on other machines."""
        return {digest for task in self.tasks.values() for digest in (task.archives or {}).values()}

    def waiting_tasks(self) -> list[TaskRun]:
        """The tasks that wait for a slot, oldest first in each queue."""
        return [task for queue in self._queues for task in queue.values() if task.waiting]

    def awaited_cells(self) -> set[Hashable | None]:
        """The cells of the tasks that wait for a slot; None: any slot."""
        queues = {None: self._waiting, **self._isolated}
        return {cell for cell, queue in queues.items() if any(map(self.is_waiting, queue.values()))}

    def is_waiting(self, task: TaskRun) -> bool:
        """Whether a task in a queue still waits, and was not stopped."""
        return task.waiting and self.tasks.get(task.spec.id) is task

    def placements(self) -> Iterator[tuple[TaskRun, SlotLink]]:
        """Waiting tasks, oldest first, each with the slot that it is placed on. The caller must send the task there.

        Each slot gets as many tasks at once as its admission allows; the rest wait for the next call. A slot that does
        not answer is skipped: all tasks would wait for it if it had the fewest tasks. Extra slots are requested for
        tasks without room (`extras.numbers`)."""
        if not self.links:
            self._foresee()
        responding = [link for link in self.links.values() if link.usable and link.silence is None]
        if not responding or not self.has_waiting:
            return
        usable = [link for link in responding if not self.extras.is_private(link.slot)]
        room = FreeRoom(usable, self._fair_share(len(usable)), self._more_to_come(), self._clock())
        for cell, queue in list(self._isolated.items()):
            yield from self._placements_of(cell, queue, room)
            if not queue:
                del self._isolated[cell]
        yield from self._placements_of(None, self._waiting, room)
        if room.crowded_out and room.links:
            self._make_room(room.crowded_out, min(link.room for link in room.links))

    def _placements_of(
        self, cell: Hashable | None, queue: dict[Key, TaskRun], room: FreeRoom
    ) -> Iterator[tuple[TaskRun, SlotLink]]:
        for task in self._ready(queue):
            number = None if cell is None else self._slot_of(cell)
            if number is None and isinstance(cell, EnvironmentCell):
                return  # a slot of another environment cannot run these tasks
            link = room.least_loaded(task) if number is None else self._open_slot(number)
            if link is not None:
                del queue[task.key]
                link.add(task)
                link.admission.sent(task.key, self._clock())
                yield task, link
            elif number is not None or room.is_closed:
                return  # the tasks behind this one would have to wait too: there may be thousands

    def _ready(self, queue: dict[Key, TaskRun]) -> Iterator[TaskRun]:
        """The tasks of a queue that a slot could start now. Forgets those that no longer wait."""
        for task in list(queue.values()):
            if not self.is_waiting(task):
                del queue[task.key]
            elif task.archives is not None and not self.suspects.rests(task.spec.id, self._clock()):
                yield task

    def returned(self, link: SlotLink, task: TaskRun) -> None:
        """The slot could not start the task, which waits again."""
        link.remove(task)
        task.link = None
        self._await_slot(task)

    def _await_slot(self, task: TaskRun) -> None:
        """A waiting task has no slot that could die, so its cell does not change while it waits."""
        cell: Hashable | None = self.suspects.cell(task.spec.id, self._clock())
        if task.spec.dedicated:
            cell = DedicatedCell(task.spec.id, task.spec.executor)
        if task.spec.environment is not None:
            part = self._part(task.spec) if cell is None else cell
            cell = EnvironmentCell(task.spec.environment.id, part)
        queue = self._waiting if cell is None else self._isolated.setdefault(cell, {})
        queue[task.key] = task

    def _part(self, spec: TaskSpec) -> int:
        """Divides the tasks of an environment among as many slots as are configured, those of a connector evenly."""
        return (zlib.crc32(spec.connector.encode()) + spec.task) % self._configured

    @property
    def without_slot(self) -> list[str]:
        """Environments whose tasks wait because no further slot may be requested."""
        cells = [cell for cell in self._isolated if isinstance(cell, EnvironmentCell)]
        return sorted({cell.environment for cell in cells if self._slot_of(cell) is None})

    @property
    def _queues(self) -> list[dict[Key, TaskRun]]:
        return [self._waiting, *self._isolated.values()]

    def link_up(self, link: SlotLink) -> None:
        """A slot has connected; if its last process died while starting tasks, the new one gets fewer tasks."""
        link.admission, link.max_tasks = self.starts.of(link.slot, self._clock())
        self.links[link.slot] = link

    def lose_tasks(self, link: SlotLink) -> Sequence[TaskRun]:
        """All tasks of a slot have ended with it. Forgets and returns the tasks that had not been stopped."""
        for task in link.tasks.values():
            task.lost = True
            task.end()
        lost = [task for task in link.tasks.values() if self.tasks.get(task.spec.id) is task]
        for task in lost:
            del self.tasks[task.spec.id]
        return lost

    def slot_died(self, link: SlotLink) -> Sequence[TaskId]:
        """A slot died unexpectedly. Returns the tasks that are isolated from now on, each in a new cell."""
        self.starts.slot_died(link.slot, link.admission.starting, len(link.tasks), self._clock())
        suspects = self.suspects.slot_died([task.spec.id for task in link.tasks.values()], self._clock())
        if self.extras.is_private(link.slot) and not any(task.spec.dedicated for task in link.tasks.values()):
            self.extras.remove(link.slot)
        return suspects

    def java_ended(self, link: SlotLink, runs: Sequence[Key], reason: str, at_fault: bool) -> None:
        """The JVM of a slot has ended, and these runs of tasks are about to be handed back."""
        tasks = {task.spec.id: task for key in runs if (task := link.tasks.get(key)) is not None}
        for condemned in self.suspects.java_ended(list(tasks), at_fault, self._clock()):
            tasks[condemned].condemned = (
                f"{ConnectError.java_name}: The task host JVM has ended {MAX_LONELY_ENDS} times in a row while only "
                f"this task used it. The last time: {reason}\n"
            )

    def slots_without_core(self, slots: Sequence[int]) -> None:
        """These slots wait for a core of the cluster. Tasks that are isolated only because slots have died must not
        wait with them: they run on any slot again."""
        for slot in slots:
            for cell in [cell for cell in self._isolated if self.extras.of(cell) == slot and is_suspicion(cell)]:
                for task in self._isolated.pop(cell).values():
                    self.suspects.forget(task.spec.id)
                    self._await_slot(task)
                self.extras.remove(slot)

    def waiting_for(self, slots: Collection[int]) -> list[TaskRun]:
        """The tasks that cannot start before one of these slots, which are not up."""
        usable = [link for link in self.links.values() if link.usable and not self.extras.is_private(link.slot)]
        isolated = [queue for cell, queue in self._isolated.items() if self.extras.of(cell) in slots]
        tasks = [task for queue in isolated for task in queue.values()]
        if not all(map(self.extras.is_private, slots)):
            shared = self._waiting.values()
            tasks += [task for task in shared if all(is_full(link, needed(task.spec)) for link in usable)]
        return [task for task in tasks if self.is_waiting(task)]

    def crowded(self, link: SlotLink) -> bool:
        """The slot has reported that it is full and gets no more tasks. False if no other slot has room."""
        link.room = link.taken
        if any(task.spec.environment is not None for task in link.tasks.values()):
            return False  # the task would return to this slot
        return self._more_to_come() or any(
            other.room > other.taken
            for other in self.links.values()
            if not other.leaving and not self.extras.is_private(other.slot)
        )

    def _slot_of(self, cell: Hashable) -> int | None:
        """The slot reserved for a cell, requested if there is none; None if no further slot may be requested. At the
        limit, tasks of an environment share the slots that it has."""
        number = self.extras.of(cell)
        if number is None:
            number = self.extras.add(cell, self._clock())
        if number is None and isinstance(cell, EnvironmentCell) and (shared := self.extras.sharing(cell.environment)):
            number = shared[hash(cell.part) % len(shared)]
        return number

    def _open_slot(self, number: int) -> SlotLink | None:
        """The slot if it is up and may start another task now."""
        link = self.links.get(number)
        return link if link is not None and link.usable and link.admission.is_open(self._clock()) else None

    def _more_to_come(self) -> bool:
        """Whether another slot is starting or may be requested."""
        return self.extras.may_grow or len(self.links) < len(self.extras.numbers)

    def _foresee(self) -> None:
        """No slot is up yet: request all slots that the waiting tasks are expected to need."""
        without = [queue for cell, queue in self._isolated.items() if self._slot_of(cell) is None]
        shared = [self._waiting, *without]
        tasks = [task for queue in shared for task in queue.values() if task.waiting]
        self._make_room(sum(needed(task.spec) for task in tasks), self._expected_room)

    def _make_room(self, descriptors: int, room: float) -> None:
        """Request enough slots for tasks that use this many file descriptors."""
        up = sum(1 for slot in self.links if not self.extras.is_private(slot))
        coming = self._configured + self.extras.shared - up
        for _ in range(math.ceil(descriptors / max(room, 1)) - coming):
            if self.extras.add(None, self._clock()) is None:
                return

    def _fair_share(self, usable: int) -> float:
        """The maximum number of tasks on a slot while other slots are expected."""
        expected = self._configured + self.extras.shared
        if usable >= expected or self._clock() >= self._wait_until:
            return math.inf
        live = sum(len(link.tasks) for link in self.links.values())
        return -(-(live + self.waiting) // expected)
