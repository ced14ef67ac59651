"""Faults at random moments, and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from random import Random

from tests.simulation.loop import Process
from tests.simulation.network import KAFKA
from tests.simulation.slot import SimSlot, TaskRun
from tests.simulation.worker import SimWorker, World

KINDS = (
    "kill", "freeze", "slot_kill", "slot_freeze", "host", "cut_kafka", "cut_workers", "clock", "slow", "compact",
    "terminate", "outage", "step", "stall", "start", "full", "await", "reset", "write",
)  # fmt: skip

AT_STEPS = ("step", "start", "write")
"""Kinds that happen at steps of tasks and workers, not at a random moment."""

_RANDOM: ContextVar[Random] = ContextVar("RANDOM")
"""Random numbers of the running fault."""


class Faults:
    """Injects faults until they are stopped; `kinds` limits them."""

    def __init__(self, world: World, workers: Sequence[SimWorker], kinds: Sequence[str], mean: float) -> None:
        self._world, self._workers, self._kinds, self._mean = world, workers, kinds, mean
        self._trace = world.trace
        self._running: set[asyncio.Task[None]] = set()
        self._until = 0.0
        world.slots.start_time, world.slots.at_step = self._start_time, self._at_step
        world.kafka.at_write = self._at_write

    async def work(self, until: float) -> None:
        """Faults until this time; they may overlap. Returns when all have ended."""
        self._until = until
        while self._kinds:
            random, carried_out = self._world.choices.next("fault")
            await asyncio.sleep(random.random() * 2 * self._mean)
            if self._world.loop.time() >= until:
                break
            kind = self._kinds[int(random.random() * len(self._kinds))]
            if kind not in AT_STEPS and carried_out:
                action: Callable[[], Coroutine[None, None, None]] = getattr(self, f"_{kind}")
                self._start(kind, action(), random)
        while self._running:
            await asyncio.wait(self._running)
            self._running = {task for task in self._running if not task.done()}

    def _start(self, kind: str, fault: Coroutine[None, None, None], random: Random) -> None:
        self._trace.counts[f"fault: {kind}"] += 1

        async def run() -> None:
            _RANDOM.set(random)
            await fault

        self._running.add(self._world.loop.world.spawn(run(), "fault"))

    @property
    def _random(self) -> Random:
        return _RANDOM.get()

    def _worker(self) -> SimWorker:
        return self._workers[int(self._random.random() * len(self._workers))]

    def _named(self, name: str) -> SimWorker:
        return next(worker for worker in self._workers if worker.name == name)

    def _slots(self) -> list[SimSlot]:
        engines = [worker.engine for worker in self._workers if worker.running and worker.engine is not None]
        return [slot for engine in engines for slot in engine.driver.running.values()]

    async def _some(self, longest: float) -> None:
        await asyncio.sleep(self._random.random() ** 2 * longest)

    async def _kill(self) -> None:
        await self._restart(self._worker())

    async def _restart(self, worker: SimWorker) -> None:
        worker.kill()
        await self._some(10.0)
        if not worker.running:
            worker.start()

    async def _terminate(self) -> None:
        await self._worker().bounce(self._random.random() ** 2 * 8.0)

    async def _await(self) -> None:
        """A worker dies or freezes between two callbacks, at whatever it awaits then."""
        worker, kills, callbacks = self._worker(), self._random.random() < 0.4, int(2 ** (self._random.random() * 9))
        struck = self._world.loop.create_future()

        def strike() -> None:
            self._trace.counts["worker killed or frozen between two callbacks"] += 1
            worker.kill() if kills else worker.freeze(True)
            struck.set_result(worker.process)

        if worker.process is not None and worker.process.alive and not worker.process.frozen:
            worker.process.strike(callbacks, strike)
            await asyncio.wait({struck}, timeout=60.0)
        if not struck.done():
            struck.cancel()
            return
        await self._some(10.0)
        if kills and not worker.running:
            worker.start()
        elif not kills and worker.process is struck.result():
            worker.freeze(False)

    async def _reset(self) -> None:
        """Connections break while responses, and some requests, are on their way."""
        self._trace.add("responses are lost")
        self._world.network.loss += 0.3
        await self._some(6.0)
        self._world.network.loss -= 0.3
        self._trace.add("no more responses are lost")

    async def _freeze(self) -> None:
        await self._frozen(self._worker(), 12.0)

    async def _stall(self) -> None:
        """A moment without processor time."""
        await self._frozen(self._worker(), 1.0)

    async def _frozen(self, worker: SimWorker, longest: float) -> None:
        await self._frozen_for(worker, self._random.random() ** 2 * longest)

    async def _frozen_for(self, worker: SimWorker, seconds: float) -> None:
        process = worker.process
        if process is None or process.frozen or not process.alive:
            return
        worker.freeze(True)
        await asyncio.sleep(seconds)
        if worker.process is process:
            worker.freeze(False)

    async def _slot_kill(self) -> None:
        if slots := self._slots():
            slots[int(self._random.random() * len(slots))].process.kill()

    async def _slot_freeze(self) -> None:
        if slots := self._slots():
            await self._slot_frozen(slots[int(self._random.random() * len(slots))].process, 15.0)

    async def _slot_frozen(self, process: Process, longest: float) -> None:
        self._trace.add(f"{process.name} freezes")
        process.freeze(True)
        await self._some(longest)
        self._trace.add(f"{process.name} continues")
        process.freeze(False)

    async def _host(self) -> None:
        worker = self._worker()
        if worker.running and worker.plugins is not None:
            worker.process.call(0.0, worker.plugins.die)  # type: ignore[union-attr]

    async def _cut_kafka(self) -> None:
        name = self._worker().name
        await self._cut(name, KAFKA, 12.0)

    async def _cut_workers(self) -> None:
        first, second = self._worker().name, self._worker().name
        if first != second:
            await self._cut(first, second, 12.0)

    async def _cut(self, first: str, second: str, longest: float) -> None:
        draw, network = self._random.random(), self._world.network
        ways = [(first, second), (second, first)]
        cut = ways if draw < 0.5 else [ways[int(draw * 4) - 2]]
        self._trace.counts["one-way partition"] += len(cut) == 1
        self._trace.add(f"cut {cut}")
        for way in cut:
            network.cut(*way)
        await self._some(longest)
        self._trace.add(f"heal {cut}")
        for way in cut:
            network.heal(*way)

    async def _outage(self) -> None:
        """Kafka elects leaders: nothing is answered."""
        self._trace.add("outage")
        hosts = [*(worker.name for worker in self._workers)]
        for host in hosts:
            self._world.network.cut(host, KAFKA)
        await self._some(8.0)
        for host in hosts:
            self._world.network.heal(host, KAFKA)
        self._trace.add("outage ends")

    async def _full(self) -> None:
        """Log directories are full: their topics take no records, but can be read."""
        kafka = self._world.kafka
        topics = [topic for topic in sorted(kafka.topics) if self._random.random() < 0.4]
        self._trace.add(f"full: {', '.join(topics)}")
        kafka.full += topics
        await self._some(8.0)
        for topic in topics:
            kafka.full.remove(topic)
        self._trace.add(f"no longer full: {', '.join(topics)}")

    async def _clock(self) -> None:
        worker = self._worker()
        worker.skew = (self._random.random() - 0.5) * (40.0 if self._random.random() < 0.7 else 8000.0)
        if worker.process is not None:
            self._trace.add(f"clock of {worker.name} jumps to {worker.skew:+.1f} s")
            worker.process.skew = worker.skew

    async def _slow(self) -> None:
        self._trace.add("slow network")
        self._world.network.delay *= 40
        await self._some(6.0)
        self._world.network.delay /= 40
        self._trace.add("network as before")

    def _start_time(self, run: TaskRun) -> float:
        """On a busy machine the imports of a task take seconds, during which its worker gets no processor time."""
        draw = self._world.loop.random.random
        carried_out, quick = False, draw() * 0.02
        if self._world.loop.time() < self._until and "start" in self._kinds and draw() < 0.2:
            random, carried_out = self._world.choices.next("start")
        if not carried_out:
            return quick
        seconds = 0.3 + random.random() * 4
        if random.random() < 0.6:
            self._start("start", self._frozen_for(self._named(run.host), seconds * (0.8 + random.random())), random)
        return seconds

    def _at_step(self, run: TaskRun) -> None:
        """A fault in the middle of what a task does, of its slot or of its worker."""
        chance = 0.08 if not run.steps else 0.03 if run.steps < 4 else 0.002
        run.steps += 1
        world = self._world
        if "step" in self._kinds and world.loop.time() < self._until and world.loop.random.random() < chance:
            random, carried_out = world.choices.next("step")
            if carried_out:
                self._start("step", self._step(self._named(run.host), run.slot.process), random)

    def _at_write(self, topic: str, host: str) -> None:
        """A fault after one of the writes of a change, before the next one."""
        world = self._world
        if topic in ("offsets", "statuses") or "write" not in self._kinds or world.loop.time() >= self._until:
            return
        world.trace.counts["write of a leader"] += 1
        if world.loop.random.random() < 0.03:
            random, carried_out = world.choices.next("write")
            if carried_out:
                self._start("write", self._write(self._named(host)), random)

    async def _write(self, worker: SimWorker) -> None:
        draw = self._random.random()
        if draw < 0.5:
            await self._frozen(worker, 12.0)
        elif draw < 0.75:
            await self._cut(worker.name, KAFKA, 12.0)
        else:
            await self._restart(worker)

    async def _step(self, worker: SimWorker, slot: Process) -> None:
        draw = self._random.random()
        if draw < 0.6:
            await self._frozen(worker, 9.0)
        elif draw < 0.7:
            await self._restart(worker)
        elif draw < 0.85:
            await self._slot_frozen(slot, 9.0)
        else:
            slot.kill()

    async def _compact(self) -> None:
        for name, topic in sorted(self._world.kafka.topics.items()):
            if not name.startswith("data-"):
                part = min(1.0, 0.5 + self._random.random())
                drops_tombstones = self._random.random() < 0.7
                read = self._read_by_all(name)
                before = len(topic.records)
                topic.compact(min(int(topic.stable * part), read), read if drops_tombstones else 0)
                self._trace.counts["record removed by compaction"] += before - len(topic.records)
        self._trace.add("compaction")
        if "kill" in self._kinds and self._random.random() < 0.7:  # workers that read the compacted topics
            await self._restart(self._worker())

    def _read_by_all(self, topic: str) -> int:
        """The offset before which all workers have read a topic. No reader lags by segment.ms or delete.retention.ms,
        which are days: only those that start later miss a record."""
        logs = [w.parts.logs._logs for w in self._workers if w.running and w.parts is not None]  # type: ignore[attr-defined]
        return min((log[topic].position for log in logs if topic in log), default=0)


def heal(world: World, workers: Sequence[SimWorker]) -> None:
    """End every fault."""
    world.network.loss = 0.0
    for source, target in sorted(world.network.cuts):
        world.network.heal(source, target)
    for worker in workers:
        worker.skew = min(max(worker.skew, -20.0), 20.0)  # workers refuse requests if their clocks differ by a minute
        if worker.process is not None:
            worker.process.skew = worker.skew
            worker.process.freeze(False)
            if worker.engine is not None:
                for slot in worker.engine.driver.running.values():
                    slot.process.freeze(False)
        if not worker.running:
            worker.start()
    world.trace.add("all faults have ended")
