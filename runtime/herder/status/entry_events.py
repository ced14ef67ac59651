"""The events about connectors: the view of a connector after each change, of one with many tasks less often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from runtime.herder.responses import EntryResponse
from runtime.herder.status.events import EventLog

FEW_TASKS = 100
"""A connector with at most this many tasks has an event for each change."""

SECONDS_PER_TASK = 50e-6
"""Otherwise the least time between two events, for each task of the connector. A view has all tasks, so that a start of
10,000 tasks, with an event for the state of each, would take the event loop minutes and gigabytes."""

Entry = Callable[[str], EntryResponse | None]
"""Returns the `{"name", "status", "info"}` of a connector; None if the connector does not exist."""


class EntryEvents:
    """Publishes the views of connectors. Event loop only."""

    def __init__(self, events: EventLog, entry: Entry) -> None:
        self._events, self._entry = events, entry
        self._next: dict[str, float] = {}  # of connectors with many tasks: the time of the loop for the next event
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    def publish(self, name: str) -> None:
        """Publish the connector's view, now or soon."""
        if name in self._waiting:
            return
        due = self._next.get(name)
        if due is not None and (loop := asyncio.get_running_loop()).time() < due:
            self._waiting[name] = loop.call_at(due, self._publish, name)
        else:
            self._publish(name)

    def forget(self, name: str) -> None:
        """The connector has been deleted."""
        self._next.pop(name, None)
        if (waiting := self._waiting.pop(name, None)) is not None:
            waiting.cancel()

    def _publish(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._next.pop(name, None)
        entry = self._entry(name)
        if entry is None:
            return
        tasks = max(len(entry["status"]["tasks"]), len(entry["info"]["tasks"]))
        if tasks <= FEW_TASKS:
            self._events.publish("connector", entry)
        else:
            self._events.publish_latest("connector", entry)
            self._next[name] = asyncio.get_running_loop().time() + tasks * SECONDS_PER_TASK
