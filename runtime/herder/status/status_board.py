"""The states of connectors and tasks: written to the status topic, told to whoever follows the events."""

from __future__ import annotations

import logging
from collections.abc import Callable

from runtime.config.secret_values import Secrets
from runtime.herder.status.error_board import ErrorBoard
from runtime.herder.status.events import EventLog
from runtime.herder.status.meter_board import MeterBoard
from runtime.logs import context
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusRecord, StatusStore

log = logging.getLogger(__name__)

Entry = Callable[[str], "dict[str, object] | None"]
"""Makes the `{"name","status","info"}` of a connector; None when it is gone."""


class StatusBoard:
    """Where states are put up. Event loop only."""

    def __init__(self, statuses: StatusStore, events: EventLog, worker_id: str, secrets: Secrets) -> None:
        self._statuses, self._events, self._worker_id = statuses, events, worker_id
        self._secrets = secrets
        self.errors = ErrorBoard(secrets.scrub)
        self.meters = MeterBoard()
        self.entry: Entry = lambda name: None
        self.generation = 0

    def connector(self, name: str, state: State, version: str | None, trace: str | None = None) -> None:
        """Put up a connector's state."""
        trace = self._scrubbed(trace)
        old = self._statuses.connector_status(name)
        new = self._status(state, version, trace)
        if old != new:
            self._statuses.put_connector(name, new)
            self.meters.connector_state(state, old.state if old else None)
            self._announce(name, state, None, trace)

    def task(self, task: TaskId, state: State, version: str | None, trace: str | None = None) -> None:
        """Put up a task's state."""
        trace = self._scrubbed(trace)
        old = self._statuses.task_statuses(task.connector).get(task.task)
        new = self._status(state, version, trace)
        if old != new:
            self._statuses.put_task(task, new)
            self._announce(task.connector, state, task.task, trace)

    def remove_task(self, task: TaskId) -> None:
        self._remove_task(task)
        self.changed(task.connector)

    def remove_connector(self, name: str) -> None:
        """Remove everything about a connector that has been deleted. Readers of the topic see UNASSIGNED first, as
        with Connect (FACTS 7)."""
        for task in self._statuses.task_statuses(name):
            self._remove_task(TaskId(name, task))
        self._statuses.reset_topics(name)
        last = self._statuses.connector_status(name)
        if last is not None and last.state is not State.UNASSIGNED:
            self._statuses.put_connector(name, self._status(State.UNASSIGNED, last.version, None))
        self._statuses.remove_connector(name)
        self.errors.forget(name)
        self.meters.forget(name)
        self._secrets.forget(name)
        self._events.publish("removed", {"name": name})

    def topic(self, task: TaskId, topic: str) -> None:
        """A task has used a topic for the first time."""
        if topic not in self._statuses.topics(task.connector):
            self._statuses.put_topic(task, topic)

    def changed(self, name: str) -> None:
        """Tell followers how a connector stands now."""
        entry = self.entry(name)
        if entry is not None:
            self._events.publish("connector", entry)

    def notice(self, level: str, message: str, task: TaskId) -> None:
        """A line about a task, for the log and for whoever follows the events."""
        log.log(logging.getLevelNamesMapping()[level], message)
        self._events.notice(level, message, task.connector, task.task)

    def _remove_task(self, task: TaskId) -> None:
        """A FAILED task has already ended, so it does not become UNASSIGNED."""
        last = self._statuses.task_statuses(task.connector).get(task.task)
        if last is not None and last.state not in (State.UNASSIGNED, State.FAILED):
            self._statuses.put_task(task, self._status(State.UNASSIGNED, last.version, None))
        self._statuses.remove_task(task)

    def _announce(self, name: str, state: State, task: int | None, trace: str | None) -> None:
        what = name if task is None else TaskId(name, task)
        extra = {"context": context.name(name, task)}
        if trace is None:
            log.info("%s is %s", what, state, extra=extra)
        else:
            message = f"{what} is {state}: {_why(trace)}"
            log.error("%s", message, extra=extra)
            self._events.notice("ERROR", message, name, task)
        self.changed(name)

    def _scrubbed(self, trace: str | None) -> str | None:
        return None if trace is None else self._secrets.scrub(trace)

    def _status(self, state: State, version: str | None, trace: str | None) -> StatusRecord:
        return StatusRecord(state, trace, self._worker_id, self.generation, version)


def _why(trace: str) -> str:
    """One line: what is at the bottom of it, rather than what it was wrapped in."""
    lines = trace.splitlines() or [""]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return causes[-1] if causes else lines[0]
