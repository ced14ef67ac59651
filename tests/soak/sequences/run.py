"""Two workers on one broker, and sequences of consecutive seeds until the time is over."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.contract.parity.recorder import Target, Topic
from tests.soak.sequences.generator import Generator
from tests.soak.sequences.lockstep import Difference, Lockstep
from tests.soak.sequences.operation import Operation
from tests.soak.sequences.plugin import plugin_folder
from tests.soak.sequences.shrinking import shrink
from tests.support.broker import EmbeddedBroker
from tests.support.workers import WorkerProcess, java_worker, our_worker

LENGTHS = range(20, 61)
SHRINKING = 60.0
"""Seconds for each difference."""


def compare(seed: int, seconds: float) -> list[Difference]:
    """The differences without and with exactly-once sources, each for half of the time."""
    found = []
    for exactly_once in (False, True):
        with tempfile.TemporaryDirectory(prefix="headrace-sequences-") as folder:
            found += compare_workers(Path(folder), seconds / 2, seed, SHRINKING, exactly_once)
    return found


def compare_workers(
    folder: Path, seconds: float, seed: int, shrinking: float, exactly_once: bool = False
) -> list[Difference]:
    """The differences, each kind of them once; prints them, and the shortest sequences that show them."""
    until = time.monotonic() + seconds
    kinds: dict[object, Difference] = {}
    sequences = steps = 0
    with running_workers(folder, exactly_once) as lockstep:
        while time.monotonic() < until:
            operations = sequence(seed)
            outcome = lockstep.run(operations)
            sequences, steps = sequences + 1, steps + outcome.steps
            for difference in outcome.differences:
                if difference.signature not in kinds:
                    kinds[difference.signature] = difference
                    print(f"seed {seed}: {difference}", flush=True)
                    _print_shortest(lockstep, operations[: difference.number + 1], difference, shrinking)
            seed += 1
    print(f"{sequences} sequences, {steps} operations: {len(kinds)} kinds of differences", flush=True)
    return list(kinds.values())


def sequence(seed: int) -> list[Operation]:
    return Generator(seed).sequence(random.Random(seed).choice(LENGTHS))


@contextmanager
def running_workers(folder: Path, exactly_once: bool) -> Iterator[Lockstep]:
    """Apache's worker and ours on one broker, whose files are below the folder."""
    broker = EmbeddedBroker(folder / "broker")
    plugins = plugin_folder(folder / "steps")
    both = {"exactly.once.source.support": "enabled" if exactly_once else "disabled"}
    both["offset.flush.interval.ms"] = "200"
    javas = {"plugin.path": f"{folder}/plugins,{plugins}", "plugin.discovery": "service_load"}
    workers = (
        java_worker(folder, broker.bootstrap, {**both, **javas}),
        our_worker(folder, broker.bootstrap, {**both, "plugin.path": str(plugins)}),
    )
    with ExitStack() as stack:
        stack.enter_context(broker.started())
        theirs, ours = (_target(stack.enter_context(worker.started(120)), folder) for worker in workers)
        yield Lockstep(theirs, ours)


def _target(worker: WorkerProcess, folder: Path) -> Target:
    topics: tuple[Topic, ...] = ("config", "offset", "status")
    names = {topic: worker.properties[f"{topic}.storage.topic"] for topic in topics}
    return Target(worker.url, worker.properties["bootstrap.servers"], names, folder, wait=6)


def _print_shortest(
    lockstep: Lockstep, operations: Sequence[Operation], difference: Difference, seconds: float
) -> None:
    def differs(shorter: Sequence[Operation]) -> bool:
        return difference.signature in [found.signature for found in lockstep.run(shorter).differences]

    if seconds > 0:
        confirmed = differs(operations)
        shortest = shrink(operations, differs, seconds) if confirmed else operations
        print("  shortest sequence:" if confirmed else "  not shown again by:", *shortest, sep="\n    ", flush=True)
