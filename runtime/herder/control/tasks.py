"""The tasks of one connector on the engine: started, paused, replaced, stopped, and assigned again when lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from runtime.api.errors import ConfigError, ConnectError
from runtime.config.providers import Providers
from runtime.config.rate_limits import PREFIX, rate_limit_of
from runtime.config.worker_config import WorkerConfig
from runtime.engine.port import Engine, StartRefused
from runtime.herder.configs import task_specs
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.configs.sink_clusters import SinkClusters
from runtime.herder.configs.task_specs import TaskRequest
from runtime.herder.configs.topic_creation import topic_groups
from runtime.herder.control.owned_units import OwnedUnits
from runtime.herder.control.tasks_max import TooManyTasks, check_tasks_max
from runtime.herder.status.status_board import StatusBoard
from runtime.host.port import ConnectorInfo
from runtime.kafka.errors import ClientConfigError, GroupError, KafkaProblem
from runtime.kafka.groups import Groups
from runtime.kafka.request_batcher import RequestBatcher
from runtime.model.rate_limit import UNLIMITED, RateLimit
from runtime.model.states import ACTIVE, ConnectorType, State, TaskId
from runtime.model.task_spec import SourceOffset, TaskSpec
from runtime.storage.configs import StoredConnector
from runtime.storage.connector_offsets import ConnectorOffsets, OffsetTopicUnusable
from runtime.storage.statuses import StatusStore
from runtime.system.loop_turns import LoopTurns

_log = logging.getLogger(__name__)

_STAY = "%s: dead members of the consumer group stay until their sessions expire: %s"


def connector_limit(
    stored: StoredConnector | None, providers: Providers, otherwise: RateLimit = UNLIMITED
) -> RateLimit:
    """The rate limit of all tasks of a connector together; `otherwise` if a config provider does not have a valid
    value."""
    own = {} if stored is None else {key: text for key, text in stored.config.items() if key.startswith(PREFIX)}
    if stored is None or not own:
        return UNLIMITED
    try:
        return rate_limit_of(providers.resolve(own).config)
    except ConfigError as e:
        kept = "without a rate limit" if otherwise == UNLIMITED else "with its last valid rate limit"
        _log.warning("%s runs %s: %s", stored.name, kept, e)
        return otherwise


class FencingFailed(Exception):
    """Earlier tasks of an exactly-once source could not be fenced, and trying again would not help."""


class SourceFencing(Protocol):
    """Fences earlier tasks of exactly-once sources (KIP-618)."""

    async def before_start(self, name: str, config: Mapping[str, str], tasks: Collection[int]) -> None:
        """Fence all tasks with earlier task configs, then earlier runs of the tasks that are about to start: a killed
        slot may have left an open transaction, which hides offsets. Offsets are read after that. `config` has its
        variables resolved.

        FencingFailed, or an error after which the caller tries again."""

    async def check_current(self, name: str, generation: int) -> None:
        """Check a start whose producer has been registered: StartRefused unless these are the connector's task configs
        by what the config topic contains now, and earlier tasks have been fenced."""


@dataclass(frozen=True, slots=True)
class TaskServices:
    """The parts of the worker that run tasks; shared by all connectors. `fencing` is None unless source tasks write in
    transactions."""

    worker: WorkerConfig
    engine: Engine
    offsets: ConnectorOffsets
    statuses: StatusStore
    clusters: SinkClusters
    board: StatusBoard
    host: ResolvingHost
    fencing: SourceFencing | None = None
    other_cluster_timeout: float = 5.0
    """Seconds for which a start waits for a cluster that is not the worker's."""


@dataclass(slots=True)
class AssignedTask:
    """A task assigned to the engine. A FAILED task remains until it is restarted or its configuration changes."""

    epoch: int
    generation: int  # of its task configs
    connector_config: Mapping[str, str]
    paused: bool
    limit: RateLimit = UNLIMITED
    failed: bool = False


class NoLeaseError(Exception):
    """No task may be started while the worker's group membership is not confirmed."""


