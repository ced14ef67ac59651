"""The engine of a worker with simulated slots. Supervisor, roster, leases and watch are the program's own; the driver,
its processes, the channel and the thread that grants leases are simulated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from runtime.engine.placement.slot_link import SlotLink
from runtime.engine.port import EngineListener
from runtime.engine.protocol.lease_cell import GUARD_TIME, LeaseCell
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.driver_keeper import DriverKeeper
from runtime.engine.worker.supervisor import SparkEngine
from runtime.model.task_spec import TaskSpec
from runtime.system.processes import OwnProcess
from tests.simulation.loop import Process, SimLoop
from tests.simulation.slot import SimSlot, SlotWorld


class SimEngine(SparkEngine):
    """The real engine; only start() differs, since it starts processes and threads."""

    def __init__(
        self, settings: EngineSettings, listener: EngineListener, lease: Callable[[], float], process: Process,
        loop: SimLoop, world: SlotWorld,
    ) -> None:  # fmt: skip
        super().__init__(settings, listener, lease, loop.time)
        self._process, self._world = process, world
        self.driver = SimDriver(self, settings.slots, process, loop, world)

    async def start(self) -> None:
        slots = self._slots
        slots.driver = cast(DriverKeeper, self.driver)
        slots._keeping = self._process.spawn(_nothing())
        slots._watching = self._process.spawn(slots._watch())
        self._process.spawn(self._grant(), "leases")
        self.driver.start()

    async def _grant(self) -> None:
        granter = self._slots.granter
        while not granter._closing.is_set():
            await asyncio.sleep(granter.pause)
            granter.renew()

    def start_task(self, spec: TaskSpec) -> None:
        self._world.checks.starts(self._process.name, spec)
        super().start_task(spec)

    def connected(self, link: SlotLink) -> bool:
        return self._slots.link_up(link)

    def said(self, link: SlotLink, message: Any) -> None:
        if link.cell is not None or link.tasks:
            self._slots.link_message(link, message)

    def hung_up(self, link: SlotLink) -> None:
        self._slots.link_down(link)


async def _nothing() -> None:
    return


@dataclass
class SimOsProcess:
    """The process of a slot, as the worker sees it."""

    process: Process
    pid: int

    def signal(self, number: int) -> None:
        if number == 9:
            self.process.kill()

    def close(self) -> None:
        return


class SimPipe:
    """The worker's end of the channel to a slot."""

    def __init__(self, slot: SimSlot, loop: SimLoop) -> None:
        self._slot, self._loop, self._at = slot, loop, 0.0
        self._closing = False

    def is_closing(self) -> bool:
        return self._closing

    def write(self, data: bytes) -> None:
        message = json.loads(data[4:])
        self._at = max(self._at, self._loop.time() + self._loop.random.random() * 0.002)  # in order
        self._slot.process.call(self._at - self._loop.time(), self._slot.handle, message)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._slot.process.call(0.001, self._slot.end)


class SimDriver:
    """Keeps the slots running while its worker's process lives."""

    generation, folder, pid, ready, trouble = 1, "", 1, True, ""

    def __init__(self, engine: SimEngine, slots: int, process: Process, loop: SimLoop, world: SlotWorld) -> None:
        self._engine, self._process, self._loop, self._world = engine, process, loop, world
        self._wanted = set(range(slots))
        self._attempts: dict[int, int] = {}
        self.running: dict[int, SimSlot] = {}
        self._closed = False
        process.at_end.append(self._worker_died)

    def start(self) -> None:
        for slot in sorted(self._wanted):
            self._loop.world.call(0.2 + self._loop.random.random(), self._launch, slot)

    def _launch(self, slot: int) -> None:
        if self._closed or not self._process.alive or slot not in self._wanted or slot in self.running:
            return
        attempt = self._attempts[slot] = self._attempts.get(slot, -1) + 1
        process = Process(f"{self._process.name}/slot{slot}.{attempt}", self._loop)
        process.skew = self._process.skew
        cell = LeaseCell(cast(Any, bytearray(24)))
        running = self.running[slot] = SimSlot(process, self._process, cell, self._loop, self._world)
        process.at_end.append(lambda: self._slot_died(slot, running))
        link = SlotLink(
            slot, attempt, self.generation, cast(OwnProcess, SimOsProcess(process, 10_000_000 + len(self._attempts))),
            SimPipe(running, self._loop), self._loop.time(), cell=cell,
        )  # fmt: skip
        running.connect(lambda message: self._process.call(0.0, self._engine.said, link, message))
        self._process.call(0.001, self._connect, link, running)
        self._loop.world.call(0.5, self._guard, slot, running)

    def _connect(self, link: SlotLink, slot: SimSlot) -> None:
        slot.link = link
        if slot.process.alive and not self._engine.connected(link):
            slot.process.kill()

    def _guard(self, number: int, slot: SimSlot) -> None:
        """The driver ends a slot whose lease has expired (driver/guard.py)."""
        if slot.process.alive:
            if slot.cell.lapsed(self._loop.time() - GUARD_TIME / 2):
                slot.process.kill()
            self._loop.world.call(0.5, self._guard, number, slot)

    def _slot_died(self, number: int, slot: SimSlot) -> None:
        if self.running.get(number) is slot:
            del self.running[number]
        self._world.trace.add(f"{slot.process.name} ended")
        if slot.link is not None:
            self._process.call(0.001, self._engine.hung_up, slot.link)
        self._loop.world.call(0.5, self._launch, number)

    def _worker_died(self) -> None:
        """A slot ends when its channel closes, or a little later if it is frozen."""
        for slot in list(self.running.values()):
            self._loop.world.call(self._loop.random.random() * 0.5, slot.process.kill)

    def request_slots(self, slots: Collection[int], executors: object) -> None:
        for slot in sorted(set(slots) - self._wanted):
            self._loop.world.call(0.5, self._launch, slot)
        self._wanted = set(slots)

    def restart_slots(self, slots: Sequence[int]) -> None:
        for slot in slots:
            self._loop.world.call(0.1, self._launch, slot)

    def record_archive(self) -> None:
        return

    def close(self) -> None:
        self._closed = True
        for slot in list(self.running.values()):
            self._loop.world.call(0.05, slot.process.kill)
