"""Which slots there are, which task runs on which, and where the next one goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from runtime.engine.channel import Message, encode
from runtime.engine.port import SlotInfo
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
    leased: bool = False
    tasks: dict[Key, Task] = field(default_factory=dict)

    def send(self, message: Message) -> None:
        if not self.writer.is_closing():
            self.writer.write(encode(message))

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

    def __init__(self, slots: int, wait: float, clock: Callable[[], float]) -> None:
        self.links: dict[int, Link] = {}
        self.tasks: dict[TaskId, Task] = {}  # as the herder knows them
        self._expected = slots
        self._wait = wait
        self._clock = clock
        self._wait_until = 0.0

    def missing_slot(self) -> None:
        """A slot has died or the first one has come: the others are about to come."""
        self._wait_until = self._clock() + self._wait

    def placements(self) -> Iterator[tuple[Task, Link]]:
        """Tasks that wait, oldest first, each with the slot to give it to now. The caller must do so."""
        for task in [task for task in self.tasks.values() if task.waiting]:
            link = self._least_loaded()
            if link is None:
                return
            task.link = link
            link.tasks[task.key] = task
            yield task, link

    def _least_loaded(self) -> Link | None:
        usable = [link for link in self.links.values() if link.leased]
        if not usable:
            return None
        best = min(usable, key=lambda link: (link.leaks, len(link.tasks), link.slot))
        return best if len(best.tasks) < self._fair_share(len(usable)) else None

    def _fair_share(self, usable: int) -> float:
        """How many tasks a slot takes at most while others are awaited."""
        if usable >= self._expected or self._clock() >= self._wait_until:
            return float("inf")
        live = sum(len(link.tasks) for link in self.links.values())
        waiting = sum(1 for task in self.tasks.values() if task.waiting)
        return -(-(live + waiting) // self._expected)
