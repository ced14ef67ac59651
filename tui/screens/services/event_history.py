"""Events of each connector since the console was opened: changes of state, tasks and config, and notices."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tui.causes import cause_line
from tui.cluster.snapshot import Diff, Notice, Snapshot
from tui.config.changes import changes
from tui.formatting import one_line
from tui.model import Connector, Task

MAX_EVENTS = 200  # of each connector
MAX_TOTAL = 5_000  # of all connectors; beyond that, half as many of each are kept
BAD, WARN, GOOD, PLAIN = "bad", "warn", "good", ""
_KINDS = {"FAILED": BAD, "UNASSIGNED": WARN, "RUNNING": GOOD}
_LEVELS = {"ERROR": BAD, "FATAL": BAD, "WARN": WARN, "WARNING": WARN}


class Event(NamedTuple):
    """One line of the history. `at` is in seconds since the epoch; `about` is `connector` or a task."""

    at: float
    subject: str
    text: str
    kind: str = PLAIN


class EventHistory:
    """Listens to a cluster store; the newest events are last."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._before = Snapshot()
        self._events: dict[str, deque[Event]] = {}
        self._limit, self._count = MAX_EVENTS, 0

    def of(self, name: str) -> tuple[Event, ...]:
        return tuple(self._events.get(name, ()))

    def add_changes(self, snapshot: Snapshot, diff: Diff) -> None:
        before, self._before = self._before, snapshot
        first = before.link.heard_at is None
        for name in diff.added:
            if not first:
                self._add(name, Event(self._clock(), "connector", "appeared", PLAIN))
        for name in diff.changed:
            for event in self._differences(before.connectors[name], snapshot.connectors[name]):
                self._add(name, event)
        for name in diff.removed:
            self._add(name, Event(self._clock(), "connector", "deleted", WARN))

    def noticed(self, notice: Notice) -> None:
        subject = "connector" if notice.task is None else f"task {notice.task}"
        kind = _LEVELS.get(notice.level.upper(), PLAIN)
        self._add(notice.connector, Event(self._clock(), subject, one_line(notice.message), kind))

    def _add(self, name: str, event: Event) -> None:
        events = self._events.setdefault(name, deque())
        events.append(event)
        if len(events) > self._limit:
            events.popleft()
        else:
            self._count += 1
        if self._count > MAX_TOTAL and self._limit > 1:
            self._limit //= 2
            self._events = {known: deque(list(events)[-self._limit :]) for known, events in self._events.items()}
            self._count = sum(map(len, self._events.values()))

    def _differences(self, old: Connector, new: Connector) -> Iterator[Event]:
        now = self._clock()
        if old.state != new.state:
            yield Event(now, "connector", f"{old.state} → {new.state}", _KINDS.get(new.state, PLAIN))
        if old.worker != new.worker:
            yield Event(now, "connector", f"moved from {old.worker or 'nowhere'} to {new.worker or 'nowhere'}")
        if differences := changes(old.config, new.config):
            keys = ", ".join(f"{change.sign}{change.key}" for change in differences)
            yield Event(now, "connector", f"config changed: {keys}")
        tasks = {task.id: task for task in old.tasks}
        for task in new.tasks:
            yield from self._task(now, tasks.pop(task.id, None), task)
        for gone in tasks.values():
            yield Event(now, f"task {gone.id}", f"{gone.state} → removed")

    def _task(self, now: float, old: Task | None, new: Task) -> Iterator[Event]:
        if old is None or old.state != new.state:
            why = f": {cause_line(new.trace)}" if new.trace else ""
            was = f"{old.state} → " if old else "appeared, "
            yield Event(now, f"task {new.id}", f"{was}{new.state}{why}", _KINDS.get(new.state, PLAIN))
        elif old.worker != new.worker:
            yield Event(now, f"task {new.id}", f"moved from {old.worker or 'nowhere'} to {new.worker or 'nowhere'}")
