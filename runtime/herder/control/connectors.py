"""The connectors that this worker runs: a control loop for each, and the reports of plugin host and engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from runtime.engine.port import StartRefused, TaskStack
from runtime.herder.control.connector_loop import SETTLE_TIMEOUT, ConnectorLoop
from runtime.herder.control.hosted_connector import PutTasks
from runtime.herder.control.owned_units import OwnedUnits
from runtime.herder.control.start_control import StartControl
from runtime.herder.control.tasks import Tasks, TaskServices
from runtime.herder.errors import NOT_HERE, Conflict
from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.formats import canonical
from runtime.kafka.group.protocol import CONNECTOR
from runtime.logs.limited import log_line
from runtime.model.states import State, TaskId
from runtime.model.task_spec import SourceOffset
from runtime.storage.configs import ConfigStore, StoredConnector
from runtime.storage.statuses import StatusStore

log = logging.getLogger(__name__)

YIELD_EVERY = 20
"""Number of connectors after which other work of the event loop may run."""

STACK_TIMEOUT = 5.0
"""Seconds that a slot has to report a task's stack."""


class Connectors:
    """Runs a control loop for each connector of which this worker owns anything; a HostListener and an EngineListener.
    Event loop only.

    Host and engine need their listener when they are constructed, so this class receives them later, with start().
    """

    def __init__(
        self, configs: ConfigStore, statuses: StatusStore, board: StatusBoard, group: OwnedUnits,
        restarts: AutoRestarts, starts: StartControl | None = None, put_tasks: PutTasks | None = None,
    ) -> None:  # fmt: skip
        """`put_tasks`: stores task configs through the leader; without it this worker stores them itself."""
        self._configs, self._statuses, self._board, self._group = configs, statuses, board, group
        self._put_tasks, self._restarts = put_tasks or self._store_tasks, restarts
        self._services: TaskServices | None = None
        self._loops: dict[str, ConnectorLoop] = {}
        self._closed = False
        self._starts = starts or StartControl()

    async def _store_tasks(self, stored: StoredConnector, configs: Sequence[Mapping[str, str]]) -> None:
        await self._configs.put_tasks(stored.name, configs)

    def start(self, services: TaskServices) -> None:
        """Apply changes of the config topic from now on; earlier changes wait for take_over(). Followers of the events
        receive new configurations also if no state changes with them."""
        self._services = services
        self._configs.subscribe(configs=self._board.publish_entry)
        self.slots_changed()

    async def take_over(self) -> None:
        """Start a loop for each connector of which this worker owns anything. Tasks that an earlier process of this
        worker ran are reported as UNASSIGNED first."""
        await self._starts.crashes.begin()
        self._restarts.start(self._restart_failed, self._group.owns)
        for number, name in enumerate(self._group.owned()):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            if name not in self._loops:  # the connector may have changed meanwhile
                self._unassign_tasks(name)
                self.config_changed(name)

    def _unassign_tasks(self, name: str) -> None:
        """The process that ran these tasks no longer exists."""
        for task, status in self._statuses.task_statuses(name).items():
            if self._group.owns(name, task):
                self._board.task(TaskId(name, task), State.UNASSIGNED, status.version)

    def ownership_changed(self) -> None:
        """Connectors and tasks that this worker owns have changed."""
        for name in {*self._group.owned(), *self._loops}:
            self.config_changed(name)

    async def remove_task_configs(self) -> None:
        """Remove the task configs of connectors that are no longer stored. KafkaProblem if the config topic cannot be
        written, Conflict if this worker does not lead any more."""
        await self._configs.remove_remains()

    def remove_statuses(self) -> None:
        """Remove the statuses of connectors that are no longer stored and do not run here, and of removed tasks whose
        connectors Apache's workers own."""
        for name in self._deleted():
            if name not in self._loops:
                self._board.remove_connector(name)
        for task in self._removed_tasks():
            self._board.remove_task(task)

    def has_remains(self) -> bool:
        """Whether there are statuses for remove_statuses()."""
        return bool(self._deleted() or self._removed_tasks())

    def is_stored(self, name: str) -> bool:
        """Whether the connector exists."""
        return self._configs.connector(name) is not None

    def _deleted(self) -> list[str]:
        return [name for name in self._statuses.connectors() if not self.is_stored(name)]

    def _removed_tasks(self) -> list[TaskId]:
        stored = filter(None, map(self._configs.connector, self._group.owned_by_apache()))
        return [
            TaskId(connector.name, task)
            for connector in stored
            for task, status in self._statuses.task_statuses(connector.name).items()
            if task >= len(connector.tasks) and not self._group.runs_elsewhere(status.worker_id, connector.name, task)
        ]

    def config_changed(self, name: str) -> None:
        """The config topic has new records of this connector, or this worker's part in it has changed."""
        if self._services is None or self._closed:
            return
        self._restarts.changed(name)
        loop = self._loops.get(name)
        if loop is None or loop.gone:
            if self._configs.connector(name) is None or not self._group.owns_any(name):
                self._release_all(name)
                if self._configs.connector(name) is None:
                    self._deleted_elsewhere(name)
                return
            tasks = Tasks(name, self._services, self._group, partial(self._is_current, name))
            host = self._services.host
            loop = ConnectorLoop(
                name, self._configs, host, self._board, tasks, self._starts, self._group, self._put_tasks, self._forget
            )
            self._loops[name] = loop
        loop.wake()

    def _deleted_elsewhere(self, name: str) -> None:
        """Nothing of the deleted connector runs here."""
        self.forget_secrets(name)
        if self._board.reports(name):
            self._board.remove_connector(name)  # deleted between two owners, of which this was the first

    def _is_current(self, name: str, generation: int) -> bool:
        stored = self._configs.connector(name)
        return stored is not None and stored.generation == generation

    def _release_all(self, name: str) -> None:
        """Units that were taken away before they started here."""
        if units := self._group.units(name):
            self._group.stopped(name, units)

    def _forget(self, loop: ConnectorLoop) -> None:
        """The connector has been deleted or runs on other workers, and its tasks have ended here."""
        if self._loops.get(loop.name) is loop:
            del self._loops[loop.name]
            self._starts.forget(loop.name)
            self.forget_secrets(loop.name)

    def forget_secrets(self, name: str) -> None:
        """Nothing uses the connector's configuration any more, unless it is stored or something of it runs here."""
        if not self.is_stored(name) and name not in self._loops:
            self._board.forget_secrets(name)

    def check_owned(self, name: str, task: int = CONNECTOR) -> None:
        """Raises Conflict if another worker owns this unit, or none."""
        if not self._group.owns(name, task):
            raise Conflict(NOT_HERE)

    def restart(self, name: str, connector: bool, tasks: set[int]) -> None:
        """Restart the connector instance, these tasks, or both."""
        loop = self._loops.get(name)
        if loop is not None:
            self._restarts.requested(name, _units(connector, tasks))
            loop.restart(connector, tasks)

    def reload(self, name: str) -> None:
        """Restart the connector instance, if it runs here, since its configuration has other values now."""
        loop = self._loops.get(name)
        if loop is not None and self._group.owns(name, CONNECTOR):
            loop.restart(True, set())

    def renew_tasks(self, name: str | None = None) -> None:
        """Restart the tasks that run here, of one connector or of all, since their Kafka clients need other
        certificates. Tasks that have failed remain so."""
        for loop in self._loops.values():
            if name in (None, loop.name) and (tasks := loop.tasks.not_failed):
                loop.restart(False, tasks)

    def _restart_failed(self, name: str, unit: int) -> bool:
        """Carry out an automatic restart. False if this worker no longer runs the unit."""
        loop = self._loops.get(name)
        if loop is None or not self._group.owns(name, unit):
            return False
        connector, tasks = unit == CONNECTOR, {unit} - {CONNECTOR}
        loop.show_restarting(connector, tasks)
        loop.restart(connector, tasks)
        return True

    async def has_failed(self, name: str, within: float) -> bool:
        """Whether the connector has failed; waits at most `within` seconds for requested restarts."""
        loop = self._loops.get(name)
        return loop is not None and await loop.has_failed(within)

    def is_starting(self, name: str) -> bool:
        """Whether the connector's start() has not returned."""
        loop = self._loops.get(name)
        return loop is not None and loop.starting

    async def stack(self, task: TaskId) -> TaskStack | None:
        """The stack of a task's thread; None if the task is not running. SlotSilentError if the slot does not
        answer."""
        return None if self._services is None else await self._services.engine.stack(task, STACK_TIMEOUT)

    def revisions(self) -> dict[str, str]:
        """The revision of the plugins' code of each connector of which this worker runs anything."""
        return {name: loop.revision for name, loop in self._loops.items() if loop.revision is not None}

    def mark_and_restart(self, name: str, connector: bool, tasks: set[int]) -> None:
        """As restart(), for what this worker owns, and report RESTARTING until the restart is complete."""
        loop = self._loops.get(name)
        connector = connector and self._group.owns(name)
        tasks = {task for task in tasks if self._group.owns(name, task)}
        if loop is not None and (connector or tasks):
            self._restarts.requested(name, _units(connector, tasks))
            loop.show_restarting(connector, tasks)
            loop.restart(connector, tasks)

    def report_again(self, name: str) -> None:
        """Another worker has reported or removed states of this connector, maybe of units that this worker runs, or of
        tasks that do not exist any more."""
        stored = self._configs.connector(name)
        units = () if stored is None else range(CONNECTOR, len(stored.tasks))
        self._board.report_again(name, lambda unit: unit in units and self._group.owns(name, unit))
        self._remove_ghosts(name)

    def runs_in_another_group(self, name: str) -> str:
        """The worker outside this group that reports a connector of this worker as RUNNING; empty without one."""
        status = self._statuses.connector_status(name)
        if status is None or status.state is not State.RUNNING or not self._group.owns(name):
            return ""
        return status.worker_id if self._group.is_outside(status.worker_id, status.generation) else ""

    def remove_ghosts(self) -> None:
        """Remove the statuses of tasks that do not exist any more. Until the members of the group are read, an earlier
        owner still seems to run such a task, and to remove its status itself."""
        for name in self._loops:
            self._remove_ghosts(name)

    def _remove_ghosts(self, name: str) -> None:
        loop, stored = self._loops.get(name), self._configs.connector(name)
        if loop is not None and stored is not None and self._group.owns(name) and loop.tasks.has_ghosts(stored):
            loop.wake()

    def topics_reset(self, name: str, at: int) -> None:
        """The connector's topics were reset at this time (milliseconds since 1970): its tasks report those that they
        have used since."""
        self._with(name, lambda loop: loop.tasks.reset_topics(at))

    async def settled(self, name: str, within: float = SETTLE_TIMEOUT) -> bool:
        """Whether the connector has reached its target state; waits at most `within` seconds."""
        loop = self._loops.get(name)
        return loop is None or await loop.settled(within)

    async def close(self) -> None:
        """Stop all loops and report their connectors and tasks as UNASSIGNED. Nothing starts after that, although the
        group may assign units to this worker until it has left."""
        self._closed = True
        self._restarts.close()
        loops, self._loops = list(self._loops.values()), {}
        closing = []
        for number, loop in enumerate(loops):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            closing.append(asyncio.create_task(loop.close()))
        await asyncio.gather(*closing)
        for number, loop in enumerate(loops):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            loop.unassign()
        await self._starts.crashes.close()

    # HostListener

    def reconfigure(self, connector: str) -> None:
        self._with(connector, lambda loop: loop.reconfigure())

    def connector_failed(self, connector: str, trace: str) -> None:
        self._with(connector, lambda loop: loop.failed(trace))

    def connector_metrics(self, connector: str, metrics: Sequence[Sequence[Any]]) -> None:
        if self.is_stored(connector):
            self._board.meters.connector_metrics[connector] = [
                (name, labels, value, text) for name, labels, value, text in metrics
            ]

    async def connector_offsets(self, connector: str, partitions: Sequence[str]) -> Sequence[Mapping[str, Any] | None]:
        assert self._services is not None
        store = self._services.offsets
        await store.read_to_end(connector)
        offsets = {canonical(known.partition): known.offset for known in store.offsets(connector)}
        return [offsets.get(partition) for partition in partitions]

    def connectors_lost(self, connectors: Sequence[str], reason: str) -> None:
        for name in connectors:
            self._with(name, lambda loop: loop.host_lost())

    # EngineListener

    def task_state(self, task: TaskId, epoch: int, state: State, trace: str | None) -> None:
        self._with(task.connector, lambda loop: loop.tasks.state(task.task, epoch, state, trace))

    def task_topic(self, task: TaskId, epoch: int, topic: str) -> None:
        stored, loop = self._configs.connector(task.connector), self._loops.get(task.connector)
        if stored is not None and loop is not None and loop.tasks.are_of(stored):
            self._board.topic(task, topic)

    def task_errors(self, task: TaskId, epoch: int, counts: Mapping[str, Any]) -> None:
        if self._configs.connector(task.connector) is not None:
            self._board.errors.report(task, epoch, counts)

    def task_meter(self, task: TaskId, epoch: int, meter: Mapping[str, Any]) -> None:
        if self._configs.connector(task.connector) is not None:
            self._board.meters.report(task, epoch, meter)

    async def task_offsets(self, task: TaskId, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        assert self._services is not None
        await self._services.offsets.commit(task.connector, records)

    async def read_offsets(self, task: TaskId, partitions: Sequence[str]) -> Sequence[Mapping[str, Any] | None]:
        return await self.connector_offsets(task.connector, partitions)

    async def confirm_start(self, task: TaskId, epoch: int) -> Sequence[SourceOffset]:
        loop = self._loops.get(task.connector)
        if loop is None:
            raise StartRefused(f"connector {task.connector} does not run on this worker any more")
        return await loop.tasks.confirm_start(task.task, epoch)

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        log.warning("Task %s was lost (%s); it will be assigned to another slot", task, reason)
        loop = self._loops.get(task.connector)
        if loop is not None and loop.tasks.lost(task.task, epoch, member_id):
            loop.wake()

    def task_stuck(self, task: TaskId, epoch: int, call: str, seconds: float) -> None:
        if call:
            self._board.notice("WARN", f"{task} is STUCK: {call} has not returned for {seconds:.0f} s", task)
        else:
            self._board.notice("INFO", f"{task} is no longer stuck", task)

    def java_ended(self, reason: str) -> None:
        self._board.share_text(reason)

    def lease_changed(self, held: bool) -> None:
        """Wake connectors whose tasks waited for the lease."""
        if held:
            waited = sum(loop.lease_regained() for loop in self._loops.values())
            if waited:
                log.info("Group membership is confirmed again; starting the tasks of %d waiting connectors", waited)
        elif self._loops:
            log.warning("Group membership is not confirmed; no tasks are started until it is")

    def slots_changed(self) -> None:
        """The engine assigns waiting tasks to slots itself; the leader of the group may assign more to this worker."""
        if self._services is not None and self._services.engine.has_slots:
            self._group.slots_up()

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """Add a line from a slot to the worker's own log."""
        log_line(level, logger, message, context)

    def _with(self, connector: str, act: Callable[[ConnectorLoop], None]) -> None:
        loop = self._loops.get(connector)
        if loop is not None:
            act(loop)


def _units(connector: bool, tasks: set[int]) -> set[int]:
    return tasks | {CONNECTOR} if connector else tasks
