"""The faults of a run, which follow from its seed alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

FAULTS = (
    "slot killed", "task host killed", "driver killed", "Spark's JVM killed", "plugin host killed",
    "worker killed", "leader killed", "worker ended", "worker drained",
    "worker frozen", "worker frozen with its children", "slot frozen", "frozen start",
    "broker killed", "controller killed", "broker frozen", "brokers restarted",
    "load",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `choice` (0 to 1) selects among the processes that exist then."""

    kind: str
    after: float  # seconds after the fault before it
    choice: float
    lasts: float  # seconds until a process is continued or started again

    def __str__(self) -> str:
        return f"+{self.after:4.1f} s {self.kind} (choice {self.choice:.2f}, {self.lasts:.1f} s)"


def rounds(seed: int, faults: tuple[str, ...] = FAULTS, pause: float = 4.0) -> Iterator[list[Fault]]:
    """Rounds of faults without end; between two rounds everything has to recover. Each fault gets a turn, and at most
    one in a round. `pause`: mean seconds between two faults."""
    chance, bag = random.Random(seed), list[str]()
    while True:
        found = []
        for _ in range(chance.randint(4, min(9, len(faults)))):
            bag = bag or chance.sample(faults, len(faults))
            found.append(
                Fault(bag.pop(), min(chance.expovariate(1 / pause), 3 * pause), chance.random(), chance.uniform(1, 8))
            )
        yield found
