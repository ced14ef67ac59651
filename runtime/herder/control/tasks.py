"""The tasks of one connector on the engine: started, paused, replaced, stopped, and handed out again when lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from runtime.api.errors import ConfigError
from runtime.config.worker_config import WorkerConfig
from runtime.engine.port import Engine
from runtime.herder.configs import task_specs
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.configs.task_specs import TaskRequest
from runtime.herder.configs.topic_creation import topic_groups
from runtime.herder.status.status_board import StatusBoard
from runtime.host.port import ConnectorInfo
from runtime.kafka.errors import ClientConfigError
from runtime.kafka.groups import Groups
from runtime.model.states import ConnectorType, State, TaskId
from runtime.model.task_spec import SourceOffset, TaskSpec
from runtime.storage.configs import StoredConnector
from runtime.storage.connector_offsets import ConnectorOffsets
from runtime.storage.statuses import StatusStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskServices:
    """What tasks are run with; one set for the worker."""

    worker: WorkerConfig
    engine: Engine
    offsets: ConnectorOffsets
    statuses: StatusStore
    groups: Groups
    board: StatusBoard
    host: ResolvingHost


@dataclass(slots=True)
class AssignedTask:
    """A task that was handed to the engine. A FAILED one stays here until it is restarted or its config changes."""

    epoch: int
    config: Mapping[str, str]
    connector_config: Mapping[str, str]
    paused: bool
    failed: bool = False


class NoLeaseError(Exception):
    """No task may be started while the worker's place in its group is not confirmed."""


