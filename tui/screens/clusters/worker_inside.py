"""Metrics of a Headrace worker: slots and tasks, throughput, failures since it started."""

from __future__ import annotations

import time
from collections.abc import Mapping

from textual.content import Content
from textual.widgets import Static

from tui.client.client import Connect
from tui.errors import HeadraceError, Refused
from tui.formatting import counted, megabytes
from tui.metrics.rate_history import RateHistory
from tui.metrics.worker_metrics import WorkerMetrics, worker_metrics
from tui.screens.base import curves

POLL_INTERVAL = 5.0  # seconds
MAX_CURVE = 72  # cells
MAX_PLOT = 8  # lines
MIN_PLOT = 3  # lines: where the page is lower, a curve is a single line
MAX_SLOTS = 40  # listed one by one
Part = str | Content | tuple[str, str]


class WorkerInside(Static):
    """Hidden if the worker has no `GET /metrics`; Apache's worker has none."""

    DEFAULT_CSS = """
    WorkerInside {
        display: none; height: auto; max-height: 60%; padding: 0 1; border-top: solid $border;
        border-title-color: $text-muted;
    }
    """

    def __init__(self, connect: Connect) -> None:
        super().__init__(markup=False)
        self.connect = connect
        self.history = RateHistory()
        self.known: WorkerMetrics | None = None
        self._is_absent = False  # the worker has no metrics: no further requests

    def on_mount(self) -> None:
        self.set_interval(POLL_INTERVAL, self.ask)
        self.ask()

    def on_resize(self) -> None:
        self.draw()

    def ask(self) -> None:
        if not self._is_absent:
            self.run_worker(self._ask(), exclusive=True, exit_on_error=False)

    async def _ask(self) -> None:
        try:
            metrics = worker_metrics(await self.connect.metrics())
        except Refused as error:
            self._is_absent = error.status in (404, 405)
            return
        except HeadraceError:
            return  # the health line above shows the error
        self.known = metrics
        self.history.add(time.time(), metrics.written, metrics.lag, sampled=True)
        self.display = True
        self.draw()

    def draw(self) -> None:
        if self.known is not None:
            self.update(described(self.known, self.history, self._plots(), time.time()))

    def _plots(self) -> curves.Plots:
        """At most half of the page, of which other lines need ten; bars and the group above take up to eight."""
        height = min(MAX_PLOT, ((self.screen.size.height - 8) // 2 - 10) // 2)
        if height >= MIN_PLOT:
            return curves.Plots(max(8, self.size.width - 2), height)
        return curves.Plots(max(8, min(MAX_CURVE, self.size.width - 38)), 1)


def described(known: WorkerMetrics, history: RateHistory, plots: curves.Plots, now: float) -> Content:
    """Lines of a label and its values, and curves: those with a height of 1 are such lines."""
    parts: list[Part] = []

    def line(key: str, *value: Part) -> None:
        parts.extend([(f"{key:<10} ", "$text-muted"), *value, "\n"])

    by_slot = ("  by slot ", "$text-muted")
    waits = counted(known.without_core, "waits", "wait")
    without_core = [(f"{waits} for a core, ", "bold $warning")] if known.without_core else []
    line("slots", f"{len(known.slots)} up, ", *without_core, counted(known.tasks, "task"), by_slot, _each(known.slots))
    if known.memory:
        jvms = f", JVMs of Java plugins {megabytes(sum(known.java_memory.values()))}" if known.java_memory else ""
        sizes = {slot: size // 1_000_000 for slot, size in known.memory.items()}
        line("memory", f"{megabytes(sum(known.memory.values()))}{jvms}", by_slot, _each(sizes))
    if plots.height == 1:
        for key, value in curves.in_lines(history, plots.width, now):
            line(key, value)
    totals = [f"{counted(int(known.written), 'record')} written", f"{counted(known.restarts, 'task')} restarted"]
    failed = [(f", {counted(known.failed, 'record')} failed", "$error")] if known.failed else []
    line("total", ", ".join(totals), *failed)
    if known.stalled:
        line(
            "STALLED",
            (f"{counted(known.stalled, 'task')} RUNNING without progress while records wait", "bold $error"),
        )
    if plots.height > 1:
        parts += ["\n", curves.of_course(history, plots, now)]
    return Content.assemble(*parts).rstrip()


def _each(by_slot: Mapping[int, int]) -> str:
    """For example `0: 12  1: 11`."""
    named = sorted(by_slot.items())[:MAX_SLOTS]
    more = f"  and {len(by_slot) - MAX_SLOTS} more" if len(by_slot) > MAX_SLOTS else ""
    return "  ".join(f"{slot}: {value}" for slot, value in named) + more
