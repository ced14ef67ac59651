"""The measured load of this worker's tasks, which the leader balances by."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping

from runtime.herder.status.meter_board import MeterBoard
from runtime.system.repeating import repeat

INTERVAL = 10.0
"""Seconds between two measurements."""

LASTING = 3
"""Measurements in a row of which the least counts for the balance. The start of a task loads its classes and fills its
caches: tasks that had just moved to a worker would otherwise move on at the next rebalance, and the group stay
unbalanced when they are idle again."""

STEP = 0.25
"""Loads are multiples of this fraction of a core, so that small changes move nothing."""

Loads = Mapping[str, Mapping[str, float]]
"""Cores by task number (as text) by connector, without tasks below half a STEP."""


class TaskLoads:
    """Measures from start() to close(). Event loop only, except `now` and `lasting`, which are replaced as a whole.

    The load of a task is the fraction of time that it spends in polls that return records, or in puts."""

    def __init__(self, meters: MeterBoard, clock: Callable[[], float] = time.monotonic) -> None:
        self._meters, self._clock = meters, clock
        self._busy: dict[tuple[str, int], float] = {}  # milliseconds in total
        self._measured_at = clock()
        self._measuring: asyncio.Task[None] | None = None
        self._last: deque[Loads] = deque(maxlen=LASTING)
        self.now: Loads = {}
        """Those of the last INTERVAL."""
        self.lasting: Loads = {}
        """The least of the last LASTING measurements."""

    def start(self) -> None:
        """Start to measure."""
        self._measuring = asyncio.create_task(
            repeat(self._measure, INTERVAL, "measure the load of tasks"), name="task loads"
        )

    def close(self) -> None:
        """Stop measuring."""
        if self._measuring is not None:
            self._measuring.cancel()

    @property
    def total(self) -> float:
        """Cores in use by all tasks."""
        return sum(cores for tasks in self.now.values() for cores in tasks.values())

    def measure(self) -> None:
        """Replace the loads by those since the last call."""
        now = self._clock()
        elapsed, self._measured_at = now - self._measured_at, now
        before, self._busy = self._busy, {}
        loads: dict[str, dict[str, float]] = {}
        for connector in self._meters.connectors():
            for task, meter in self._meters.by_task(connector).items():
                busy = self._busy[connector, task] = meter.total("batch_ms")
                cores = (busy - before.get((connector, task), busy)) / 1000 / max(elapsed, 0.001)
                if rounded := round(min(cores, 1.0) / STEP) * STEP:
                    loads.setdefault(connector, {})[str(task)] = rounded
        self.now = loads
        self._last.append(loads)
        self.lasting = _least(self._last) if len(self._last) == LASTING else {}

    async def _measure(self) -> None:
        self.measure()


def _least(measured: Collection[Loads]) -> Loads:
    """The smallest load of each task that has one in all measurements."""
    first, *others = measured
    return {
        connector: least
        for connector, tasks in first.items()
        if (
            least := {
                task: min(cores, *(other[connector][task] for other in others))
                for task, cores in tasks.items()
                if all(task in other.get(connector, {}) for other in others)
            }
        )
    }
