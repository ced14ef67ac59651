"""Which slots there are, which task runs on which, and where the next one goes."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from runtime.engine.channel import Message, encode
from runtime.engine.descriptors import needed
from runtime.engine.extras import Extras
from runtime.engine.port import SlotInfo
from runtime.engine.suspects import Suspects
from runtime.engine.wire import Key
from runtime.task_spec import TaskSpec
from runtime.vocabulary import TaskId


@dataclass(slots=True, eq=False)
class Task:
    """One run of a task, from start_task() to its end."""

    spec: TaskSpec
    link: Link | None = None  # the slot that it was given to
    member_id: str | None = None  # of its consumer
    revoked_at: float | None = None
    failed: bool = False  # it has said so
    lost: bool = False  # its slot died
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> Key:
        return self.spec.id, self.spec.epoch

    @property
    def waiting(self) -> bool:
        return self.link is None and not self.ended.is_set()


@dataclass(slots=True, eq=False)
class Link:
    """A slot that is connected. `tasks` are those whose thread runs."""

    slot: int
    attempt: int
    generation: int
    pid: int
    host: str
    writer: asyncio.StreamWriter
    heard: float  # when it last asked for its lease
    room: float = math.inf  # descriptors that its tasks may take together
    leased: bool = False
    memory: int = 0  # bytes, when it last said so
    tasks: dict[Key, Task] = field(default_factory=dict)

    def send(self, message: Message) -> None:
        if not self.writer.is_closing():
            self.writer.write(encode(message))

    @property
    def taken(self) -> int:
        """Descriptors that its tasks are likely to take."""
        return sum(needed(task.spec) for task in self.tasks.values())

    @property
    def leaks(self) -> int:
        """Threads that have been revoked and go on all the same."""
        return sum(1 for task in self.tasks.values() if task.revoked_at is not None)

    def stuck(self, since: float) -> bool:
        """Nothing runs here but threads that were revoked, one of them at `since` or before."""
        revoked = [task.revoked_at for task in self.tasks.values() if task.revoked_at is not None]
        return len(revoked) == len(self.tasks) and any(at <= since for at in revoked)

    def info(self) -> SlotInfo:
        return SlotInfo(self.slot, self.attempt, self.pid, tuple(sorted(task.spec.id for task in self.tasks.values())))


class Roster:
    """Slots and tasks. Tasks wait for a slot that is just coming (up to a deadline), so that they spread evenly."""

    def __init__(
        self,
        slots: int,
        wait: float,
        clock: Callable[[], float],
        most_extras: int = 0,
        room_to_come: float = math.inf,
    ) -> None:
        """`room_to_come`: descriptors that a slot probably has for its tasks, as long as none is up to say so."""
        self.links: dict[int, Link] = {}
        self.tasks: dict[TaskId, Task] = {}  # as the herder knows them
        self.extras = Extras(slots, most_extras)
        self.suspects = Suspects()
        self._settled = slots
        self._wait = wait
        self._clock = clock
        self._room_to_come = room_to_come
        self._wait_until = 0.0

    def missing_slot(self) -> None:
        """A slot has died or the first one has come: the others are about to come."""
        self._wait_until = self._clock() + self._wait

    def placements(self) -> Iterator[tuple[Task, Link]]:
        """Tasks that wait, oldest first, each with the slot to give it to now. The caller must do so.

        What finds no room makes extra slots wanted (`extras.numbers`)."""
        if not self.links:
            self._foresee()
        leased = [link for link in self.links.values() if link.leased]
        waiting = [task for task in self.tasks.values() if task.waiting]
        if not leased or not waiting:
            return
        usable = [link for link in leased if not self.extras.private(link.slot)]
        room = _Room(usable, {task.spec.connector for task in waiting}, self._more_to_come())
        share, crowded_out = self._fair_share(len(usable)), 0
        for task in waiting:
            cell = self._cell(task)
            link = room.least_loaded(task, share) if cell is None else self.links.get(cell)
            if link is not None and link.leased:
                task.link = link
                link.tasks[task.key] = task
                yield task, link
            elif cell is None and share == math.inf:
                crowded_out += needed(task.spec)
        if crowded_out and room.links:
            self._make_room(crowded_out, min(link.room for link in room.links))

    def lose_tasks(self, link: Link) -> Sequence[Task]:
        """All tasks of a slot have ended with it; those that had not been stopped are forgotten, and told."""
        for task in link.tasks.values():
            task.lost = True
            task.ended.set()
        lost = [task for task in link.tasks.values() if self.tasks.get(task.spec.id) is task]
        for task in lost:
            del self.tasks[task.spec.id]
        return lost

    def slot_died(self, link: Link) -> Sequence[TaskId]:
        """By itself, with its tasks: those that have to live apart from now on, each in another cell than before."""
        suspects = self.suspects.slot_died([task.spec.id for task in link.tasks.values()], self._clock())
        if self.extras.private(link.slot) and not any(task.spec.dedicated for task in link.tasks.values()):
            self.extras.remove(link.slot)
        return suspects

    def crowded(self, link: Link) -> bool:
        """The slot says that it is full: what it has now is what it can hold. False when no other can take more."""
        link.room = link.taken
        return self._more_to_come() or any(
            other.room > other.taken for other in self.links.values() if not self.extras.private(other.slot)
        )

    def _cell(self, task: Task) -> int | None:
        """The slot that the task has to live in; None when it may live with the others, or has to."""
        now = self._clock()
        cell: Hashable | None = task.spec.id if task.spec.dedicated else self.suspects.cell(task.spec.id, now)
        if cell is None:
            return None
        number = self.extras.of(cell)
        return self.extras.add(cell, now) if number is None else number

    def _more_to_come(self) -> bool:
        """Whether there is, or could be, another slot for tasks that find no room."""
        return self.extras.may_grow or len(self.links) < len(self.extras.numbers)

    def _foresee(self) -> None:
        """No slot is up yet: want at once all that the waiting tasks are going to need."""
        crowd = sum(needed(task.spec) for task in self.tasks.values() if task.waiting and self._cell(task) is None)
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
        waiting = sum(1 for task in self.tasks.values() if task.waiting)
        return -(-(live + waiting) // expected)


class _Room:
    """What slots that take any task have left, while tasks of some connectors are being placed."""

    def __init__(self, links: list[Link], connectors: Collection[str], more_to_come: bool) -> None:
        self.links = links
        self._taken = {link.slot: link.taken for link in links}
        self._siblings = Counter(
            (link.slot, id_.connector) for link in links for id_, _ in link.tasks if id_.connector in connectors
        )
        self._more_to_come = more_to_come

    def least_loaded(self, task: Task, share: float) -> Link | None:
        """The slot for a task, away from others of its connector; None when it had better wait for another slot."""
        if not self.links:
            return None
        needs, connector = needed(task.spec), task.spec.connector

        def load(link: Link) -> tuple[int, ...]:
            siblings = self._siblings[link.slot, connector]
            return link.leaks, self._full(link, needs), siblings, len(link.tasks), link.slot

        best = min(self.links, key=load)
        if len(best.tasks) >= share or (self._more_to_come and self._full(best, needs)):
            return None
        self._taken[best.slot] += needs
        self._siblings[best.slot, connector] += 1
        return best

    def _full(self, link: Link, needs: int) -> bool:
        return self._taken[link.slot] + needs > link.room
