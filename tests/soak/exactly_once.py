"""Two workers, and a source whose file grows while slots, engines, workers and the broker are killed, frozen and
replaced: with exactly-once support each line arrives once and in order, without it no line is lost.

python -m tests.soak.exactly_once [--seconds 60] [--rate 4000] [--kills 16] [--boundary interval] [--seed N]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import orjson
from confluent_kafka import KafkaException

from runtime.embedded.processes.process import ProcessRef
from tests.soak.feeder import Feeder
from tests.support.broker import EmbeddedBroker, unique
from tests.support.committed import committed
from tests.support.connect import SOURCE, STRINGS
from tests.support.processes import children, command_line, is_slot
from tests.support.topic_ends import TopicEnds
from tests.support.waiting import wait_until
from tests.support.worker_group import WorkerGroup
from tests.support.workers import WorkerProcess

VICTIMS = ("slot", "engine", "worker", "broker")
FROZEN = ("frozen worker", "frozen slot")
"""Stopped with SIGSTOP until another process continues their work: they wake up with an open transaction."""

CHANGES = ("ended worker", "new config")
"""A worker that hands over and ends, and another configuration, whose task is fenced off from the one before."""

RECOVERY = 90.0
"""Seconds within which records must be written again after a kill."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Kills end when the time is over, each victim has been killed, and there were `kills` kills, `inside` of them of
    slots with an open transaction."""

    seconds: float = 60.0
    rate: int = 4_000  # lines a second
    kills: int = 16
    inside: int = 3
    exactly_once: bool = True
    boundary: str = "interval"  # transaction.boundary
    victims: Sequence[str] = (*VICTIMS, *FROZEN, *CHANGES)


@dataclass(slots=True)
class Account:
    """The result of a run. Lines are compared with what a consumer with read_committed sees."""

    plan: Plan
    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)  # with an open transaction, before and after the kill
    recoveries: dict[str, list[float]] = field(default_factory=dict)  # seconds until records were written again
    lines: int = 0
    missing: int = 0
    doubled: int = 0
    steps_back: list[int] = field(default_factory=list)  # by how many lines the source started again, each time
    aborted: int = 0  # records of aborted transactions
    faults: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        lossless = not (self.missing or self.faults or self.orphans)
        return lossless and (not self.doubled or not self.plan.exactly_once)

    def summary(self) -> str:
        kills = ", ".join(f"{count} x {victim}" for victim, count in sorted(self.kills.items()))
        inside = ", ".join(f"{count} x {victim}" for victim, count in sorted(self.inside.items())) or "none"
        times = [took for of_victim in self.recoveries.values() for took in of_victim]
        again = ", ".join(f"{victim} {sum(took) / len(took):.1f} s" for victim, took in sorted(self.recoveries.items()))
        return (
            f"{'exactly' if self.plan.exactly_once else 'at least'} once: {self.lines:,} lines in {self.seconds:.0f} s "
            f"({self.lines / max(self.seconds, 1):,.0f}/s), {self.kills.total()} kills ({kills}), inside an open "
            f"transaction: {inside}; {self.missing:,} missing, {self.doubled:,} delivered more than once (at most "
            f"{max(self.steps_back, default=0):,} after one kill), {self.aborted:,} records in aborted "
            f"transactions; more records after {again} (means), {max(times, default=0.0):.1f} s (longest); "
            f"{len(self.faults)} faults, {len(self.orphans)} orphans."
        )


TRANSACTIONS = {"exactly.once.support": "required", "transaction.boundary.interval.ms": "700"}
"""With the boundary `interval`, a transaction is open nearly always while the file grows."""


class Rig:
    """A broker, two workers, and a source of a file that is being written."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.exactly_once = plan.exactly_once
        self.broker = EmbeddedBroker(folder / "broker")
        self.broker.start()
        level = "enabled" if plan.exactly_once else "disabled"
        overrides = {"headrace.slots": "1", "exactly.once.source.support": level}
        self.group = WorkerGroup(folder, self.broker, overrides)
        self.name, self.file = unique("lines"), folder / "lines.txt"
        self.topic = self.broker.create_topic(unique("lines"))
        self.ends = TopicEnds(self.broker.bootstrap, self.topic)
        self.feeder = Feeder([self.file], plan.rate)
        self._config = {
            "connector.class": SOURCE, "file": str(self.file), "topic": self.topic, "tasks.max": "1", **STRINGS,
            **({**TRANSACTIONS, "transaction.boundary": plan.boundary} if plan.exactly_once else {}),
        }  # fmt: skip

    def start(self) -> None:
        self.file.touch()
        self.group.start(self.group.ours(), self.group.ours())
        self.group.connect.create(self.name, self._config)
        self.group.wait_running([self.name])
        self.feeder.start()

    def end_of(self, read: Callable[[], int]) -> int:
        """An end of the topic, as soon as the broker answers."""

        def answer() -> int | None:
            try:
                return read() + 1
            except KafkaException:
                return None

        return (wait_until(answer, 60, "the ends of the topic") or 0) - 1

    def has_open_transaction(self) -> bool:
        try:
            return self.ends.is_open()
        except KafkaException:
            return False

    def wait_beyond(self, end: int) -> None:
        """Waits until records after this offset are committed."""
        wait_until(lambda: self.end_of(self.ends.committed) > end, RECOVERY, f"records after offset {end}", every=0.1)

    def await_open_transaction(self) -> None:
        """Waits a moment for an open transaction; without exactly-once support there is none."""
        deadline = time.monotonic() + 5
        while self.exactly_once and not self.has_open_transaction() and time.monotonic() < deadline:
            time.sleep(0.02)

    # Kills

    def kill(self, victim: str, chance: random.Random) -> Callable[[], None]:
        """Kills or freezes a process of the worker that runs the task by its status, or the broker. Workers and the
        broker are started again, as by a supervisor. Returns a function that wakes up frozen processes."""
        match victim:
            case "broker":
                self.broker.kill()
                self.broker.start()
            case "worker":
                worker = self._owner(chance)
                self.group.kill(worker)
                worker.start(wait=False)
            case "slot":
                os.kill(self._process(chance, is_slot), signal.SIGKILL)
            case "engine":
                os.kill(self._process(chance, _is_engine), signal.SIGKILL)
            case "frozen worker":
                worker = self._owner(chance)
                self.group.freeze(worker, whole=True)
                return lambda: self.group.thaw(worker)
            case "frozen slot":
                slot = ProcessRef.of(self._process(chance, is_slot))
                slot.signal(signal.SIGSTOP)
                return lambda: slot.signal(signal.SIGCONT)
            case "ended worker":
                worker = self._owner(chance)
                self.group.stop(worker)
                worker.start(wait=False)
            case "new config":
                config = {**self._config, "batch.size": str(chance.randrange(500, 5_000))}
                self.group.connect.ask("PUT", f"/connectors/{self.name}/config", config)
        return lambda: None

    def _owner(self, chance: random.Random) -> WorkerProcess:
        try:
            return self.group.worker_of(self.name)
        except (StopIteration, KeyError):
            return chance.choice(self.group.living)

    def _process(self, chance: random.Random, wanted: Callable[[int], bool]) -> int:
        def find() -> int | None:
            return next((pid for pid in children(self._owner(chance).pid) if wanted(pid)), None)

        return wait_until(find, 60, "the process to kill") or 0

    # The end

    def finish(self) -> None:
        """Stops writing to the file, waits until the source has committed its end, and stops the source."""
        self.feeder.stop()
        size = self.file.stat().st_size
        wait_until(lambda: self._position() == size, 120, f"the source has read {size} bytes", every=0.5)
        self.group.wait_running([self.name])
        self.group.connect.stop(self.name)

    def _position(self) -> int | None:
        found = self.group.connect.offsets(self.name)
        return found[0]["offset"]["position"] if found else None

    def committed_positions(self) -> list[int]:
        """The positions that the source has committed, in order."""
        topic = self.group.properties["offset.storage.topic"]
        found = [(orjson.loads(message.key()), message.value()) for message in committed(self.broker, topic)]
        return [orjson.loads(value)["position"] for (name, _), value in found if name == self.name and value]

    def close(self) -> list[str]:
        try:
            return self.group.close()
        finally:
            self.broker.stop()


