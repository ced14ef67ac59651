"""A simulated slot: its messages to the worker, and its tasks as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.engine.placement.slot_link import SlotLink
from runtime.engine.protocol.lease import Lease
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.pipeline.task.failure import RevokedError
from tests.simulation.groups import ConsumerGroups
from tests.simulation.kafka import Kafka
from tests.simulation.loop import Process, SimLoop
from tests.simulation.network import Network
from tests.simulation.trace import Trace

Key = tuple[str, int, int]


@dataclass
class SlotWorld:
    """What slots meet outside their process. `run` runs a task to its end; `checks` observes all tasks."""

    kafka: Kafka
    groups: ConsumerGroups
    network: Network
    trace: Trace
    checks: Any
    run: Callable[[TaskRun], Any]
    start_time: Callable[[TaskRun], float] = lambda run: 0.01
    """Seconds until a task has been created: imports and constructors."""
    at_step: Callable[[TaskRun], None] = lambda run: None
    """Called before each step of a task: a moment for a fault."""


class HandedBack(Exception):
    """The task has to be placed again."""


class TaskRun:
    """One run of a task in a slot; `spec` is the TaskSpec as JSON."""

    def __init__(self, slot: SimSlot, spec: dict[str, Any]) -> None:
        self.slot, self.spec = slot, spec
        self.key: Key = (spec["connector"], spec["task"], spec["epoch"])
        self.host = slot.process.name.partition("/")[0]
        self.paused = bool(spec["paused"])
        self.stopping = self.revoked = self.ended = False
        self.steps = 0
        self.confirmed: asyncio.Future[dict[str, Any]] | None = None
        self.wake = asyncio.Event()

    @property
    def name(self) -> str:
        return f"{self.key[0]}-{self.key[1]}@{self.slot.process.name}#{self.key[2]}"

    @property
    def active(self) -> bool:
        """Whether this run may put, produce or commit."""
        slot = self.slot
        return slot.process.alive and not (self.revoked or self.ended) and slot.leased and not slot.is_closed

    def check(self) -> None:
        """Before each put, produce and commit. RevokedError if the task must not work any more."""
        if self.revoked:
            raise RevokedError
        self.slot.world.at_step(self)
        if self.slot.is_closed:
            raise RevokedError
        self.slot.lease.check()
        self.slot.world.checks.works(self)

    def say(self, op: str, **more: Any) -> None:
        connector, task, epoch = self.key
        self.slot.send({"op": op, "connector": connector, "task": task, "epoch": epoch, **more})

    def state(self, state: str, trace: str | None = None, client_failed: bool = False) -> None:
        self.say("state", state=state, trace=trace, client_failed=client_failed)

    async def pause(self, seconds: float) -> None:
        """Wait, at most until the next request of the worker."""
        self.wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            pass


class SimSlot:
    """The slot's process and its end of the channel."""

    def __init__(self, process: Process, worker: Process, cell: LeaseCell, loop: SimLoop, world: SlotWorld) -> None:
        self._worker = worker
        self.process, self.cell, self._loop, self.world = process, cell, loop, world
        self.lease = Lease(cell, loop.time)
        self.link: SlotLink | None = None
        self.tasks: dict[Key, TaskRun] = {}
        self._to_worker: Callable[[Any], None] = lambda message: None
        self._at = 0.0

    @property
    def is_closed(self) -> bool:
        """Whether the worker's end of the channel is closed, which each task checks (ChannelHost)."""
        return not self._worker.alive or (self.link is not None and self.link.writer.is_closing())

    @property
    def leased(self) -> bool:
        return self.cell.deadline > self._loop.time()

    def connect(self, to_worker: Callable[[Any], None]) -> None:
        self._to_worker = to_worker
        self.process.spawn(self._alive(), "alive")

    async def _alive(self) -> None:
        while True:
            await asyncio.sleep(10.0 / 3)
            self.send({"op": "alive", "memory": 0, "java_memory": 0, "java_heap": 0})

    def send(self, message: dict[str, Any]) -> None:
        """In order, after a short time; also if the slot is frozen or dies after that."""
        self._at = max(self._at, self._loop.time() + self._loop.random.random() * 0.002)
        self._loop.world.call(self._at - self._loop.time(), self._to_worker, message)

    def end(self) -> None:
        self.process.kill()

    def handle(self, message: dict[str, Any]) -> None:
        op = message["op"]
        if op == "start":
            run = TaskRun(self, message["spec"])
            self.tasks[run.key] = run
            run.say("starting")
            self.process.spawn(self._run(run), run.name)
        elif op == "leave":
            self.end()
        elif op == "drain":
            for run in self.tasks.values():
                run.stopping = True
                run.wake.set()
        elif op == "start_confirmed":
            for run in self.tasks.values():
                if run.confirmed is not None and not run.confirmed.done() and message["number"] == run.key[2]:
                    run.confirmed.set_result(message)
        elif "epoch" in message and (
            found := self.tasks.get((message["connector"], message["task"], message["epoch"]))
        ):
            self._request(found, op, message)

    def _request(self, run: TaskRun, op: str, message: dict[str, Any]) -> None:
        if op == "stop":
            run.stopping = True
        elif op == "revoke":
            run.revoked = True
            run.say("revoked")
        elif op == "pause":
            run.paused = message["paused"]
        elif op == "stack":
            run.say("stack", number=message["number"], stack="", call="", seconds=0.0)
        run.wake.set()
        if (run.stopping or run.revoked) and run.confirmed is not None and not run.confirmed.done():
            run.confirmed.set_exception(HandedBack("stopped before its start was confirmed"))

    async def _run(self, run: TaskRun) -> None:
        """As TaskThread and TaskRunner: the last report is the end, unless the lease is over."""
        self.world.checks.started(run)
        try:
            while run.paused and not (run.stopping or run.revoked):
                run.state("PAUSED")
                await run.pause(3600)
            self.world.at_step(run)
            await asyncio.sleep(self.world.start_time(run))
            if not (run.stopping or run.revoked):
                await self.world.run(run)
        except RevokedError:
            self.world.trace.counts["task revoked"] += 1
        except HandedBack as e:
            if not (run.stopping or run.revoked):
                self.world.trace.counts["task handed back"] += 1
                run.state("UNASSIGNED", str(e))
        except Exception as e:  # the task fails with any error
            if not run.revoked:
                self.world.trace.counts["task failed"] += 1
                run.state("FAILED", repr(e))
        run.ended = True
        self.world.checks.ended(run)
        self.tasks.pop(run.key, None)
        if not self.lease.over:
            run.say("ended")
