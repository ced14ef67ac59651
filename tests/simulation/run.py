"""One run of the simulation: a cluster, requests and faults by a seed, then the end without faults."""

from __future__ import annotations

import asyncio
import itertools
import logging
import traceback
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from runtime.herder.configs import task_specs
from tests.simulation import interposed
from tests.simulation.checks import Checks
from tests.simulation.choices import Choices
from tests.simulation.clients import Client
from tests.simulation.coordinator import Coordinator
from tests.simulation.ending import Ending
from tests.simulation.faults import KINDS, Faults
from tests.simulation.groups import ConsumerGroups
from tests.simulation.http import Web
from tests.simulation.kafka import Kafka
from tests.simulation.loop import PROCESS, SimLoop, Spinning
from tests.simulation.model import Models
from tests.simulation.network import Network
from tests.simulation.operator import Operator
from tests.simulation.slot import SlotWorld
from tests.simulation.tasks import run_task
from tests.simulation.trace import Trace
from tests.simulation.worker import SimWorker, World

MAX_CALLBACKS_IN_A_SECOND = 10_000
"""Of virtual time; runs without faults of the program reach 3,000."""


class Cluster:
    """The world of one seed, with its workers."""

    def __init__(self, loop: SimLoop, seed: int, settings: Settings, exactly_once: bool) -> None:
        self.loop, self._seed, self._settings = loop, seed, settings
        self.trace = Trace(loop.time, settings.show)
        self.models = Models()
        network = Network(loop, self.trace.counts)
        kafka = Kafka(loop, self.trace)
        groups = ConsumerGroups(kafka)
        self.checks = Checks(self.trace, self.models, exactly_once)
        kafka.on_committed.append(self.checks.committed)
        slots = SlotWorld(kafka, groups, network, self.trace, self.checks, run_task)
        self.world = World(
            loop, self.trace, network, kafka, Coordinator(loop, self.trace), Web(loop, network), groups, slots,
            Choices(seed, settings.only), _properties(seed), exactly_once, mixed=seed % 4 == 1,
        )  # fmt: skip
        count = settings.workers or (5 if seed % 11 == 5 else 4 if seed % 5 == 2 else 3)
        self.trace.counts[f"run with {count} workers"] += 1
        self.workers = [SimWorker(f"w{number}", self.world) for number in range(count)]

    def run(self) -> Result:
        settings = self._settings
        for worker in self.workers:
            worker.start()
        self.loop.world.spawn(self._watch(), "watch")
        life = self.loop.world.spawn(self._life(settings), "run")
        life.add_done_callback(lambda _: self.loop.stop())
        self.trace.on_many_violations = self.loop.stop
        try:
            self.loop.run(settings.seconds + 400.0)
        except Spinning as e:
            self.trace.violated(f"spins: {e}")
        if life.done():
            life.result()  # an error of the simulator itself
        elif not self.trace.violations:
            self.trace.violated("the run does not end")
        for error in self.loop.errors:
            self.trace.violated(f"unhandled error: {error}")
        digest = self.trace.digest(self.loop.steps, self.loop.random.random())
        names = self.world.choices.names
        return Result(self._seed, self.trace.violations, self.trace.lines, digest, names, self.trace.counts)

    async def _watch(self) -> None:
        """No loop spins, not even with pauses."""
        while True:
            before = self.loop.steps
            await asyncio.sleep(1.0)
            if (count := self.loop.steps - before) > MAX_CALLBACKS_IN_A_SECOND:
                self.trace.violated(f"spins: {count} callbacks in a second")

    async def _life(self, settings: Settings) -> None:
        world = self.world
        kinds = {"a": "Source", "b": "Source", "k": "Sink"}
        clients = [Client(self.models[name], kind, world, self.workers) for name, kind in kinds.items()]
        operator = Operator(world, self.workers)
        await asyncio.sleep(2.0)
        faults = Faults(world, self.workers, settings.kinds, 1.2 + world.choices.random("faults").random() * 3)
        work = [client.work(settings.seconds) for client in clients]
        await asyncio.gather(faults.work(settings.seconds), operator.work(settings.seconds), *work)
        await Ending(world, self.workers, clients, operator, self.checks).work()


@dataclass(frozen=True)
class Settings:
    """What may differ between runs besides the seed."""

    workers: int = 0  # 0: three to five, by the seed
    kinds: Sequence[str] = KINDS
    show: bool = False
    seconds: float = 18.0
    only: Collection[str] | None = None
    """The requests and faults that are carried out (choices.py); None: all."""


@dataclass(frozen=True)
class Result:
    seed: int
    violations: Sequence[str]
    lines: Sequence[str]
    digest: str
    choices: Sequence[str]
    """The names of all requests and faults (choices.py)."""
    counts: Counter[str]
    """How often each kind of coverage.py occurred."""


class _Unexpected(logging.Handler):
    """An error that is logged with its stack was not expected by the program."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.WARNING)
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        host = PROCESS.get().name if PROCESS.get(None) else "?"
        if record.exc_info and record.exc_info[0] is not None:
            what = "".join(traceback.format_exception(*record.exc_info)[-3:])
            self._trace.violated(f"{host} logs an unexpected error: {record.getMessage()}\n{what}")
        else:
            self._trace.add(f"{host} logs {record.levelname}: {record.getMessage()}")


def _properties(seed: int) -> dict[str, str]:
    """Session keys are renewed in some runs."""
    return {"inter.worker.key.ttl.ms": "8000"} if seed % 5 == 3 else {}


def run(seed: int, settings: Settings = Settings()) -> Result:
    """One run."""
    loop, exactly_once = SimLoop(seed), seed % 3 != 0
    interposed.use(loop)
    task_specs._epochs = itertools.count(1)  # of the process, which several runs share
    cluster = Cluster(loop, seed, settings, exactly_once)
    handler, root = _Unexpected(cluster.trace), logging.getLogger()
    root.handlers, before = [handler], root.handlers
    try:
        return cluster.run()
    finally:
        root.handlers = before
        interposed.use(None)
