"""Failed records of all connectors, as reported by their tasks; kept until this worker ends."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.logs.formats import MAX_RAW_LINE, ScrubOf, cut
from runtime.model.states import TaskId

Counted = dict[str, int]
TOTALS = ("failed", "skipped", "retries", "failed_tries", "logged", "dead_letters", "dead_letter_failures")
BY_STAGE = ("failed", "skipped", "retries", "dead_letters")
MAX_SHOWN = 20
"""How many failed records of a connector are shown, newest first."""

MAX_TEXT = 1_000
"""The most characters of each text about a failed record that are shown."""

_TEXTS = ("message", "cause", "source_partition", "source_offset")  # may quote secrets, or have any length


@dataclass(slots=True)
class _Run:
    """The latest report of one run of a task."""

    total: Mapping[str, int]
    stages: Mapping[str, Mapping[str, int]]
    last: list[dict[str, Any]]


@dataclass(slots=True)
class TaskErrors:
    """All runs of a task on this worker: a restart keeps the counts, so they only rise."""

    runs: dict[int, _Run] = field(default_factory=dict)  # by epoch; the oldest ended runs are merged

    @property
    def total(self) -> Counted:
        """The sums of TOTALS over all runs."""
        return _sum(TOTALS, [run.total for run in self.runs.values()])

    @property
    def stages(self) -> dict[str, Counted]:
        """The sums of BY_STAGE over all runs, by stage."""
        names = dict.fromkeys(stage for run in self.runs.values() for stage in run.stages)
        return {name: _sum(BY_STAGE, [run.stages.get(name, {}) for run in self.runs.values()]) for name in names}

    @property
    def last(self) -> list[dict[str, Any]]:
        """The newest failed records, newest first."""
        return _newest(error for run in self.runs.values() for error in run.last)

    def report(self, epoch: int, run: _Run) -> None:
        self.runs[epoch] = run
        if len(self.runs) > _RUNS:
            oldest = sorted(self.runs)[:2]
            both = TaskErrors({e: self.runs.pop(e) for e in oldest})
            self.runs[oldest[1]] = _Run(both.total, both.stages, both.last[::-1])


_RUNS = 4  # an old run may still report after the next run has started


class ErrorBoard:
    """Failed records by connector and task. Event loop only."""

    def __init__(self, scrub: ScrubOf, clock: Callable[[], float] = time.time) -> None:
        """`scrub` removes secrets from texts about a connector."""
        self._scrub = scrub
        self._tasks: dict[str, dict[int, TaskErrors]] = {}
        self.since = int(clock() * 1000)

    def report(self, task: TaskId, epoch: int, counts: Mapping[str, Any]) -> None:
        """Store what a run of a task has counted so far."""
        last = [
            {"time": e["time"], "task": task.task, **e, **self._texts(task.connector, e)}
            for e in counts["last"][-MAX_SHOWN:]
        ]
        known = self._tasks.setdefault(task.connector, {}).setdefault(task.task, TaskErrors())
        known.report(epoch, _Run(counts["total"], counts["stages"], last))

    def _texts(self, connector: str, error: Mapping[str, Any]) -> dict[str, str]:
        raw = {name: cut(error[name], MAX_RAW_LINE) for name in _TEXTS if isinstance(error.get(name), str)}
        return {name: cut(self._scrub(connector, text), MAX_TEXT) for name, text in raw.items()}

    def forget(self, connector: str) -> None:
        """The connector has been deleted."""
        self._tasks.pop(connector, None)

    def by_task(self, connector: str) -> Mapping[int, TaskErrors]:
        """Errors by task number, without tasks that have reported no failed records."""
        return self._tasks.get(connector, {})

    def view(self, connector: str) -> dict[str, Any]:
        """GET /connectors/{name}/errors."""
        tasks = self.by_task(connector)
        names = dict.fromkeys(stage for task in tasks.values() for stage in task.stages)
        return {
            "name": connector,
            "since": self.since,
            "total": _sum(TOTALS, [task.total for task in tasks.values()]),
            "stages": {n: _sum(BY_STAGE, [task.stages.get(n, {}) for task in tasks.values()]) for n in names},
            "tasks": [{"id": i, "total": tasks[i].total, "stages": tasks[i].stages} for i in sorted(tasks)],
            "last": _newest(error for task in tasks.values() for error in reversed(task.last)),
        }


def merged(views: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The views of a connector's errors by several workers, as one."""
    by_task: dict[int, list[dict[str, Any]]] = {}
    for task in (task for view in views for task in view["tasks"]):
        by_task.setdefault(task["id"], []).append(task)
    return {
        "name": views[0]["name"],
        "since": min(view["since"] for view in views),
        "total": _sum(TOTALS, [view["total"] for view in views]),
        "stages": _merged_stages(views),
        "tasks": [
            {"id": i, "total": _sum(TOTALS, [t["total"] for t in by_task[i]]), "stages": _merged_stages(by_task[i])}
            for i in sorted(by_task)
        ],
        "last": _newest(error for view in views for error in reversed(view["last"])),
    }


def _merged_stages(counted: Sequence[dict[str, Any]]) -> dict[str, Counted]:
    names = dict.fromkeys(stage for errors in counted for stage in errors["stages"])
    return {name: _sum(BY_STAGE, [errors["stages"].get(name, {}) for errors in counted]) for name in names}


def _newest(errors: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Failed records, newest first; within a millisecond, the last reported first."""
    latest_first = [*errors][::-1]
    return sorted(latest_first, key=lambda error: -error["time"])[:MAX_SHOWN]


def _sum(names: tuple[str, ...], counted: list[Mapping[str, int]]) -> Counted:
    total: Counter[str] = Counter()
    for counts in counted:
        total.update(counts)
    return {name: total[name] for name in names}
