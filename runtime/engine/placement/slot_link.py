"""A connected slot and the task runs that are placed on it."""

from __future__ import annotations

import asyncio
import math
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from runtime.engine.placement.admission import Admission
from runtime.engine.placement.remote_lease import RemoteLease
from runtime.engine.port import SlotInfo
from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.descriptors import needed
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.messages import ToSlot
from runtime.engine.protocol.task_specs import Key
from runtime.model.task_spec import TaskSpec
from runtime.system.processes import OwnProcess
from runtime.system.scheduling import Delay


@dataclass(slots=True, eq=False)
class TaskRun:
    """One run of a task, from start_task() to its end."""

    spec: TaskSpec
    link: SlotLink | None = None  # the slot that the task was placed on
    member_id: str | None = None  # the group member id of its consumer
    revoked_at: float | None = None
    failed: bool = False  # reported by the task
    condemned: str | None = None  # the trace with which the task fails instead of being placed again
    handed_back: str | None = None  # the reason why the task ends and must be placed again
    lost: bool = False  # its slot has died
    former: TaskRun | None = None  # on a slot elsewhere: the run that has to be harmless before this one starts
    reported_waiting: bool = False  # to the herder, because no slot could start it for a while
    archives: Mapping[str, str] | None = field(default_factory=dict)  # for slots elsewhere; None: being made
    harmless: asyncio.Event = field(default_factory=asyncio.Event)  # it ended, or can no longer write
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> Key:
        """The id and epoch of the run."""
        return self.spec.id, self.spec.epoch

    @property
    def waiting(self) -> bool:
        """Whether the task waits for a slot."""
        return self.link is None and not self.ended.is_set()

    def end(self) -> None:
        """Its thread has ended, or never started."""
        self.ended.set()
        self.harmless.set()


class SlotWriter(Protocol):
    """Writes to a slot without waiting (asyncio.StreamWriter)."""

    def is_closing(self) -> bool: ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RemoteProcess:
    """The process of a slot on another machine, which cannot be signalled from here."""

    pid: int
    host: str

    def signal(self, number: signal.Signals) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


@dataclass(slots=True, eq=False)
class SlotLink:
    """A connected slot. `tasks` are the tasks whose thread runs; only add() and remove() change them."""

    slot: int
    attempt: int
    generation: int
    process: OwnProcess | RemoteProcess
    writer: SlotWriter
    heard: float  # when the slot last reported that it is alive
    room: float = math.inf  # file descriptors available to its tasks in total
    cell: LeaseCell | RemoteLease | None = None
    leased: bool = False
    memory: int = 0  # bytes, as last reported, with those of its JVM
    java_memory: int = 0  # bytes of its JVM
    java_heap: int = 0  # bytes of the heap in use of its JVM
    max_tasks: float = math.inf
    silence: Delay | None = None  # scheduling delay since the last response
    starved: bool = False  # silent because the slot did not get processor time
    leaving: bool = False  # leave() was called: its process ends as soon as it reads the message
    draining: bool = False  # drain() was called: its tasks are moving to other slots
    had_no_lease: bool = False  # when it was lost
    hung_up: bool = False  # its end of the connection was closed, as by the end of its process
    process_ended: bool = False  # Spark has reported the end of a remote slot's process, not of its executor
    admission: Admission = field(default_factory=Admission)
    tasks: dict[Key, TaskRun] = field(default_factory=dict)
    taken: int = 0  # file descriptors that its tasks are expected to use
    leaks: int = 0  # revoked tasks whose threads have not ended
    connectors: Counter[str] = field(default_factory=Counter)  # number of tasks in this slot

    @property
    def usable(self) -> bool:
        """Whether tasks may be placed on the slot."""
        return self.leased and not self.leaving and not self.draining

    @property
    def is_remote(self) -> bool:
        """Whether the slot is on another machine, or reached like one."""
        return isinstance(self.process, RemoteProcess)

    @property
    def host(self) -> str:
        """The name of the other machine, which is that of a pod on Kubernetes; empty on this machine."""
        return self.process.host if isinstance(self.process, RemoteProcess) else ""

    @property
    def free_from(self) -> float:
        """The time from which the process of a remote slot has certainly ended, if its lease is not renewed."""
        return self.cell.free_from if isinstance(self.cell, RemoteLease) else 0.0

    def is_attempt(self, generation: int, slot: int, attempt: int) -> bool:
        """Whether this is the process of that attempt."""
        return (self.generation, self.slot, self.attempt) == (generation, slot, attempt)

    def drain(self, reason: str) -> None:
        """Have all tasks commit, end and start on other slots; no task is placed on this one from now on."""
        self.draining = True
        self.send({"op": "drain", "reason": reason})

    def leave(self) -> None:
        """Tell the slot to end its process; no task is placed on it from now on."""
        self.leaving = True
        self.send({"op": "leave"})

    def send(self, message: ToSlot) -> None:
        """Send a message without waiting; ignored if the connection is closing. FrameError or TypeError if the message
        cannot be encoded."""
        if not self.writer.is_closing():
            self.writer.write(encode(message))

    def add(self, task: TaskRun) -> None:
        """Place a task on the slot."""
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
        """The task was revoked: it must end immediately."""
        if task.revoked_at is None:
            task.revoked_at = now
            self.leaks += 1

    def granted(self, now: float) -> bool:
        """Whether the slot has a lease."""
        return self.cell is not None and self.cell.deadline > now

    def lapsed(self, now: float) -> bool:
        """Whether the slot's lease was granted and has expired."""
        return self.cell is not None and self.cell.lapsed(now)

    def stuck(self, since: float) -> bool:
        """Whether only revoked tasks remain, at least one of them revoked at `since` or before."""
        revoked = [task.revoked_at for task in self.tasks.values() if task.revoked_at is not None]
        return len(revoked) == len(self.tasks) and any(at <= since for at in revoked)

    def info(self) -> SlotInfo:
        """The slot as the herder sees it."""
        tasks = tuple(sorted(task.spec.id for task in self.tasks.values()))
        return SlotInfo(
            self.slot, self.attempt, self.process.pid, tasks, self.memory, self.java_memory, self.java_heap, self.host
        )
