"""The states of connectors and tasks: written to the status topic, the worker's log and its events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from runtime.config.secret_values import Secrets
from runtime.herder.status.entry_events import Entry, EntryEvents
from runtime.herder.status.error_board import ErrorBoard
from runtime.herder.status.events import EventLog
from runtime.herder.status.meter_board import MeterBoard
from runtime.kafka.group.protocol import CONNECTOR
from runtime.logs import context
from runtime.logs.formats import MAX_RAW_TRACE, cut_trace
from runtime.model.states import State, TaskId
from runtime.storage.statuses import StatusRecord, StatusStore

log = logging.getLogger(__name__)

StateListener = Callable[[str, int, State, "str | None", bool], None]
"""Called with a connector's name, its unit (a task, or protocol.CONNECTOR), the state that this worker reports, the
trace, and whether another start may succeed."""


class StatusBoard:
    """Publishes states. Event loop only."""

    def __init__(self, statuses: StatusStore, events: EventLog, worker_id: str, secrets: Secrets, entry: Entry) -> None:
        self._statuses, self._events, self._worker_id = statuses, events, worker_id
        self._secrets, self._entries = secrets, EntryEvents(events, entry)
        self.errors = ErrorBoard(secrets.scrub_of)
        self.meters = MeterBoard()
        self._own: dict[str, dict[int, StatusRecord]] = {}  # this worker's last reports, by connector and unit
        self._generation = 0
        self._listener: StateListener = lambda name, unit, state, trace, restartable: None

    def subscribe(self, listener: StateListener) -> None:
        """Call this function with each state that this worker reports, even if it has not changed."""
        self._listener = listener

    def joined(self, generation: int) -> None:
        """The worker has joined its group: statuses carry this generation from now on."""
        self._generation = generation

    def connector(
        self, name: str, state: State, version: str | None, trace: str | None = None, restartable: bool = False
    ) -> None:
        """Publish a connector's state. `restartable`: the connector is FAILED, and another start may succeed."""
        trace = self._scrubbed(name, trace)
        old = self._statuses.connector_status(name)
        new = self._status(state, version, trace)
        self._own.setdefault(name, {})[CONNECTOR] = new
        if _differ(old, new):
            self._statuses.put_connector(name, new)
            self.meters.connector_state(state, old.state if old else None)
            self._announce(name, state, None, trace)
        self._listener(name, CONNECTOR, state, trace, restartable)

    def task(
        self, task: TaskId, state: State, version: str | None, trace: str | None = None, restartable: bool = False
    ) -> None:
        """Publish a task's state; `restartable` as for connector()."""
        trace = self._scrubbed(task.connector, trace)
        old = self._statuses.task_status(task)
        new = self._status(state, version, trace)
        self._own.setdefault(task.connector, {})[task.task] = new
        if _differ(old, new):
            self._statuses.put_task(task, new)
            self._announce(task.connector, state, task.task, trace)
        self._listener(task.connector, task.task, state, trace, restartable)

    def report_again(self, name: str, owns: Callable[[int], bool]) -> None:
        """Repeat this worker's reports about a connector and its tasks that another worker has replaced or removed. A
        worker that was frozen or cut off from Kafka may hand over, report, or remove what it takes for the remains of
        a deleted connector only after its successor has reported. `owns` tells whether this worker owns a task, or the
        connector itself (protocol.CONNECTOR)."""
        tasks = self._statuses.task_statuses(name)
        for unit, own in self._own.get(name, {}).items():
            last = self._statuses.connector_status(name) if unit == CONNECTOR else tasks.get(unit)
            if own.state is not State.UNASSIGNED and self._is_outdated(last) and owns(unit):
                if unit == CONNECTOR:
                    self.connector(name, own.state, own.version, own.trace)
                else:
                    self.task(TaskId(name, unit), own.state, own.version, own.trace)

    def _is_outdated(self, last: StatusRecord | None) -> bool:
        """Whether the status of a unit that this worker owns and reports in another state than UNASSIGNED is that of an
        earlier owner, was removed by one, or is that of a leader that took this worker for ended."""
        if last is None or last.state is State.UNASSIGNED:
            return True
        return last.worker_id != self._worker_id and last.generation < self._generation

    def lost(self, name: str, task: int | None, last: StatusRecord) -> None:
        """Report UNASSIGNED for a connector or task whose worker has ended. The status still names that worker, which
        may return."""
        status = replace(last, state=State.UNASSIGNED, generation=self._generation)
        if task is None:
            self._statuses.put_connector(name, status)
        else:
            self._statuses.put_task(TaskId(name, task), status)
        self._announce(name, State.UNASSIGNED, task, None)

    def reports(self, name: str) -> bool:
        """Whether the connector's status is of this worker."""
        last = self._statuses.connector_status(name)
        return last is not None and last.worker_id == self._worker_id

    def runs(self, task: TaskId) -> bool:
        """Whether the task is RUNNING on this worker. The meter of a task that has moved to another worker keeps the
        last report of its run here."""
        last = self._statuses.task_status(task)
        return last is not None and last.state is State.RUNNING and last.worker_id == self._worker_id

    def remove_task(self, task: TaskId) -> None:
        """Remove the status of a task that no longer exists."""
        self._own.get(task.connector, {}).pop(task.task, None)
        self._remove_task(task)
        self.publish_entry(task.connector)

    def remove_connector(self, name: str) -> None:
        """Remove all statuses and topics of a deleted connector. UNASSIGNED is written first, as in Connect
        (FACTS.md, 7)."""
        for task in self._statuses.task_statuses(name):
            self._remove_task(TaskId(name, task))
        self._statuses.remove_topics(name)
        last = self._statuses.connector_status(name)
        if last is not None and last.state is not State.UNASSIGNED:
            self._statuses.put_connector(name, self._status(State.UNASSIGNED, last.version, None))
        self._statuses.remove_connector(name)
        self._forget(name)

    def changed_elsewhere(self, name: str, removed: bool) -> None:
        """Another worker has written statuses of this connector, or has removed it: followers of any worker receive the
        events of all."""
        if removed:
            self._forget(name)
        else:
            self.publish_entry(name)

    def _forget(self, name: str) -> None:
        self._own.pop(name, None)
        self.errors.forget(name)
        self.meters.forget(name)
        self._entries.forget(name)
        self._events.publish("removed", {"name": name})

    def forget_secrets(self, name: str) -> None:
        """The connector has been deleted and nothing of it runs on this worker any more: no text quotes its secrets.
        Another worker may have removed its statuses earlier."""
        self._secrets.forget(name)

    def topic(self, task: TaskId, topic: str) -> None:
        """Record that a task has used a topic."""
        if topic not in self._statuses.topics(task.connector):
            self._statuses.put_topic(task, topic)

    def publish_entry(self, name: str) -> None:
        """Send the connector's current view to followers of the events."""
        self._entries.publish(name)

    def share_text(self, text: str) -> None:
        """A process that connectors share has printed this text, which the traces of each may quote."""
        self._secrets.share(text)

    def notice(self, level: str, message: str, task: TaskId) -> None:
        """Log a message about a task, and send it to followers of the events."""
        log.log(logging.getLevelNamesMapping()[level], message)
        self._events.notice(level, message, task.connector, task.task)

    def _remove_task(self, task: TaskId) -> None:
        """Report UNASSIGNED, except for a FAILED task, which has already ended; then remove the status."""
        last = self._statuses.task_status(task)
        if last is not None and last.state not in (State.UNASSIGNED, State.FAILED):
            self._statuses.put_task(task, self._status(State.UNASSIGNED, last.version, None))
        self._statuses.remove_task(task)

    def _announce(self, name: str, state: State, task: int | None, trace: str | None) -> None:
        subject = name if task is None else TaskId(name, task)
        extra = {"context": context.name(name, task)}
        if trace is None:
            log.info("%s is %s", subject, state, extra=extra)
        else:
            message = f"{subject} is {state}: {reason_of(trace)}"
            level = logging.WARNING if state is State.UNASSIGNED else logging.ERROR
            log.log(level, "%s", message, extra=extra)
            self._events.notice("WARN" if level == logging.WARNING else "ERROR", message, name, task)
        self.publish_entry(name)

    def _scrubbed(self, connector: str, trace: str | None) -> str | None:
        if trace is None:
            return None
        return cut_trace(self._secrets.scrub_of(connector, cut_trace(trace, MAX_RAW_TRACE)))

    def _status(self, state: State, version: str | None, trace: str | None) -> StatusRecord:
        return StatusRecord(state, trace, self._worker_id, self._generation, version)


def _differ(old: StatusRecord | None, new: StatusRecord) -> bool:
    """Whether a status is news. A rebalance alone is not, so that it does not write the statuses of all connectors."""
    return old is None or replace(old, generation=new.generation) != new


def reason_of(trace: str) -> str:
    """The innermost cause of a trace, in one line."""
    lines = trace.splitlines() or [""]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return causes[-1] if causes else lines[0]
