"""Three workers in a group, whose processes are killed, frozen and stopped at random: no record is lost, no task ever
has two owners, and everything is RUNNING at the end."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.broker import EmbeddedBroker
from tests.support.lives import PLUGINS, Pipelines
from tests.support.worker_group import SESSION, WorkerGroup
from tests.support.workers import WorkerProcess

WORKERS = 3
SLOTS = "1"


@dataclass(slots=True)
class GroupAccount:
    """The result of a run."""

    connectors: int = 0
    seconds: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    recoveries: dict[str, list[float]] = field(default_factory=dict)  # seconds until everything was RUNNING again
    records: int = 0
    lives: int = 0
    faults: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not (self.faults or self.orphans)

    def table(self) -> str:
        rows = [
            f"| {failure} | {self.failures[failure]} | {sum(times) / len(times):.1f} | {max(times):.1f} |"
            for failure, times in self.recoveries.items()
        ]
        return "\n".join(
            [
                f"{WORKERS} workers, {self.connectors} connectors, {self.failures.total()} failures in "
                f"{self.seconds:.0f} s: {self.records:,} records, {self.lives} starts of tasks, {len(self.faults)} "
                f"records lost or tasks with two owners, {len(self.orphans)} orphans.",
                "",
                "| failure of a worker | times | all RUNNING again after (mean, s) | (longest, s) |",
                "| --- | ---: | ---: | ---: |",
                *rows,
            ]
        )


class Chaos:
    """Chooses a worker and a failure, and repairs it after a while."""

    def __init__(self, group: WorkerGroup, chance: random.Random) -> None:
        self._group, self._chance = group, chance
        self._repairs: list[tuple[float, Callable[[], None]]] = []
        self.failures: dict[str, Callable[[WorkerProcess], None]] = {
            "kill -9": self._kill,
            "SIGTERM": self._stop,
            "SIGSTOP, short": lambda worker: self._freeze(worker, chance.uniform(0.5, SESSION - 2), False),
            "SIGSTOP, longer than the session": lambda worker: self._freeze(
                worker, SESSION + chance.uniform(1, 4), False
            ),
            "SIGSTOP of all its processes": lambda worker: self._freeze(worker, SESSION + chance.uniform(1, 4), True),
        }

    def cause(self, failure: str) -> None:
        """Causes the failure on a random worker; at least one other worker stays."""
        while len(self._group.living) < 2:
            self.repair(wait=True)
        self.failures[failure](self._chance.choice(self._group.living))

    def repair(self, wait: bool = False) -> None:
        """Makes the repairs that are due, or waits for the next one."""
        self._repairs.sort(key=lambda repair: repair[0])
        while self._repairs and (wait or self._repairs[0][0] <= time.monotonic()):
            due, repair = self._repairs.pop(0)
            time.sleep(max(0.0, due - time.monotonic()))
            repair()
            wait = False

    def repair_all(self) -> None:
        while self._repairs:
            self.repair(wait=True)

    def _kill(self, worker: WorkerProcess) -> None:
        self._group.kill(worker)
        self._later(self._chance.uniform(0.0, 6.0), lambda: worker.start(wait=False))

    def _stop(self, worker: WorkerProcess) -> None:
        code = self._group.stop(worker)
        assert code == 0, f"SIGTERM ended a worker with code {code}: {worker.log}"
        self._later(self._chance.uniform(0.0, 4.0), lambda: worker.start(wait=False))

    def _freeze(self, worker: WorkerProcess, seconds: float, whole: bool) -> None:
        self._group.freeze(worker, whole)
        self._later(seconds, lambda: self._group.thaw(worker))

    def _later(self, seconds: float, repair: Callable[[], None]) -> None:
        self._repairs.append((time.monotonic() + seconds, repair))


def group_soak(folder: Path, seconds: float, seed: int, connectors: int = 60) -> GroupAccount:
    """Causes random failures for a time, sometimes before the last one is repaired, and checks the traces."""
    broker = EmbeddedBroker(folder / "broker")
    broker.start()
    try:
        group = WorkerGroup(folder, broker, {"plugin.path": PLUGINS, "headrace.slots": SLOTS})
        account = GroupAccount(connectors)
        try:
            group.start(*(group.ours() for _ in range(WORKERS)))
            pipelines = Pipelines(folder, broker, connectors // 2)
            pipelines.create(group.connect)
            group.wait_running(pipelines.names)
            _fail(group, pipelines, account, seconds, random.Random(seed))
            account.records = pipelines.finish()
            account.faults = pipelines.faults()
            account.faults += [f"{worker.url} ended by itself" for worker in group.workers if not worker.running()]
            account.lives = len(pipelines.lives())
        finally:
            account.orphans = group.close()
    finally:
        broker.stop()
    return account


def _fail(
    group: WorkerGroup, pipelines: Pipelines, account: GroupAccount, seconds: float, chance: random.Random
) -> None:
    chaos = Chaos(group, chance)
    bag: list[str] = []
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        chaos.repair()
        bag = bag or chance.sample(list(chaos.failures), len(chaos.failures))  # each failure gets a turn
        failure, failed = bag.pop(), time.monotonic()
        chaos.cause(failure)
        account.failures[failure] += 1
        print(f"{failed - started:6.1f} {failure}", flush=True)
        if chance.random() < 0.3:  # the next failure hits before this one is repaired
            time.sleep(chance.uniform(0.1, 3.0))
            continue
        chaos.repair_all()
        group.wait_running(pipelines.names, 90)
        took = time.monotonic() - failed
        account.recoveries.setdefault(failure, []).append(took)
        print(f"{time.monotonic() - started:6.1f} all RUNNING {took:.1f} s after {failure}", flush=True)
        time.sleep(chance.uniform(0.5, 2.0))
    account.seconds = time.monotonic() - started
    chaos.repair_all()
    group.wait_running(pipelines.names, 90)