def _is_engine(pid: int) -> bool:
    """Whether this is the process of Spark's driver, which all slots of a worker depend on."""
    return "runtime.engine.driver.driver" in command_line(pid)


def exactly_once_soak(folder: Path, seed: int, plan: Plan) -> Account:
    """Runs the source during random kills, and compares the topic with the file."""
    folder.mkdir(parents=True, exist_ok=True)
    rig, account = Rig(folder, plan), Account(plan)
    try:
        rig.start()
        try:
            _kill_all(rig, account, random.Random(seed))
        finally:
            rig.feeder.stop()
        rig.finish()
        _compare(rig, account)
    finally:
        account.orphans = rig.close()
    return account


def _kill_all(rig: Rig, account: Account, chance: random.Random) -> None:
    plan, started, bag = account.plan, time.monotonic(), list[str]()
    while not _is_done(account, time.monotonic() - started):
        due = started + account.kills.total() * plan.seconds / plan.kills
        time.sleep(max(0.0, due - time.monotonic()) + chance.uniform(0.0, 0.7))
        bag = bag or chance.sample(plan.victims, len(plan.victims))  # each victim gets a turn
        victim = bag.pop()
        if "slot" in victim:  # not one that is just starting
            rig.group.wait_running([rig.name], RECOVERY)
            rig.await_open_transaction()
        print(f"{time.monotonic() - started:6.1f} {victim}", end="", flush=True)
        killed = time.monotonic()
        before = rig.has_open_transaction()
        wake = rig.kill(victim, chance)
        inside = before and victim != "broker" and rig.has_open_transaction()
        account.kills[victim] += 1
        account.inside[victim] += inside
        written = rig.end_of(rig.ends.written)  # the marker of an aborted transaction is one more
        rig.wait_beyond(written + 1)
        wake()
        took = time.monotonic() - killed
        account.recoveries.setdefault(victim, []).append(took)
        print(f"{', inside a transaction' if inside else ''}: more records after {took:.1f} s", flush=True)
    account.seconds = time.monotonic() - started


