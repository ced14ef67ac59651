"""The measured load of this worker's tasks, which the leader balances by."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from runtime.herder.status.meter_board import MeterBoard
from runtime.system.repeating import repeat

INTERVAL = 10.0
"""Seconds between two measurements."""

STEP = 0.25
"""Loads are multiples of this fraction of a core, so that small changes move nothing."""

Loads = Mapping[str, Mapping[str, float]]
"""Cores by task number (as text) by connector, without tasks below half a STEP."""


class TaskLoads:
    """Measures from start() to close(). Event loop only, except `now`, which is replaced as a whole.

    The load of a task is the fraction of time that it spends in polls that return records, or in puts."""

    def __init__(self, meters: MeterBoard) -> None:
        self._meters = meters
        self._busy: dict[tuple[str, int], float] = {}  # milliseconds in total
        self._measured_at = time.monotonic()
        self._measuring: asyncio.Task[None] | None = None
        self.now: Loads = {}

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
        elapsed, self._measured_at = time.monotonic() - self._measured_at, time.monotonic()
        before, self._busy = self._busy, {}
        loads: dict[str, dict[str, float]] = {}
        for connector in self._meters.connectors():
            for task, meter in self._meters.by_task(connector).items():
                busy = self._busy[connector, task] = meter.total("batch_ms")
                cores = (busy - before.get((connector, task), busy)) / 1000 / max(elapsed, 0.001)
                if rounded := round(min(cores, 1.0) / STEP) * STEP:
                    loads.setdefault(connector, {})[str(task)] = rounded
        self.now = loads

    async def _measure(self) -> None:
        self.measure()