class Tasks:
    """The tasks of one connector. Event loop only; its connector's loop is the only caller of run and stop_all."""

    def __init__(
        self, name: str, services: TaskServices, group: OwnedUnits,
        is_current: Callable[[int], bool] = lambda generation: True,
    ) -> None:  # fmt: skip
        """`is_current`: whether the connector exists and its task configs are those of this generation."""
        self._name, self._services, self._group, self._is_current = name, services, group, is_current
        self._running: dict[int, AssignedTask] = {}
        self._stale_members: set[str] = set()
        self._unreported: set[int] = set()  # lost before they reported their member ids
        self._checked: set[int] = set()  # tasks whose earlier consumers have been removed from the group
        self._last_limit = UNLIMITED
        self._created: int | None = None  # of the connector whose tasks run: StoredConnector.created
        self._shared_offsets: RequestBatcher[str, list[SourceOffset]] = RequestBatcher(self._read_offsets)
        self.version: str | None = None

    async def run(
        self, info: ConnectorInfo, stored: StoredConnector, paused: bool, restart: set[int],
        limit: RateLimit = UNLIMITED, keep_configs: bool = False,
    ) -> None:  # fmt: skip
        """Run exactly the stored tasks that this worker owns. Tasks with outdated configurations and the tasks in
        `restart` are restarted. `limit` applies to all tasks of the connector together. `keep_configs`: running tasks
        keep outdated configurations, because the connector has not started with the new configuration. NoLeaseError if
        a task must start but the worker's membership is not confirmed."""
        await self.yield_moved(stored)
        wanted = {i: config for i, config in enumerate(stored.tasks) if self._group.owns(self._name, i)}
        await self._stop({i for i in self._running if i not in wanted})
        self._forget_statuses_except(len(stored.tasks))
        old = set() if keep_configs else {i for i in wanted if self._is_outdated(i, stored)}
        await self._stop({i for i in wanted if i in old or i in restart})
        self._pause(paused)
        limit = limit.share(len(stored.tasks))
        self._limit(limit)
        missing = [
            TaskRequest(self._name, i, info, stored.start_config, c, stored.generation)
            for i, c in wanted.items()
            if i not in self._running
        ]
        if missing:
            # while a new configuration has not been applied, its limit is not that of these tasks
            number = len(stored.tasks) if stored.applied is not None and stored.is_applied else None
            await self._start(missing, paused, limit, number)

    def may_run(self) -> bool:
        """Whether tasks may be started now."""
        return self._services.engine.may_run()

    def pause(self) -> None:
        """Pause all running tasks."""
        self._pause(True)

    def limit(self, stored: StoredConnector) -> RateLimit:
        """The rate limit of all tasks of the connector together. While a config provider fails, the last limit remains:
        it protects other systems."""
        self._last_limit = connector_limit(stored, self._services.worker.providers, self._last_limit)
        return self._last_limit

    def check(self, info: ConnectorInfo, config: Mapping[str, str]) -> None:
        """Raises ConfigError for errors that Connect reports when a connector starts, not when it is created."""
        if info.type == ConnectorType.SOURCE and self._services.worker.topic_creation:
            topic_groups(config)

    async def stop_all(self) -> None:
        """Stop every task; tasks commit their offsets first."""
        await self._stop(set(self._running))

    async def stop_deleted(self, stored: StoredConnector) -> None:
        """Stop the tasks of a deleted connector: a worker that was frozen reads its deletion and the creation of the
        next one of its name at once."""
        if self._created not in (None, stored.created):
            await self.stop_all()
            self._forget_statuses_except(len(stored.tasks))  # other workers may run these already
        self._created = stored.created

    def are_of(self, stored: StoredConnector) -> bool:
        """Whether the tasks that run or are stopping are of this connector, not of a deleted one of its name."""
        return self._created == stored.created

    async def yield_moved(self, stored: StoredConnector) -> None:
        """Stop tasks that this worker no longer owns, so that other workers can run them."""
        count = len(stored.tasks)
        await self._yield({i for i in self._running if i < count and not self._group.owns(self._name, i)})

    async def yield_all(self) -> None:
        """Stop every task, so that other workers can run them."""
        await self._yield(set(self._running))

    def runs(self, task: int) -> bool:
        """Whether the task is assigned to the engine."""
        return task in self._running

    @property
    def not_failed(self) -> set[int]:
        """The tasks that are assigned to the engine and have not failed."""
        return {task for task, assigned in self._running.items() if not assigned.failed}

    def refuse(self, stored: StoredConnector, trace: str) -> None:
        """Report FAILED for each task that this worker owns and does not run."""
        for i in range(len(stored.tasks)):
            if self._group.owns(self._name, i) and i not in self._running:
                self._running[i] = AssignedTask(0, stored.generation, stored.start_config, paused=False, failed=True)
                self._services.board.task(TaskId(self._name, i), State.FAILED, self.version, trace)

    def forget_statuses(self, stored: StoredConnector | None = None) -> None:
        """Remove the statuses of tasks that are not stored and that no other worker runs."""
        self._forget_statuses_except(0 if stored is None else len(stored.tasks))

    def has_ghosts(self, stored: StoredConnector) -> bool:
        """Whether tasks that are not stored have a status."""
        return any(i >= len(stored.tasks) for i in self._services.statuses.task_statuses(self._name))

    def state(self, task: int, epoch: int, state: State, trace: str | None) -> None:
        """Publish a task's report; reports of older assignments are ignored."""
        running = self._running.get(task)
        if running is None or running.epoch != epoch:
            return
        running.failed = state is State.FAILED
        self._services.board.meters.task_state(TaskId(self._name, task), epoch, state)
        self._services.board.task(TaskId(self._name, task), state, self.version, trace, restartable=running.failed)

    def lost(self, task: int, epoch: int, member_id: str | None) -> bool:
        """The task's slot or its producer died. Returns True if the task must be assigned again."""
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
        self._services.board.task(TaskId(self._name, task), State.UNASSIGNED, self.version)
        return True

    async def confirm_start(self, task: int, epoch: int) -> Sequence[SourceOffset]:
        """The committed offsets for an exactly-once task whose producer has been registered (KIP-618). StartRefused if
        this run must not start any more, or if its offsets cannot be read. Tasks that ask at the same time share the
        reading of both topics."""
        running, fencing = self._running.get(task), self._services.fencing
        if running is None or running.epoch != epoch or fencing is None:
            raise StartRefused("another run of the task has replaced it")
        await fencing.check_current(self._name, running.generation)
        if not (self._group.owns(self._name, task) and self.may_run()):
            raise StartRefused("this worker does not own the task any more")
        try:
            return await self._shared_offsets.get(self._name)
        except (ConfigError, OffsetTopicUnusable) as e:
            raise StartRefused(_restart_after(e), final=True) from None

    def reset_topics(self, at: int) -> None:
        """The connector's topics were reset at this time: report those used since."""
        self._services.engine.reset_topics(self._name, at)

    def unassign(self) -> None:
        """Report all tasks as UNASSIGNED, because the worker ends."""
        for i in self._running:
            self._services.board.task(TaskId(self._name, i), State.UNASSIGNED, self.version)

    def _pause(self, paused: bool) -> None:
        for i, running in self._running.items():
            if running.paused != paused and not running.failed:
                running.paused = paused
                self._services.engine.pause_task(TaskId(self._name, i), paused)

    def _limit(self, limit: RateLimit) -> None:
        for i, running in self._running.items():
            if running.limit != limit and not running.failed:
                running.limit = limit
                self._services.engine.limit_task(TaskId(self._name, i), limit)

    def _is_outdated(self, task: int, stored: StoredConnector) -> bool:
        """The generation tells apart a connector that was deleted and created again with the same configuration."""
        now, running = (stored.generation, stored.start_config), self._running.get(task)
        return running is not None and (running.generation, running.connector_config) != now

    async def _start(self, orders: list[TaskRequest], paused: bool, limit: RateLimit, number: int | None) -> None:
        """`number` of all tasks of the connector, if the connector's configuration limits it."""
        if not self._services.engine.may_run():
            raise NoLeaseError
        try:
            resolved = await self._services.host.resolve_stored(self._name, orders[0].connector_config)
            if number is not None:
                check_tasks_max(self._name, number, resolved)
            await self._services.host.check_overrides(orders[0].info.type, resolved)
            first = replace(orders[0], connector_config=resolved)
            offsets = await self._prepare(first, [order.task for order in orders])
        except (ConfigError, ClientConfigError, FencingFailed, OffsetTopicUnusable, TooManyTasks) as e:
            for order in orders:
                self._fail_task(order, paused, e)
            return
        turns = LoopTurns()
        for order in orders:
            await turns.next()
            try:
                spec = await self._spec(order, resolved, offsets, paused, limit)
            except (ConfigError, ClientConfigError) as e:
                self._fail_task(order, paused, e)
                continue
            if not self._is_current(order.generation):  # deleted or changed meanwhile, as are the other tasks
                return
            if not self._group.owns(self._name, order.task):  # taken away meanwhile; it may have run before
                self._services.board.task(spec.id, State.UNASSIGNED, self.version)
                continue
            self._running[order.task] = AssignedTask(
                spec.epoch, order.generation, order.connector_config, paused, limit
            )
            if not self._services.engine.has_slots:
                self._services.board.task(spec.id, State.UNASSIGNED, self.version)
            self._services.board.meters.started(spec.id, spec.epoch)
            self._services.engine.start_task(spec)

    async def _prepare(self, order: TaskRequest, tasks: Collection[int]) -> list[SourceOffset]:
        """Runs once before the tasks start: evicts dead members of a sink's group, or returns a source's offsets. Of an
        exactly-once source it fences earlier tasks; confirm_start() returns the offsets later."""
        for warning in task_specs.client_warnings(self._services.worker, order):
            _log.warning("%s: %s", self._name, warning)
        if order.info.type == ConnectorType.SOURCE:
            if self._services.fencing is not None:
                owned = [task for task in tasks if self._group.owns(self._name, task)]
                await self._services.fencing.before_start(self._name, order.connector_config, owned)
                await self._services.offsets.open(self._name)
                return []
            return await self._offsets()
        cluster = await self._services.clusters.of_resolved(self._name, order.connector_config)
        if cluster.is_workers:
            await self._evict(cluster.groups, order, tasks)
        else:
            await self._try_to_evict(cluster.groups, order, tasks)
        return []

    async def _spec(
        self, order: TaskRequest, config: Mapping[str, str], offsets: list[SourceOffset], paused: bool,
        limit: RateLimit,
    ) -> TaskSpec:  # fmt: skip
        """The specification for the slot, with variables resolved. ConfigError from a config provider,
        ClientConfigError for a value that Kafka's clients do not accept."""
        task = await self._services.host.resolve_stored(self._name, order.task_config, part=str(order.task))
        resolved = replace(order, connector_config=config, task_config=task)
        return task_specs.spec(self._services.worker, resolved, offsets, paused, limit)

    def _fail_task(self, order: TaskRequest, paused: bool, why: Exception) -> None:
        """Report FAILED; the task remains FAILED until it is restarted or its configuration changes."""
        self._running[order.task] = AssignedTask(0, order.generation, order.connector_config, paused, failed=True)
        trace = f"{ConfigError.java_name}: {why}\n"
        if isinstance(why, FencingFailed):
            trace = f"{ConnectError.java_name}: Failed to perform zombie fencing: {why}\n"
        if isinstance(why, OffsetTopicUnusable):
            trace = f"{ConnectError.java_name}: {_restart_after(why)}\n"
        if isinstance(why, TooManyTasks):
            trace = why.trace
        self._services.board.task(TaskId(self._name, order.task), State.FAILED, self.version, trace, restartable=True)

    async def _offsets(self) -> list[SourceOffset]:
        """The offsets committed so far by any worker."""
        await self._services.offsets.read_to_end(self._name)
        return self._services.offsets.offsets(self._name)

    async def _read_offsets(self, names: Sequence[str]) -> Mapping[str, list[SourceOffset]]:
        return dict.fromkeys(names, await self._offsets())

    async def _try_to_evict(self, groups: Groups, order: TaskRequest, tasks: Collection[int]) -> None:
        """The task itself reports a cluster that does not respond. Nothing is evicted after the time limit: a member
        with its client id may then be the task that starts now."""
        try:
            async with asyncio.timeout(self._services.other_cluster_timeout):
                await self._evict(groups, order, tasks)
        except (KafkaProblem, TimeoutError) as e:
            _log.warning(
                _STAY, self._name, str(e) or f"no response within {self._services.other_cluster_timeout:g} seconds"
            )
            self._unreported.clear()
            self._checked |= set(tasks)

    async def _evict(self, groups: Groups, order: TaskRequest, tasks: Collection[int]) -> None:
        """Evict members that died without leaving, which would keep their partitions until their sessions expire. A
        task has one owner, so that members with the client ids of these tasks are remains of earlier runs. If Kafka
        does not respond, the next try evicts them."""
        group = task_specs.group_id(self._name, order.connector_config)
        members, unreported = set(self._stale_members), set(self._unreported)
        if searched := {*(set(tasks) - self._checked), *unreported}:
            lost = {task_specs.client_id("consumer", self._name, task) for task in searched}
            members |= {m.member_id for m in await groups.members(group) if m.client_id in lost}
        if members:
            _log.info("%s: removing %d dead member(s) from consumer group %s", self._name, len(members), group)
            try:
                await groups.evict(group, members)
            except GroupError as e:
                _log.warning(_STAY, self._name, e)
        self._stale_members -= members
        self._unreported -= unreported
        self._checked |= set(tasks)

    async def _stop(self, tasks: set[int]) -> None:
        graceful = self._services.worker.graceful
        turns, stops = LoopTurns(), []
        for i in tasks:
            await turns.next()
            stops.append(asyncio.ensure_future(self._services.engine.stop_task(TaskId(self._name, i), graceful)))
        for i, graceful_end in zip(tasks, await asyncio.gather(*stops), strict=True):
            self._running.pop(i, None)
            if not graceful_end:
                if member := self._services.engine.member_id(TaskId(self._name, i)):
                    self._stale_members.add(member)
                _log.warning(
                    "Task %s-%d did not stop within %.1f s (task.shutdown.graceful.timeout.ms); it was revoked, and "
                    "its last offsets may not be committed", self._name, i, graceful,
                )  # fmt: skip

    async def _yield(self, tasks: set[int]) -> None:
        """Stop tasks that this worker no longer owns, and report them as UNASSIGNED."""
        running = {i for i in tasks if not self._running[i].failed}
        await self._stop(tasks)
        self._checked -= tasks
        for i in sorted(running | self._left()):
            self._services.board.task(TaskId(self._name, i), State.UNASSIGNED, self.version)

    def _left(self) -> set[int]:
        """Tasks that moved to other workers while this worker, which still reports them as active, restarted them."""
        return {
            i
            for i, status in self._services.statuses.task_statuses(self._name).items()
            if status.worker_id == self._group.worker_id
            and status.state in ACTIVE
            and not (i in self._running or self._group.owns(self._name, i))
        }

    def _forget_statuses_except(self, count: int) -> None:
        """Remove the statuses of tasks from this number on; other workers remove those of the tasks that they run.

        Only the connector's owner removes what others have reported: a worker that was frozen may have read the status
        of a new task, and not yet its config."""
        removes_all = self._group.owns(self._name)
        for i, status in self._services.statuses.task_statuses(self._name).items():
            if not removes_all and status.worker_id != self._group.worker_id:
                continue
            if i >= count and not self._group.runs_elsewhere(status.worker_id, self._name, i):
                self._services.board.remove_task(TaskId(self._name, i))


def _restart_after(why: Exception) -> str:
    return f"{why}, then restart the task"
