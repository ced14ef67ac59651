"""Counters and gauges of all tasks, as reported by the tasks; kept until this worker ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.model.states import State, TaskId

FALLBACKS = ("predicate", "transformation", "converter")
TOTALS = (
    "read", "written", "batches", "batch_ms", "throttled_ms", "commits", "commit_failures", "transactions",
    "transaction_records", *(f"fallbacks_{plugin}" for plugin in FALLBACKS),
)  # fmt: skip


PluginMetric = tuple[str, Mapping[str, str], float, str]
"""Name, labels, value and description of a metric that a plugin has registered."""


@dataclass(slots=True)
class TaskMeter:
    """All runs of a task on this worker: a restart keeps the totals, so they only rise."""

    epoch: int = -1
    now: Mapping[str, Any] = field(default_factory=dict)  # Meter.snapshot() of the newest run
    before: Counter[str] = field(default_factory=Counter)  # the totals of earlier runs

    def report(self, epoch: int, meter: Mapping[str, Any]) -> None:
        """Store a report; reports of runs that have been replaced are ignored."""
        if epoch < self.epoch:
            return
        if epoch > self.epoch and self.now:
            self.before.update({name: self.now[name] for name in TOTALS})
        self.epoch, self.now = epoch, meter

    def total(self, name: str) -> float:
        """The total with this name, one of TOTALS, over all runs."""
        return float(self.before[name] + self.now.get(name, 0))

    def value(self, name: str) -> float | None:
        """Any other value of the newest run's latest report; None if the run has not reported it."""
        value = self.now.get(name)
        return None if value is None else float(value)

    @property
    def plugins(self) -> Sequence[PluginMetric]:
        """The metrics of plugins in the newest run."""
        return [(name, labels, value, text) for name, labels, value, text in self.now.get("plugins", ())]

    @property
    def waiting(self) -> int:
        """Records that wait for the task: a sink's lag, or records read but not yet acknowledged."""
        return int(self.now.get("lag") or 0) or int(self.now.get("active") or 0)


class MeterBoard:
    """Meters by connector and task. Event loop only."""

    def __init__(self) -> None:
        self._tasks: dict[str, dict[int, TaskMeter]] = {}
        self.changed: set[str] = set()  # connectors with reports that have not been published yet
        self.connector_metrics: dict[str, Sequence[PluginMetric]] = {}  # that connectors have registered themselves
        self.startups: Counter[tuple[str, bool]] = Counter()  # by kind (connector, task) and success
        self.restarts: Counter[TaskId] = Counter()  # starts of a task after its first one
        self._runs: dict[str, dict[int, tuple[int, bool]]] = {}
        """By connector and task: the newest run's epoch, and whether it has started or failed."""

    def report(self, task: TaskId, epoch: int, meter: Mapping[str, Any]) -> None:
        """Store what a run of a task has counted so far."""
        self._tasks.setdefault(task.connector, {}).setdefault(task.task, TaskMeter()).report(epoch, meter)
        self.changed.add(task.connector)

    def started(self, task: TaskId, epoch: int) -> None:
        """A run of a task was assigned to the engine."""
        runs = self._runs.setdefault(task.connector, {})
        self.restarts[task] += task.task in runs
        runs[task.task] = epoch, False

    def task_state(self, task: TaskId, epoch: int, state: State) -> None:
        """A run of a task reports its state; the first report counts as a successful or failed start."""
        runs = self._runs.get(task.connector, {})
        if runs.get(task.task) == (epoch, False) and state in (State.RUNNING, State.PAUSED, State.FAILED):
            self.startups["task", state is not State.FAILED] += 1
            runs[task.task] = epoch, True

    def connector_state(self, state: State, before: State | None) -> None:
        """A connector's state has changed; RUNNING and FAILED count as a successful or failed start."""
        if state in (State.RUNNING, State.FAILED) and before is not state:
            self.startups["connector", state is State.RUNNING] += 1

    def forget(self, connector: str) -> None:
        """The connector has been deleted."""
        self._tasks.pop(connector, None)
        self.connector_metrics.pop(connector, None)
        for task in self._runs.pop(connector, ()):
            self.restarts.pop(TaskId(connector, task), None)

    def by_task(self, connector: str) -> Mapping[int, TaskMeter]:
        """Meters by task number, without tasks that have not reported."""
        return self._tasks.get(connector, {})

    def connectors(self) -> list[str]:
        """Connectors whose tasks have reported."""
        return list(self._tasks)
