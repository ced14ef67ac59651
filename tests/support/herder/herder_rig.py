"""A herder with its real parts and in-memory storage; plugin host, engine and Kafka's groups are scripted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from runtime.config import worker_config
from runtime.config.secret_values import CallSecrets, Secrets
from runtime.engine.port import Engine
from runtime.herder.configs.checks import WorkerChecks
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.configs.sink_clusters import SinkClusters
from runtime.herder.configs.task_specs import offsets_topic
from runtime.herder.connector_entries import ConnectorEntries
from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.control.connectors import Connectors
from runtime.herder.control.start_control import StartControl, StartTimes
from runtime.herder.control.tasks import TaskServices
from runtime.herder.fencing.zombie_fencing import TaskFencing, ZombieFencing
from runtime.herder.group.group import SoleWorker
from runtime.herder.herder import Herder, TopicTracking
from runtime.herder.offsets.offset_change import OffsetChanges
from runtime.herder.offsets.settling import GroupSettling
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.herder.restarts.restart_record import RestartRecords
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import StatusBoard
from runtime.host.port import HOST_DIED, ConnectorInfo, HostError
from runtime.kafka.groups import Groups
from runtime.kafka.positions import Positions
from runtime.model.rate_limit import RateLimit
from runtime.model.states import State, TargetState, TaskId
from runtime.model.task_spec import TaskSpec
from runtime.storage.configs import ConfigStore
from runtime.storage.connector_offsets import ConnectorOffsets
from runtime.storage.journal import OffsetJournal
from runtime.storage.offsets import OffsetStore
from runtime.storage.statuses import StatusStore
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.never_called import NEVER_CALLED
from tests.support.waiting import is_over

SOURCE = ConnectorInfo("S", "source", "1", "ST", "tests:S")
SINK = ConnectorInfo("K", "sink", "1", "KT", "tests:K")

WORKER = {
    "bootstrap.servers": "home:9092", "group.id": "workers", "key.converter": "x", "value.converter": "x",
    "config.storage.topic": "c", "offset.storage.topic": "o", "status.storage.topic": "s",
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}  # fmt: skip


def died() -> HostError:
    return HostError(HOST_DIED, "The plugin host died", "trace")


async def nothing(*_: Any) -> None:
    return


class ScriptedHost:
    """A PluginHost whose start, stop and task_configs are controlled by the
    test. The class `Sink` is a sink; all others are sources."""

    def __init__(self) -> None:
        self.on_start: Callable[[str], Awaitable[None]] = nothing
        self.on_stop: Callable[[str], Awaitable[None]] = nothing
        self.on_resolve: Callable[[str], Awaitable[None]] = nothing
        self.on_task_configs: Callable[[str], Awaitable[None]] = nothing
        self.starts: list[str] = []
        self.limits: list[int] = []
        self.altered: list[Any] = []

    async def resolve(self, connector_class: str, config: Mapping[str, str | None] | None = None) -> ConnectorInfo:
        await self.on_resolve(connector_class)
        return SINK if connector_class == "Sink" else SOURCE

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        return []

    async def start_connector(self, name: str, config: Mapping[str, str]) -> None:
        self.starts.append(name)
        await self.on_start(name)

    async def stop_connector(self, name: str) -> None:
        await self.on_stop(name)

    async def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        self.limits.append(max_tasks)
        await self.on_task_configs(name)
        return [{"task.class": "T", "n": str(n)} for n in range(max_tasks)]

    async def alter_source_offsets(self, config: Mapping[str, str], offsets: Sequence[Any]) -> bool:
        self.altered.append(offsets)
        return True

    alter_sink_offsets = alter_source_offsets


class ScriptedEngine:
    """An Engine whose tasks run as soon as they are started."""

    has_slots = True

    def __init__(self, listener: Connectors) -> None:
        self.running: dict[TaskId, TaskSpec] = {}
        self.paused: set[TaskId] = set()
        self.started: list[TaskId] = []
        self.topics_reset: list[str] = []
        self.leased = True
        self.on_stop: Callable[[TaskId], Awaitable[None]] = nothing
        self._listener = listener

    def may_run(self) -> bool:
        return self.leased

    def start_task(self, spec: TaskSpec) -> None:
        self.running[spec.id] = spec
        self.started.append(spec.id)
        self._listener.task_state(spec.id, spec.epoch, State.PAUSED if spec.paused else State.RUNNING, None)

    async def stop_task(self, task: TaskId, graceful: float) -> bool:
        await self.on_stop(task)
        self.running.pop(task, None)
        return True

    def pause_task(self, task: TaskId, paused: bool) -> None:
        (self.paused.add if paused else self.paused.discard)(task)

    def reset_topics(self, connector: str, at: int) -> None:
        self.topics_reset.append(connector)

    def limit_task(self, task: TaskId, limit: RateLimit) -> None:
        self.running[task] = replace(self.running[task], limit=limit)


class ScriptedGroups:
    """Consumer groups in memory; `empty` ones can be removed."""

    def __init__(self) -> None:
        self.offsets: dict[str, dict[tuple[str, int], int]] = {}
        self.described: list[str] = []
        """The groups whose members were requested."""
        self.responds = True
        self.evicted: list[set[str]] = []
        """The members of each request to evict some."""
        self.failures: list[Exception] = []
        """What the next requests to evict members raise."""

    async def members(self, group: str) -> list[Any]:
        self.described.append(group)
        if not self.responds:
            await asyncio.Event().wait()
        return []

    async def evict(self, group: str, members: Iterable[str]) -> None:
        self.evicted.append(set(members))
        if self.failures:
            raise self.failures.pop()

    async def committed(self, group: str) -> dict[tuple[str, int], int]:
        return dict(self.offsets.get(group, {}))

    async def alter(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        self.offsets.setdefault(group, {}).update(offsets)

    async def delete_offsets(self, group: str, partitions: Iterable[tuple[str, int]]) -> None:
        for at in partitions:
            self.offsets.get(group, {}).pop(at, None)

    async def delete(self, group: str) -> None:
        self.offsets.pop(group, None)

    async def check_partitions(self, partitions: Iterable[tuple[str, int]]) -> None:
        return

    async def exists(self, group: str) -> bool:
        return group in self.offsets

    async def empty_groups(self) -> list[str]:
        return sorted(self.offsets)


class HerderRig:
    """A herder with its stores, control loops and requests. Event loop only."""

    other_cluster_timeout = 5.0

    def __init__(self, times: StartTimes | None = None, **worker: str) -> None:
        """`worker`: more properties of the worker, with `_` for dots."""
        properties = {**WORKER, **{key.replace("_", "."): value for key, value in worker.items()}}
        self.logs, self.worker = TestLogs(), worker_config.distributed(properties)
        self.configs = ConfigStore(self.logs, topic("c"))
        self.statuses = StatusStore(self.logs, topic("s"))
        self.store = OffsetStore(self.logs, topic("o"))
        self.secrets = secrets = Secrets()
        entries = ConnectorEntries(self.configs, self.statuses)
        self.events, self.skew = EventLog(), 0.0  # seconds by which the wall clock is set
        self.board = StatusBoard(self.statuses, self.events, "w:1", secrets, entries.entry)
        self.group = SoleWorker("w:1", self.configs.names)
        starts = StartControl(times=times)
        self.journal = OffsetJournal(self.logs, topic("j"))
        self.restarts = AutoRestarts(
            self.worker.originals, self.worker.providers, self.configs, RestartRecords(self.journal.documents),
            self.events, self.worker.restart_budget, clock=lambda: time.time() + self.skew,
        )  # fmt: skip
        self.board.subscribe(self.restarts.state)
        self.connectors = Connectors(self.configs, self.statuses, self.board, self.group, self.restarts, starts)
        self.configs.subscribe(changes=self.connectors.config_changed)
        self.plugins, self.groups, self.groups_elsewhere = ScriptedHost(), ScriptedGroups(), ScriptedGroups()
        self.positions: Positions = NEVER_CALLED
        self.reached: list[Mapping[str, Any]] = []
        """The settings of clients for requests about groups."""
        self.engine = ScriptedEngine(self.connectors)
        engine = cast(Engine, self.engine)
        checks = WorkerChecks(self.worker)
        self.host = ResolvingHost(cast(Any, self.plugins), self.worker, secrets, CallSecrets(secrets), checks)
        self.clusters = SinkClusters(self.worker, self.host, self.configs.config, self._reach, lambda _: self.positions)
        self.offsets = ConnectorOffsets(
            self.store, topic, NEVER_CALLED, lambda name: None, self.topic_of, self.configs.names
        )
        self.stored_offsets = StoredOffsets(self.offsets, self.clusters, used=self.connectors.forget_secrets)
        self.locks = ConnectorLocks()
        self.settling = GroupSettling(self.connectors, self.statuses, SoleWorker("w:1"), NEVER_CALLED)
        self.changes = OffsetChanges(self.journal, self.configs, self.stored_offsets, self.settling, self.locks)
        tracking = TopicTracking(self.worker.topic_tracking, self.worker.topic_tracking_reset)
        self.herder = Herder(
            self.configs, self.statuses, self.host, self.connectors, entries, tracking, self.locks, self.changes,
            self.group, self.worker.request_timeout,
        )  # fmt: skip
        self.fenced: list[list[str]] = []
        """The transactional ids of each round of fencing."""
        self.refuse_fencing: Exception | None = None
        self.fencing = ZombieFencing(self.worker, self.herder, self.configs, self.host, self._fence)
        self.task_fencing = TaskFencing(self.worker, self.configs, self.fencing.fence_earlier, self._fence)
        services = TaskServices(
            self.worker, engine, self.offsets, self.statuses, self.clusters, self.board, self.host,
            self.task_fencing if self.worker.exactly_once.transactional_tasks else None, self.other_cluster_timeout,
        )  # fmt: skip
        self.connectors.start(services)

    async def create(self, name: str, target: TargetState | None = None, **config: str) -> None:
        """Stores a connector, as a request does after its checks."""
        full = {"connector.class": "Source", "name": name, **{k.replace("_", "."): v for k, v in config.items()}}
        await self.configs.put_connector(name, full, target)

    async def run(self, name: str, **config: str) -> None:
        """Creates a connector, and waits until it and its tasks are RUNNING."""
        await self.create(name, None, **config)
        await self.until(lambda: self.runs(name, int(config.get("tasks_max", "1"))))

    def _reach(self, settings: Mapping[str, Any]) -> Groups:
        self.reached.append(settings)
        is_workers = settings["bootstrap.servers"] == self.worker.bootstrap_servers
        return cast(Groups, self.groups if is_workers else self.groups_elsewhere)

    async def _fence(self, settings: Mapping[str, Any], transactional_ids: Collection[str]) -> None:
        self.fenced.append(list(transactional_ids))
        if self.refuse_fencing is not None:
            raise self.refuse_fencing

    async def until(self, condition: Callable[[], bool], within: float = 10.0) -> None:
        """Lets the loops run until the condition holds."""
        started = time.monotonic()
        while not condition():  # most conditions have no event to wait for
            if is_over(started, within):
                raise TimeoutError
            await asyncio.sleep(0.001)

    def state(self, name: str) -> State | None:
        status = self.statuses.connector_status(name)
        return None if status is None else status.state

    def trace(self, name: str) -> str:
        status = self.statuses.connector_status(name)
        return (status.trace if status else None) or ""

    def tasks(self, name: str) -> dict[int, State]:
        return {number: status.state for number, status in self.statuses.task_statuses(name).items()}

    def runs(self, name: str, tasks: int = 1) -> bool:
        """Whether a connector and its tasks are RUNNING."""
        return self.state(name) is State.RUNNING and self.tasks(name) == dict.fromkeys(range(tasks), State.RUNNING)

    async def busy(self, name: str) -> asyncio.Event:
        """The control loop of a running connector is busy with its first task, which does not end before the event is
        set, as in an outage of Kafka's brokers."""
        stopping, may_stop = asyncio.Event(), asyncio.Event()

        async def stop(task: TaskId) -> None:
            stopping.set()
            await may_stop.wait()

        self.engine.on_stop = stop
        self.connectors.restart(name, connector=False, tasks={0})
        await stopping.wait()
        return may_stop

    async def close(self) -> None:
        await self.connectors.close()

    def topic_of(self, config: Mapping[str, str]) -> str:
        return offsets_topic(self.worker, config) or ""