def _is_done(account: Account, elapsed: float) -> bool:
    plan = account.plan
    enough = account.kills.total() >= plan.kills and len(account.kills) == len(plan.victims)
    return elapsed >= plan.seconds and enough and (not plan.exactly_once or account.inside["slot"] >= plan.inside)


def _compare(rig: Rig, account: Account) -> None:
    """Compares the lines of the file with the records, and these with the committed positions."""
    account.lines = rig.feeder.written
    lines = [int(message.value()[:9]) for message in committed(rig.broker, rig.topic)]
    every = committed(rig.broker, rig.topic, "read_uncommitted")
    account.aborted = len(every) - len(lines)
    found = Counter(lines)
    account.missing = account.lines - len(found)
    account.doubled = len(lines) - len(found)
    account.steps_back = [before + 1 - line for before, line in pairwise(lines) if line <= before]
    positions, size = rig.committed_positions(), rig.file.stat().st_size
    if positions[-1:] != [size]:
        account.faults.append(f"the committed position is {positions[-1:]}, but the file has {size} bytes")
    if account.plan.exactly_once:
        if lines != sorted(lines):
            account.faults.append("the lines are not in order")
        if positions != sorted(set(positions)):
            account.faults.append("a committed position was committed again, or an earlier one after it")
        if any(position * account.lines % size for position in positions):
            account.faults.append("a committed position is not the end of a line")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=4_000, help="lines a second")
    parser.add_argument("--kills", type=int, default=16)
    parser.add_argument("--boundary", default="interval", choices=("interval", "poll"), help="of transactions")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    accounts = []
    for exactly_once in (True, False):
        plan = Plan(given.seconds, given.rate, given.kills, exactly_once=exactly_once, boundary=given.boundary)
        with tempfile.TemporaryDirectory(prefix="headrace-once-") as folder:
            accounts.append(exactly_once_soak(Path(folder), given.seed, plan))
        print(accounts[-1].summary(), *accounts[-1].faults, *accounts[-1].orphans, sep="\n", flush=True)
    return 0 if all(account.sound for account in accounts) else 1


if __name__ == "__main__":
    sys.exit(main())
