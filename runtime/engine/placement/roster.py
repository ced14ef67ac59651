"""Which slots there are, which task runs on which, and where the next one goes."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from runtime.engine.placement.admission import Admission
from runtime.engine.placement.extra_slots import ExtraSlots
from runtime.engine.placement.start_history import StartHistory
from runtime.engine.placement.suspects import Suspects
from runtime.engine.port import SlotInfo
from runtime.engine.protocol.channel import Message, encode
from runtime.engine.protocol.descriptors import needed
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.task_specs import Key
from runtime.model.states import TaskId
from runtime.model.task_spec import TaskSpec
from runtime.system.processes import OwnProcess
from runtime.system.scheduling import Delay


@dataclass(slots=True, eq=False)
class TaskRun:
    """One run of a task, from start_task() to its end."""

    spec: TaskSpec
    link: SlotLink | None = None  # the slot that it was given to
    member_id: str | None = None  # of its consumer
    revoked_at: float | None = None
    failed: bool = False  # it has said so
    handed_back: str | None = None  # why a task that should run ends; it is handed out again
    lost: bool = False  # its slot died
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> Key:
        return self.spec.id, self.spec.epoch

    @property
    def waiting(self) -> bool:
        return self.link is None and not self.ended.is_set()


@dataclass(slots=True, eq=False)
class SlotLink:
    """A connected slot. `tasks` are those whose thread runs; only add() and remove() change them."""

    slot: int
    attempt: int
    generation: int
    process: OwnProcess
    writer: asyncio.StreamWriter
    heard: float  # when the slot last reported that it is alive
    room: float = math.inf  # descriptors that its tasks may take together
    cell: LeaseCell | None = None
    leased: bool = False
    memory: int = 0  # bytes, when it last said so
    most: float = math.inf  # limit of tasks
    silence: Delay | None = None  # scheduling delay since the last answer
    starved: bool = False  # silent because the slot did not get a processor
    admission: Admission = field(default_factory=Admission)
    tasks: dict[Key, TaskRun] = field(default_factory=dict)
    taken: int = 0  # descriptors that the slot's tasks are likely to take
    leaks: int = 0  # threads that were revoked and have not ended
    connectors: Counter[str] = field(default_factory=Counter)  # number of tasks in this slot

    def send(self, message: Message) -> None:
        if not self.writer.is_closing():
            self.writer.write(encode(message))

    def add(self, task: TaskRun) -> None:
        task.link = self
        self.tasks[task.key] = task
        self.taken += needed(task.spec)
        self.connectors[task.spec.connector] += 1

    def remove(self, task: TaskRun) -> None:
        """The task's thread has ended, or never started."""
        del self.tasks[task.key]
        self.admission.finished(task.key)
        self.taken -= needed(task.spec)
        self.leaks -= task.revoked_at is not None
        self.connectors[task.spec.connector] -= 1

    def revoked(self, task: TaskRun, now: float) -> None:
        """The task's revocation has been sent: it has to end at once."""
        if task.revoked_at is None:
            task.revoked_at = now
            self.leaks += 1

    def lapsed(self, now: float) -> bool:
        """Whether its lease was granted and is over."""
        return self.cell is not None and self.cell.lapsed(now)

    def stuck(self, since: float) -> bool:
        """Nothing runs here but threads that were revoked, one of them at `since` or before."""
        revoked = [task.revoked_at for task in self.tasks.values() if task.revoked_at is not None]
        return len(revoked) == len(self.tasks) and any(at <= since for at in revoked)

    def info(self) -> SlotInfo:
        tasks = tuple(sorted(task.spec.id for task in self.tasks.values()))
        return SlotInfo(self.slot, self.attempt, self.process.pid, tasks)