class Tasks:
    """The tasks of one connector. Event loop only; its connector's loop is the only caller of run and stop_all."""

    def __init__(self, name: str, parts: TaskServices) -> None:
        self._name, self._parts = name, parts
        self._running: dict[int, AssignedTask] = {}
        self._stale_members: set[str] = set()
        self._unreported: set[int] = set()  # lost before they could tell their member ids
        self._group_checked = False
        self.version: str | None = None

    async def run(
        self, info: ConnectorInfo, stored: StoredConnector, paused: bool, restart: set[int], as_they_are: bool = False
    ) -> None:
        """Make exactly the stored tasks run; those that run with old configs, and those of `restart`, start anew.
        `as_they_are`: the connector has failed with its new config, so that tasks which run keep the old one."""
        wanted = dict(enumerate(stored.tasks))
        await self._stop({i for i in self._running if i not in wanted})
        self._forget_statuses_except(set(wanted))
        old = {} if as_they_are else {i: c for i, c in wanted.items() if self._is_outdated(i, c, stored)}
        await self._stop({i for i in wanted if i in old or i in restart})
        self._pause(paused)
        missing = [
            TaskRequest(self._name, i, info, stored.config, c) for i, c in wanted.items() if i not in self._running
        ]
        if missing:
            await self._start(missing, paused)

    def may_run(self) -> bool:
        """Whether tasks may be started now."""
        return self._parts.engine.may_run()

    def pause(self) -> None:
        """Pause the tasks that run."""
        self._pause(True)

    def check(self, info: ConnectorInfo, config: Mapping[str, str]) -> None:
        """What is looked at when the connector starts, not when it is created; ConfigError says what is wrong."""
        if info.type == ConnectorType.SOURCE and self._parts.worker.topic_creation:
            topic_groups(config)

    async def stop_all(self) -> None:
        """Stop every task, offsets committed first."""
        await self._stop(set(self._running))

    def forget_statuses(self) -> None:
        """Take down all task entries."""
        self._forget_statuses_except(set())

    def state(self, task: int, epoch: int, state: State, trace: str | None) -> None:
        """A task's report; one of an older assignment is not heard."""
        running = self._running.get(task)
        if running is None or running.epoch != epoch:
            return
        running.failed = state is State.FAILED
        self._parts.board.meters.task_state(TaskId(self._name, task), epoch, state)
        self._parts.board.task(TaskId(self._name, task), state, self.version, trace)

    def lost(self, task: int, epoch: int, member_id: str | None) -> bool:
        """The task's slot or producer died. True if the task has to be handed out again."""
        running = self._running.get(task)
        if running is None or running.epoch != epoch:
            return False
        if member_id:
            self._stale_members.add(member_id)
        else:
            self._unreported.add(task)
        if running.failed:
            return False
        del self._running[task]
        self._parts.board.task(TaskId(self._name, task), State.UNASSIGNED, self.version)
        return True

    def forget_topics(self) -> None:
        """Topics that are in use come back with the next record."""
        self._parts.engine.forget_topics(self._name)

    def unassign(self) -> None:
        """The worker ends: its tasks belong to nobody."""
        for i in self._running:
            self._parts.board.task(TaskId(self._name, i), State.UNASSIGNED, self.version)

    def _pause(self, paused: bool) -> None:
        for i, running in self._running.items():
            if running.paused != paused and not running.failed:
                running.paused = paused
                self._parts.engine.pause_task(TaskId(self._name, i), paused)

    def _is_outdated(self, task: int, config: Mapping[str, str], stored: StoredConnector) -> bool:
        running = self._running.get(task)
        return running is not None and (running.config != config or running.connector_config != stored.config)

    async def _start(self, orders: list[TaskRequest], paused: bool) -> None:
        if not self._parts.engine.may_run():
            raise NoLeaseError
        try:
            resolved = await self._parts.host.learned(self._name, orders[0].connector_config)
            offsets = await self._prepare(replace(orders[0], connector_config=resolved))
        except ConfigError as e:
            for order in orders:
                self._refused(order, paused, e)
            return
        for order in orders:
            try:
                spec = await self._spec(order, resolved, offsets, paused)
            except (ConfigError, ClientConfigError) as e:
                self._refused(order, paused, e)
                continue
            self._running[order.task] = AssignedTask(spec.epoch, order.task_config, order.connector_config, paused)
            if not self._parts.engine.has_slots:
                self._parts.board.task(spec.id, State.UNASSIGNED, self.version)
            self._parts.board.meters.started(spec.id, spec.epoch)
            self._parts.engine.start_task(spec)

    async def _prepare(self, order: TaskRequest) -> list[SourceOffset]:
        """Runs once before the tasks start: evicts dead members of a sink's group, or returns a source's offsets."""
        for warning in task_specs.client_warnings(self._parts.worker, order):
            log.warning("%s: %s", self._name, warning)
        if order.info.type == ConnectorType.SOURCE:
            return await self._offsets()
        await self._evict(order)
        return []

    async def _spec(
        self, order: TaskRequest, config: Mapping[str, str], offsets: list[SourceOffset], paused: bool
    ) -> TaskSpec:
        """The specification for the slot, with variables resolved. ConfigError from a provider, ClientConfigError for
        a value that no client accepts."""
        task = await self._parts.host.learned(self._name, order.task_config, part=str(order.task))
        resolved = replace(order, connector_config=config, task_config=task)
        return task_specs.spec(self._parts.worker, resolved, offsets, paused)

    def _refused(self, order: TaskRequest, paused: bool, why: ConfigError | ClientConfigError) -> None:
        """The task is FAILED until it is restarted or its config changes."""
        self._running[order.task] = AssignedTask(0, order.task_config, order.connector_config, paused, failed=True)
        trace = f"{ConfigError.java_name}: {why}\n"
        self._parts.board.task(TaskId(self._name, order.task), State.FAILED, self.version, trace)

    async def _offsets(self) -> list[SourceOffset]:
        """What has been committed up to now, whoever wrote it."""
        await self._parts.offsets.read_to_end(self._name)
        return self._parts.offsets.offsets(self._name)

    async def _evict(self, order: TaskRequest) -> None:
        """Members that died without leaving would hold their partitions for a session: send them away first."""
        group = task_specs.group_id(self._name, order.connector_config)
        members, self._stale_members = self._stale_members, set()
        unreported, self._unreported = self._unreported, set()
        if not self._group_checked or unreported:
            prefix = f"connector-consumer-{self._name}-"
            lost = {task_specs.client_id("consumer", self._name, task) for task in unreported}
            for member in await self._parts.groups.members(group):
                earlier = not self._group_checked and member.client_id.startswith(prefix)
                if earlier or member.client_id in lost:
                    members.add(member.member_id)
            self._group_checked = True
        if members:
            log.info("%s: evicting %d dead member(s) from group %s", self._name, len(members), group)
            await self._parts.groups.evict(group, members)

    async def _stop(self, tasks: set[int]) -> None:
        graceful = self._parts.worker.graceful
        ended = await asyncio.gather(*(self._parts.engine.stop_task(TaskId(self._name, i), graceful) for i in tasks))
        for i, graceful_end in zip(tasks, ended, strict=True):
            self._running.pop(i, None)
            if not graceful_end:
                if member := self._parts.engine.member_id(TaskId(self._name, i)):
                    self._stale_members.add(member)
                log.warning("%s-%d did not stop within %.1f s and was revoked", self._name, i, graceful)

    def _forget_statuses_except(self, kept: set[int]) -> None:
        for i in [i for i in self._parts.statuses.task_statuses(self._name) if i not in kept]:
            self._parts.board.remove_task(TaskId(self._name, i))
