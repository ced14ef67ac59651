"""The control plane: one method for each request of the REST API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, cast, get_args

from runtime.api.errors import ConfigError
from runtime.definitions import invalid_message
from runtime.engine.port import SlotSilentError
from runtime.herder import views
from runtime.herder.connector_entries import UNKNOWN, ConnectorEntries, EntryCache
from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import NOT_HERE, BadRequest, Conflict, Forbidden, HerderError, NotFound, Unavailable
from runtime.herder.group.assignor import Unit
from runtime.herder.responses import (
    ExpandedResponse,
    InfoResponse,
    StackResponse,
    StatusResponse,
    TaskResponse,
    TaskStatusResponse,
    TopicsResponse,
)
from runtime.host.port import HostError, PluginHost, PluginTimeoutError, UnknownPluginError
from runtime.kafka.formats import java_copied, java_order
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.states import State, TargetState, TaskId
from runtime.storage.configs import ConfigStore, RestartRequest, StoredConnector
from runtime.storage.statuses import StatusRecord, StatusStore

Response = dict[str, Any]
"""A definition or validation of configuration keys, as the plugin host built it."""

Part = Literal["status", "info"]
_PARTS: tuple[Part, ...] = get_args(Part)

YIELD_EVERY = 200
"""Number of connectors after which a list lets other requests run."""

STATUS_WAIT = 3.0
"""Seconds that a status request waits for the first status of a new connector; after that the response is 404, as in
Connect."""

READ_BACK_WAIT = 0.5
"""Seconds that a status request waits until this worker's last reports about the connector are in the status topic.
Then every worker answers the next request with the same state or a later one, as in Connect. Without Kafka the response
is this worker's own knowledge."""


@dataclass(frozen=True, slots=True)
class TopicTracking:
    """`topic.tracking.enable` and `topic.tracking.allow.reset` (KIP-558)."""

    enabled: bool
    reset: bool


class UnfinishedChanges(Protocol):
    """Changes of offsets that have been started but not finished."""

    def check_no_pending_change(self, name: str) -> None:
        """Raises Conflict while a change of this connector's offsets is unfinished."""

    def check_not_finishing(self, name: str) -> None:
        """Raises Conflict while an interrupted change of this connector's offsets is being finished in the
        background."""


class Leadership(Protocol):
    """Whether this worker leads its group."""

    @property
    def leads(self) -> bool: ...