class Roster:
    """Slots and tasks. Tasks wait for a slot that is just coming (up to a deadline), so that they spread evenly."""

    def __init__(
        self,
        slots: int,
        wait: float,
        clock: Callable[[], float],
        max_extra_slots: int = 0,
        room_to_come: float = math.inf,
    ) -> None:
        """`room_to_come`: descriptors that a slot probably has for its tasks, as long as none is up to say so."""
        self.links: dict[int, SlotLink] = {}
        self.tasks: dict[TaskId, TaskRun] = {}  # as the herder knows them
        self.starts = StartHistory()
        self._waiting: dict[Key, TaskRun] = {}  # oldest first
        self._any_dedicated = False
        self.extras = ExtraSlots(slots, max_extra_slots)
        self.suspects = Suspects()
        self._settled = slots
        self._wait = wait
        self._clock = clock
        self._room_to_come = room_to_come
        self._wait_until = 0.0

    def missing_slot(self) -> None:
        """A slot has died or the first one has come: the others are about to come."""
        self._wait_until = self._clock() + self._wait

    def add(self, task: TaskRun) -> None:
        """A task to be placed."""
        self.tasks[task.spec.id] = task
        self._waiting[task.key] = task
        self._any_dedicated |= task.spec.dedicated

    @property
    def has_waiting(self) -> bool:
        """Whether tasks may be waiting for a slot."""
        return bool(self._waiting)

    @property
    def waiting(self) -> int:
        """How many tasks wait for a slot."""
        return sum(task.waiting for task in self._waiting.values())

    def placements(self) -> Iterator[tuple[TaskRun, SlotLink]]:
        """Waiting tasks, oldest first, each with a slot for it. The caller must send each task to its slot.

        Slots take as many at once as their admission allows; the rest wait for the next call. A slot that does not
        answer is left out: all tasks would wait for it if it had the fewest. Tasks that find no room make extra slots
        wanted (`extras.numbers`)."""
        if not self.links:
            self._foresee()
        leased = [link for link in self.links.values() if link.leased and link.silence is None]
        if not leased or not self._waiting:
            return
        usable = [link for link in leased if not self.extras.private(link.slot)]
        room = _Room(usable, self._more_to_come(), self._clock())
        share, crowded_out = self._fair_share(len(usable)), 0
        for task in list(self._waiting.values()):
            if not task.waiting or self.tasks.get(task.spec.id) is not task:
                del self._waiting[task.key]
                continue
            cell = self._cell(task)
            link = room.least_loaded(task, share) if cell is None else self._open_cell(cell)
            if link is not None:
                del self._waiting[task.key]
                link.add(task)
                link.admission.sent(task.key, self._clock())
                yield task, link
            elif cell is None and share == math.inf and room.is_full:
                crowded_out += needed(task.spec)
            elif room.is_closed and not self._has_cells:
                break
        if crowded_out and room.links:
            self._make_room(crowded_out, min(link.room for link in room.links))

    def returned(self, link: SlotLink, task: TaskRun) -> None:
        """The slot could not take the task: it waits again."""
        link.remove(task)
        task.link = None
        self._waiting[task.key] = task

    def link_up(self, link: SlotLink) -> None:
        """A slot has connected; if its last process died while starting tasks, it gets fewer."""
        link.admission, link.most = self.starts.of(link.slot, self._clock())
        self.links[link.slot] = link

    def lose_tasks(self, link: SlotLink) -> Sequence[TaskRun]:
        """All tasks of a slot have ended with it; those that had not been stopped are forgotten, and told."""
        for task in link.tasks.values():
            task.lost = True
            task.ended.set()
        lost = [task for task in link.tasks.values() if self.tasks.get(task.spec.id) is task]
        for task in lost:
            del self.tasks[task.spec.id]
        return lost

    def slot_died(self, link: SlotLink) -> Sequence[TaskId]:
        """By itself, with its tasks: those that have to live apart from now on, each in another cell than before."""
        self.starts.slot_died(link.slot, link.admission.starting, len(link.tasks))
        suspects = self.suspects.slot_died([task.spec.id for task in link.tasks.values()], self._clock())
        if self.extras.private(link.slot) and not any(task.spec.dedicated for task in link.tasks.values()):
            self.extras.remove(link.slot)
        return suspects

    def crowded(self, link: SlotLink) -> bool:
        """The slot says that it is full: what it has now is what it can hold. False when no other can take more."""
        link.room = link.taken
        return self._more_to_come() or any(
            other.room > other.taken for other in self.links.values() if not self.extras.private(other.slot)
        )

    def _cell(self, task: TaskRun) -> int | None:
        """The slot that the task has to live in; None when it may live with the others, or has to."""
        now = self._clock()
        cell: Hashable | None = task.spec.id if task.spec.dedicated else self.suspects.cell(task.spec.id, now)
        if cell is None:
            return None
        number = self.extras.of(cell)
        return self.extras.add(cell, now) if number is None else number

    def _open_cell(self, number: int) -> SlotLink | None:
        link = self.links.get(number)
        return link if link is not None and link.leased and link.admission.is_open(self._clock()) else None

    @property
    def _has_cells(self) -> bool:
        """Whether some task may need a slot of its own."""
        return self._any_dedicated or self.suspects.any

    def _more_to_come(self) -> bool:
        """Whether there is, or could be, another slot for tasks that find no room."""
        return self.extras.may_grow or len(self.links) < len(self.extras.numbers)

    def _foresee(self) -> None:
        """No slot is up yet: want at once all that the waiting tasks are going to need."""
        crowd = sum(needed(task.spec) for task in self._waiting.values() if task.waiting and self._cell(task) is None)
        self._make_room(crowd, self._room_to_come)

    def _make_room(self, descriptors: int, room: float) -> None:
        """Have enough slots coming for tasks that take so many descriptors."""
        up = sum(1 for slot in self.links if not self.extras.private(slot))
        coming = self._settled + self.extras.shared - up
        for _ in range(math.ceil(descriptors / max(room, 1)) - coming):
            if self.extras.add(None, self._clock()) is None:
                return

    def _fair_share(self, usable: int) -> float:
        """How many tasks a slot takes at most while others are awaited."""
        expected = self._settled + self.extras.shared
        if usable >= expected or self._clock() >= self._wait_until:
            return math.inf
        live = sum(len(link.tasks) for link in self.links.values())
        return -(-(live + self.waiting) // expected)


class _Room:
    """Free room in slots that take any task, while tasks are being placed."""

    def __init__(self, links: list[SlotLink], more_to_come: bool, now: float) -> None:
        self.links, self._more_to_come, self._now = links, more_to_come, now
        self.is_full = False
        """Whether the last task found no room for its descriptors, or every slot has as many tasks as it can bear."""
        self.is_closed = False
        """Whether the last task found room, but no slot that is ready to start one more."""

    def least_loaded(self, task: TaskRun, share: float) -> SlotLink | None:
        """The slot for a task, away from others of its connector; None when it had better wait for another slot."""
        self.is_full = self.is_closed = False
        needs, connector = needed(task.spec), task.spec.connector

        def load(link: SlotLink) -> tuple[int, ...]:
            return link.leaks, _full(link, needs), link.connectors[connector], len(link.tasks), link.slot

        links = [link for link in self.links if len(link.tasks) < min(link.most, share)]
        if not links:
            self.is_full = bool(self.links) and share == math.inf
            self.is_closed = not self.is_full
            return None
        best = min([link for link in links if link.admission.responds(self._now)] or links, key=load)
        if self._more_to_come and _full(best, needs):
            self.is_full = True
            return None
        if best.admission.is_open(self._now):
            return best
        self.is_closed = True
        return None


def _full(link: SlotLink, needs: int) -> bool:
    return link.taken + needs > link.room
