"""The assignor and the group protocol with many workers and tasks, simulated: time, balance, moves, bytes.

python -m tests.bench.group_scale [--tasks 100000] [--workers 500] [--dry]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runtime.herder.group.assignor import Decision, GroupWorker, Situation, Unit, assign
from runtime.kafka.group.protocol import CONNECTOR, Assignment, Details, WorkerMetadata, encode_metadata
from tests.bench import report

TASKS_OF_A_CONNECTOR = 10
MAX_GENERATIONS = 6
_SLOTS = 2


@dataclass(frozen=True, slots=True)
class Settled:
    """A change of the group until its assignment is stable. Seconds are of the leader's processor, per generation at
    most; `spread` is the load of the most and the least loaded worker, in shares."""

    what: str
    generations: int
    seconds: float
    moved: int
    needed: int
    spread: tuple[float, float]
    orphans: int

    def row(self) -> str:
        low, high = self.spread
        moved = f"{self.moved:,} | {self.needed:,}"
        return f"| {self.what} | {self.generations} | {self.seconds:.2f} | {moved} | {low:.2f} to {high:.2f} |"


@dataclass(slots=True)
class SimulatedGroup:
    """Workers that follow the assignor's decisions at once."""

    tasks: int
    workers: dict[str, GroupWorker] = field(default_factory=dict)
    running: dict[str, set[Unit]] = field(default_factory=dict)
    weights: dict[Unit, float] = field(default_factory=dict)
    departed: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number in range(self.tasks):
            connector, task = divmod(number, TASKS_OF_A_CONNECTOR)
            name = f"orders-to-warehouse-{connector:05d}"
            self.weights.setdefault(Unit(name, CONNECTOR), 0.1)
            self.weights[Unit(name, task)] = 1.0 if number % 50 else 5.0  # a few busy ones

    def join(self, names: Iterable[str]) -> None:
        for name in names:
            self.workers[name] = GroupWorker(f"member-{name}", name, _SLOTS)
            self.running[f"member-{name}"] = set()

    def leave(self, names: Iterable[str]) -> int:
        """The number of units that the workers ran."""
        lost = 0
        for name in names:
            lost += len(self.running.pop(self.workers.pop(name).member_id))
            self.departed[name] = 0.0
        return lost

    def settle(self, what: str, needed: int = 0) -> Settled:
        """Generations until nothing moves any more."""
        moved, longest, generations = 0, 0.0, 0
        while generations < MAX_GENERATIONS:
            started = time.process_time()
            decision = self._decide()
            longest = max(longest, time.process_time() - started)
            generations += 1
            if not any(decision.assigned.values()) and not any(decision.revoked.values()):
                break
            moved += sum(map(len, decision.assigned.values()))
            self._follow(decision)
        return Settled(what, generations, longest, moved, needed, self.spread(), self._orphans())

    def spread(self) -> tuple[float, float]:
        """The smallest and the largest load, relative to an equal share."""
        loads = [sum(map(self.weights.__getitem__, units)) for units in self.running.values()]
        share = sum(loads) / len(loads)
        return min(loads) / share, max(loads) / share

    def sizes(self) -> tuple[int, int]:
        """Bytes of the metadata of all members when they join, and of the largest."""
        found = [len(encode_metadata(self._metadata(units))) for units in self.running.values()]
        return sum(found), max(found)

    def _decide(self) -> Decision:
        members = list(self.workers.values())
        return assign(Situation(members, self.weights, self.running, {}, self.departed, now=1.0, delay=0.0))

    def _follow(self, decision: Decision) -> None:
        for name, units in decision.revoked.items():
            self.running[name] -= set(units)
        for name, units in decision.assigned.items():
            self.running[name] |= set(units)

    def _orphans(self) -> int:
        """Units that no worker runs, or that two run."""
        held = [unit for units in self.running.values() for unit in units]
        return len(self.weights.keys() - set(held)) + len(held) - len(set(held))

    def _metadata(self, units: Iterable[Unit]) -> WorkerMetadata:
        work: dict[str, tuple[int, ...]] = {}
        for unit in sorted(units):
            work[unit.connector] = (*work.get(unit.connector, ()), unit.task)
        held = Assignment("member-worker-0", "http://worker-0.example.com:8083/", 1, work)
        return WorkerMetadata("http://worker-000.example.com:8083/", 1, held, Details("0.1.0", _SLOTS))


def simulate(tasks: int, workers: int) -> tuple[list[Settled], SimulatedGroup]:
    """The group starts; a worker joins and leaves; a tenth joins and leaves."""
    group = SimulatedGroup(tasks)
    names = [f"worker-{number}" for number in range(workers)]
    tenth = [f"new-{number}" for number in range(max(workers // 10, 1))]
    units = len(group.weights)
    group.join(names)
    found = [group.settle("all workers start", units)]
    group.join(["late"])
    found.append(group.settle("one worker joins", units // (workers + 1)))
    found.append(group.settle("one worker leaves", group.leave(["late"])))
    group.join(tenth)
    found.append(group.settle("a tenth more workers join", units * len(tenth) // (workers + len(tenth))))
    found.append(group.settle("these workers leave", group.leave(tenth)))
    return found, group


def table(found: list[Settled]) -> str:
    head = (
        "| change | generations | processor of the leader, s per generation | units moved | needed | load, in shares |"
    )
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: | --- |", *(one.row() for one in found)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=500)
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/ as it is")
    given = parser.parse_args()
    found, group = simulate(given.tasks, given.workers)
    total, largest = group.sizes()
    sizes = f"Metadata of all members: {total / 1e6:.1f} MB, {largest / 1e3:.1f} kB at most for one member."
    text = f"{table(found)}\n\n{sizes}"
    print(text)
    if not given.dry:
        when = f"{datetime.now(UTC):%Y-%m-%d}, load average {report.busy()}"
        head = f"{given.tasks:,} tasks of {given.tasks // TASKS_OF_A_CONNECTOR:,} connectors on {given.workers} workers"
        report.section(
            "Assignments of a large group", f"`python -m tests.bench.group_scale`, {when}: {head}.\n\n{text}"
        )


if __name__ == "__main__":
    main()