class Herder:
    """Answers requests of clients. Event loop only; requests for one connector run one after another."""

    def __init__(
        self, configs: ConfigStore, statuses: StatusStore, host: PluginHost, connectors: Connectors,
        entries: ConnectorEntries, tracking: TopicTracking, locks: ConnectorLocks, unfinished: UnfinishedChanges,
        group: Leadership, request_timeout: float = 30.0,
    ) -> None:  # fmt: skip
        """`request_timeout`: seconds that a restart waits for a connector's start()."""
        self._request_timeout = request_timeout
        self._configs, self._statuses, self._host, self._connectors = configs, statuses, host, connectors
        self._types, self._tracking = entries.types, tracking
        self._entries = EntryCache()
        self._locks, self._unfinished, self._group = locks, unfinished, group
        configs.guard(self.check_leads)

    # reading

    def connectors(self) -> list[str]:
        """GET /connectors, in the order of Apache's response."""
        return list(java_copied(dict.fromkeys(self._configs.names())))

    async def expanded(self, expansions: set[str]) -> dict[str, ExpandedResponse]:
        """GET /connectors?expand=…; expansions other than `status` and `info` are ignored (FACTS.md, 3)."""
        parts = [part for part in _PARTS if part in expansions]
        names = java_order(self._configs.names())
        self._entries.keep(names)
        expanded = {}
        for number, name in enumerate(names):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            entry = self._entries.get(name, (self._statuses.changes(name), self._configs.connector(name)))
            for part in parts:
                if part not in entry:
                    await self._complete(name, entry, part)
            expanded[name] = cast("ExpandedResponse", {part: entry[part] for part in parts if part in entry})
        return expanded

    def changed_at(self) -> dict[str, int]:
        """When the state of each connector, or of one of its tasks, has last changed, in milliseconds since 1970."""
        times = {name: self._statuses.changed_at(name) for name in self._configs.names()}
        return {name: at for name, at in times.items() if at is not None}

    async def info(self, name: str) -> InfoResponse:
        """GET /connectors/{name}."""
        stored = self.stored(name)
        return views.info(name, stored.config, len(stored.tasks), await self.type(stored.config))

    def config(self, name: str) -> Mapping[str, str]:
        """GET /connectors/{name}/config."""
        return self.stored(name).config

    def tasks(self, name: str) -> list[TaskResponse]:
        """GET /connectors/{name}/tasks."""
        return views.tasks(name, self.stored(name).tasks)

    async def status(self, name: str) -> StatusResponse:
        """GET /connectors/{name}/status; waits for the first status of a connector that has just been created."""
        if self._statuses.connector_status(name) is None and self._configs.connector(name) is not None:
            await self._connectors.settled(name, STATUS_WAIT)
        await self._statuses.read_back(name, READ_BACK_WAIT)
        return await self._status(name)

    async def _status(self, name: str) -> StatusResponse:
        connector, stored = self._statuses.connector_status(name), self._configs.connector(name)
        if connector is None or connector.state is State.DESTROYED or stored is None:
            raise NotFound(f"No status found for connector {name}")
        return views.status(name, connector, self._statuses.task_statuses(name), await self.type(stored.config))

    async def task_status(self, name: str, task: int) -> TaskStatusResponse:
        """GET /connectors/{name}/tasks/{task}/status."""
        await self._statuses.read_back(name, READ_BACK_WAIT)
        status = self._statuses.task_status(TaskId(name, task))
        if status is None:
            raise NotFound(f"No status found for task {name}-{task}")
        return views.task_status(task, status)

    def task_workers(self, name: str) -> set[str]:
        """Ids of the workers that run tasks of a connector."""
        return {status.worker_id for status in self._statuses.task_statuses(name).values()}

    async def task_stack(self, name: str, task: int) -> StackResponse:
        """The stack of a task's thread, and the connector's method that it is in. Conflict if the task is not running,
        Unavailable if its slot does not answer."""
        if self._statuses.task_status(TaskId(name, task)) is None:
            raise NotFound(f"No status found for task {name}-{task}")
        try:
            stack = await self._connectors.stack(TaskId(name, task))
        except SlotSilentError as e:
            raise Unavailable(f"No stack of task {name}-{task}: {e}") from None
        if stack is None:
            raise Conflict(f"Task {name}-{task} is not running in any slot")
        return views.task_stack(task, stack)

    async def topics(self, name: str) -> dict[str, TopicsResponse]:
        """GET /connectors/{name}/topics; Forbidden if topic tracking is disabled."""
        if not self._tracking.enabled:
            raise Forbidden("Topic tracking is disabled.")
        await self._statuses.read_back(name, READ_BACK_WAIT)
        return {name: {"topics": sorted(self._statuses.topics(name))}}

    async def reset_topics(self, name: str) -> None:
        """PUT /connectors/{name}/topics/reset."""
        if not self._tracking.enabled:
            raise Forbidden("Topic tracking is disabled.")
        if not self._tracking.reset:
            raise Forbidden("Topic tracking reset is disabled.")
        self._connectors.topics_reset(name, await self._statuses.reset_topics(name, READ_BACK_WAIT))

    # creating and configuring

    async def create(self, name: str, config: Mapping[str, str | None], initial: TargetState | None) -> InfoResponse:
        """POST /connectors; the target state is written before the config, so that it applies from the first start."""
        async with self.exclusive(name):
            checked = await self.validated(name, config)
            if self._configs.connector(name) is not None:
                raise Conflict(f"Connector {name} already exists")
            await self._configs.put_connector(name, checked, initial)
            return views.info(name, checked, 0, await self.type(checked))

    async def put_config(self, name: str, config: Mapping[str, str | None]) -> tuple[bool, InfoResponse]:
        """PUT /connectors/{name}/config: whether the connector is new, and its info with its previous tasks."""
        async with self.exclusive(name):
            checked = await self.validated(name, config)
            before = self._configs.connector(name)
            await self._configs.put_connector(name, checked)  # even if nothing has changed, as in Connect
            tasks = len(before.tasks) if before else 0
            return before is None, views.info(name, checked, tasks, await self.type(checked))

    async def patch_config(self, name: str, patch: Mapping[str, str | None]) -> InfoResponse:
        """PATCH /connectors/{name}/config (KIP-477): null removes a key; the merged configuration is validated."""
        async with self.exclusive(name):
            stored = self.stored(name)
            merged = {k: v for k, v in java_copied(stored.config, patch).items() if v is not None}
            await self._validate(merged)
            await self._configs.put_connector(name, merged)
            return views.info(name, merged, len(stored.tasks), await self.type(merged))

    async def delete(self, name: str) -> None:
        """DELETE /connectors/{name}; returns before the tasks have ended."""
        async with self.exclusive(name):
            self.stored(name)
            await self._configs.remove_connector(name)

    # states

    async def set_target(self, name: str, target: TargetState) -> None:
        """PUT /connectors/{name}/pause and /resume."""
        async with self.exclusive(name):
            self._check_exists(name)
            await self._configs.put_target_state(name, target)

    async def stop(self, name: str) -> None:
        """PUT /connectors/{name}/stop (KIP-875): removes the task configs, then writes the target state.

        FACTS.md, 4."""
        async with self.exclusive(name):
            self._check_exists(name)
            await self._configs.put_tasks(name, [])
            await self._configs.put_target_state(name, TargetState.STOPPED)

    async def restart(self, name: str, include_tasks: bool, only_failed: bool) -> StatusResponse | None:
        """POST /connectors/{name}/restart (KIP-745): None for the plain form (204), which the connector's owner carries
        out; otherwise the status with the restarted connector and tasks RESTARTING (202), at the leader. HerderError if
        the plain form does not start the connector, PluginTimeoutError if its start() does not return in time."""
        if not include_tasks and not only_failed:
            await self._restart_connector(name)
            return None
        async with self.exclusive(name):
            self.check_restartable(Unit(name, CONNECTOR))
            chosen = self._restarted_by(RestartRequest(name, include_tasks, only_failed))
            response = _marked_restarting(await self._status(name), *chosen)
            await self._configs.put_restart(name, include_tasks, only_failed)  # restart_requested() follows
            return response

    async def _restart_connector(self, name: str) -> None:
        async with self._held(name):
            self.check_restartable(Unit(name, CONNECTOR))
            self._connectors.check_owned(name)
            began = datetime.now(UTC)
            self._connectors.restart(name, connector=True, tasks=set())
            if await self._connectors.has_failed(name, self._request_timeout):
                raise HerderError(f"Failed to start connector: {name}")
            if self._connectors.is_starting(name):
                reason = f"start() of {name} has not returned within {self._request_timeout:g} s"
                raise PluginTimeoutError("start", began, reason)

    async def restart_task(self, name: str, task: int) -> None:
        """POST /connectors/{name}/tasks/{task}/restart, carried out by the task's owner."""
        async with self._held(name):
            self.check_restartable(Unit(name, task))
            self._connectors.check_owned(name, task)
            self._connectors.restart(name, connector=False, tasks={task})

    def check_restartable(self, unit: Unit) -> None:
        """Raises NotFound if the connector or task does not exist."""
        stored = self._configs.connector(unit.connector)
        if stored is None:
            raise NotFound(f"Unknown connector: {unit.connector}")
        if unit.task != CONNECTOR and not 0 <= unit.task < len(stored.tasks):
            raise NotFound(f"Unknown task: {unit.connector}-{unit.task}")

    def restart_requested(self, request: RestartRequest) -> None:
        """Carry out a restart request from the config topic, which any worker may have written."""
        if self._configs.connector(request.name) is not None:
            self._connectors.mark_and_restart(request.name, *self._restarted_by(request))

    def _restarted_by(self, request: RestartRequest) -> tuple[bool, set[int]]:
        """Whether a request restarts the connector, and which tasks it restarts (KIP-745)."""
        connector = self._statuses.connector_status(request.name)
        if connector is None:
            return False, set()

        def restarts(status: StatusRecord) -> bool:
            return not request.only_failed or status.state is State.FAILED

        tasks = self._statuses.task_statuses(request.name).items() if request.include_tasks else ()
        return restarts(connector), {number for number, status in tasks if restarts(status)}

    # plugins

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        """GET /connector-plugins."""
        return await self._host.plugins(connectors_only)

    async def plugin_config(self, plugin: str, version: str | None) -> list[Response]:
        """GET /connector-plugins/{plugin}/config (KIP-769)."""
        try:
            return await self._host.describe(plugin, version)
        except UnknownPluginError:
            raise NotFound(f"Unknown plugin {plugin}.") from None

    async def validate(self, plugin: str, config: Mapping[str, str | None], text_only: bool = False) -> Response:
        """PUT /connector-plugins/{plugin}/config/validate; BadRequest if the body names another class than the path.
        `text_only`, for callers who may not create connectors: see runtime.definitions.text_only."""
        cls = config.get("connector.class")
        if cls and not _same_plugin(cls, plugin):
            raise BadRequest(f"Included connector type {cls} does not match request type {plugin}")
        return await self._host_validate(config, text_only)

    # shared

    def stored(self, name: str) -> StoredConnector:
        """A connector as stored in the config topic; NotFound if it does not exist."""
        stored = self._configs.connector(name)
        if stored is None:
            raise NotFound(f"Connector {name} not found")
        return stored

    async def validated(self, name: str, config: Mapping[str, str | None]) -> dict[str, str]:
        """The configuration with its name; BadRequest lists every error."""
        given = config.get("name")
        if given is not None and given != name:
            raise BadRequest(f"Connector name configuration ({given}) doesn't match connector name in the URL ({name})")
        full = {**config, "name": name}
        await self._validate(full)
        return {k: v for k, v in full.items() if v is not None}

    async def type(self, config: Mapping[str, str]) -> str:
        """`source`, `sink` or `unknown`; the plugin host is asked once for each connector class."""
        cls = config.get("connector.class", "")
        if cls not in self._types:
            try:
                self._types[cls] = (await self._host.resolve(cls)).type
            except (UnknownPluginError, HostError, ConfigError, TimeoutError):
                return UNKNOWN
        return self._types[cls]

    @asynccontextmanager
    async def exclusive(self, name: str, within: float | None = None) -> AsyncIterator[None]:
        """Hold the connector's lock for a change, which only the leader carries out. Conflict if this worker does not
        lead, while a change of the connector's offsets is unfinished, or if earlier requests take longer than `within`
        seconds."""
        async with self._held(name, within):
            self.check_leads()
            yield

    def check_leads(self) -> None:
        """Raises Conflict if this worker does not lead its group."""
        if not self._group.leads:
            raise Conflict(NOT_HERE)

    @asynccontextmanager
    async def _held(self, name: str, within: float | None = None) -> AsyncIterator[None]:
        self._unfinished.check_not_finishing(name)  # before waiting: the change holds the lock during an outage
        async with self._locks.hold(name, within):
            self._unfinished.check_no_pending_change(name)
            yield

    async def _complete(self, name: str, entry: ExpandedResponse, part: Part) -> None:
        """Add a part to a cached view, unless the connector has just been created or deleted and has no such part."""
        try:
            if part == "status":
                entry["status"] = await self._status(name)
            else:
                entry["info"] = await self.info(name)
        except NotFound:
            return
        if entry[part]["type"] == UNKNOWN:
            self._entries.forget(name)  # the plugin host may know the class at the next request

    def _check_exists(self, name: str) -> None:
        if self._configs.connector(name) is None:
            raise NotFound(f"Unknown connector {name}")

    async def _validate(self, config: Mapping[str, str | None]) -> None:
        message = invalid_message(await self._host_validate(config))
        if message is not None:
            raise BadRequest(message)

    async def _host_validate(self, config: Mapping[str, str | None], text_only: bool = False) -> Response:
        try:
            return await self._host.validate(config, text_only)
        except HostError as e:
            raise (Unavailable if e.temporary else BadRequest)(str(e)) from None
        except UnknownPluginError as e:
            raise BadRequest(str(e)) from None


def _marked_restarting(status: StatusResponse, connector: bool, tasks: set[int]) -> StatusResponse:
    if connector:
        status["connector"]["state"] = State.RESTARTING.value
    for task in status["tasks"]:
        if task["id"] in tasks:
            task["state"] = State.RESTARTING.value
    return status


def _same_plugin(cls: str, plugin: str) -> bool:
    """Whether the class ends with the plugin's name; either may omit the suffix `Connector` (FACTS.md, 5)."""
    return cls.removesuffix("Connector").endswith(plugin if plugin == "Connector" else plugin.removesuffix("Connector"))
