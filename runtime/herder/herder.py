"""What a client can ask of the worker: every request of the REST API as one method."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConfigError
from runtime.definitions import invalid_message
from runtime.engine.port import SlotSilentError
from runtime.herder import views
from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.control.connectors import Connectors
from runtime.herder.entry_cache import EntryCache
from runtime.herder.errors import BadRequest, Conflict, Forbidden, HerderError, NotFound, Unavailable
from runtime.host.port import HostError, PluginHost, UnknownPluginError
from runtime.kafka.formats import java_copied, java_ordered
from runtime.model.states import State, TargetState, TaskId
from runtime.storage.configs import ConfigStore, RestartRequest, StoredConnector
from runtime.storage.statuses import StatusRecord, StatusStore

Answer = dict[str, Any]

UNKNOWN = "unknown"
"""The type of a connector whose class this worker does not have."""

START_WAIT = 15.0
"""Seconds that a restart waits to say whether the connector has started."""

YIELD_EVERY = 200
"""Connectors of a list after which other requests may run."""

STATUS_WAIT = 3.0
"""Seconds that the first status of a connector is waited for; after them it is unknown, as in Connect."""


@dataclass(frozen=True, slots=True)
class TopicTracking:
    """`topic.tracking.enable` and `topic.tracking.allow.reset`."""

    enabled: bool
    reset: bool


class Herder:
    """The control plane as clients see it. Event loop only; requests for one connector go one after another."""

    def __init__(
        self, configs: ConfigStore, statuses: StatusStore, host: PluginHost, fleet: Connectors, tracking: TopicTracking
    ) -> None:
        self._configs, self._statuses, self._host, self._fleet = configs, statuses, host, fleet
        self._tracking = tracking
        self._types: dict[str, str] = {}
        self._entries = EntryCache()
        self.locks = ConnectorLocks()
        self.check_free: Callable[[str], None] = lambda name: None  # raises while a change of offsets is unfinished
        self.check_not_finishing: Callable[[str], None] = lambda name: None  # raises while a change is being finished

    # reading

    def connectors(self) -> list[str]:
        """In the order of Apache's answer."""
        return list(java_copied(dict.fromkeys(self._configs.names())))

    async def expanded(self, expansions: set[str]) -> dict[str, Answer]:
        """GET /connectors?expand=…: only `status` and `info` bring something (FACTS 3)."""
        names = java_ordered(dict.fromkeys(self._configs.names()))
        self._entries.keep(names)
        found = {}
        for number, name in enumerate(names):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            found[name] = await self._expand(name, expansions)
        return found

    async def info(self, name: str) -> Answer:
        stored = self._stored(name)
        return views.info(name, stored.config, len(stored.tasks), await self._type(stored.config))

    def config(self, name: str) -> Mapping[str, str]:
        return self._stored(name).config

    def tasks(self, name: str) -> list[Answer]:
        return views.tasks(name, self._stored(name).tasks)

    async def status(self, name: str) -> Answer:
        """A connector that has just been created gets the time to have a status."""
        if self._statuses.connector_status(name) is None and self._configs.connector(name) is not None:
            await self._fleet.settled(name, STATUS_WAIT)
        return await self._status(name)

    async def _status(self, name: str) -> Answer:
        connector, stored = self._statuses.connector_status(name), self._configs.connector(name)
        if connector is None or connector.state is State.DESTROYED or stored is None:  # one just deleted has none
            raise NotFound(f"No status found for connector {name}")
        return views.status(name, connector, self._statuses.task_statuses(name), await self._type(stored.config))

    def task_status(self, name: str, task: int) -> Answer:
        status = self._statuses.task_statuses(name).get(task)
        if status is None:
            raise NotFound(f"No status found for task {name}-{task}")
        return views.task_status(task, status)

    async def task_stack(self, name: str, task: int) -> Answer:
        """Where a task's thread is now, and in which call of the connector's."""
        if task not in self._statuses.task_statuses(name):
            raise NotFound(f"No status found for task {name}-{task}")
        try:
            found = await self._fleet.stack(TaskId(name, task))
        except SlotSilentError as e:
            raise Unavailable(f"No stack of task {name}-{task}: {e}") from None
        if found is None:
            raise Conflict(f"Task {name}-{task} runs in no slot now")
        return views.task_stack(task, found)

    def topics(self, name: str) -> Answer:
        if not self._tracking.enabled:
            raise Forbidden("Topic tracking is disabled.")
        return {name: {"topics": sorted(self._statuses.topics(name))}}

    def reset_topics(self, name: str) -> None:
        if not self._tracking.enabled:
            raise Forbidden("Topic tracking is disabled.")
        if not self._tracking.reset:
            raise Forbidden("Topic tracking reset is disabled.")
        self._statuses.reset_topics(name)
        self._fleet.forget_topics(name)

    def entry(self, name: str) -> Answer | None:
        """A connector as followers of the events get it; None when it is gone."""
        stored, connector = self._configs.connector(name), self._statuses.connector_status(name)
        if stored is None or connector is None:
            return None
        kind = self._types.get(stored.config.get("connector.class", ""), "unknown")
        status = views.status(name, connector, self._statuses.task_statuses(name), kind)
        return {"name": name, "status": status, "info": views.info(name, stored.config, len(stored.tasks), kind)}

    # creating and configuring

    async def create(self, name: str, config: Mapping[str, str | None], initial: TargetState | None) -> Answer:
        """POST /connectors; the target state is written before the config, so that it holds from the start."""
        async with self._alone(name):
            checked = await self._validated(name, config)
            if self._configs.connector(name) is not None:
                raise Conflict(f"Connector {name} already exists")
            await self._configs.put_connector(name, checked, initial)
            return views.info(name, checked, 0, await self._type(checked))

    async def put_config(self, name: str, config: Mapping[str, str | None]) -> tuple[bool, Answer]:
        """PUT config: whether the connector is new, and its info with the tasks it had before."""
        async with self._alone(name):
            checked = await self._validated(name, config)
            before = self._configs.connector(name)
            await self._configs.put_connector(name, checked)  # as it is in Connect, also where nothing has changed
            tasks = len(before.tasks) if before else 0
            return before is None, views.info(name, checked, tasks, await self._type(checked))

    async def patch_config(self, name: str, patch: Mapping[str, str | None]) -> Answer:
        """PATCH config (KIP-477): null removes; the result is validated as a whole."""
        async with self._alone(name):
            stored = self._stored(name)
            merged = {k: v for k, v in java_copied(stored.config, patch).items() if v is not None}
            await self._validate(merged)
            await self._configs.put_connector(name, merged)
            return views.info(name, merged, len(stored.tasks), await self._type(merged))

    async def delete(self, name: str) -> None:
        async with self._alone(name):
            self._stored(name)
            await self._configs.remove_connector(name)

    # states

    async def pause(self, name: str) -> None:
        await self._set_target(name, TargetState.PAUSED)

    async def resume(self, name: str) -> None:
        await self._set_target(name, TargetState.STARTED)

    async def stop(self, name: str) -> None:
        """PUT stop: the task configs go first, then the target state is written (FACTS 4)."""
        async with self._alone(name):
            self._known(name)
            await self._configs.put_tasks(name, [])
            await self._configs.put_target_state(name, TargetState.STOPPED)

    async def restart(self, name: str, include_tasks: bool, only_failed: bool) -> Answer | None:
        """POST restart: None for the plain form (204), else the status with what is RESTARTING (202)."""
        async with self._alone(name):
            stored = self._configs.connector(name)
            if stored is None:
                raise NotFound(f"Unknown connector: {name}")
            if not include_tasks and not only_failed:
                self._fleet.restart(name, connector=True, tasks=set())
                if await self._fleet.fails(name, START_WAIT):
                    raise HerderError(f"Failed to start connector: {name}")
                return None
            chosen = self._meant(RestartRequest(name, include_tasks, only_failed))
            answer = _marked_restarting(await self._status(name), *chosen)
            await self._configs.put_restart(name, include_tasks, only_failed)  # restart_requested() follows
            return answer

    async def restart_task(self, name: str, task: int) -> None:
        async with self._alone(name):
            stored = self._configs.connector(name)
            if stored is None:
                raise NotFound(f"Unknown connector: {name}")
            if not 0 <= task < len(stored.tasks):
                raise NotFound(f"Unknown task: {name}-{task}")
            self._fleet.restart(name, connector=False, tasks={task})

    def restart_requested(self, request: RestartRequest) -> None:
        """A restart that stands in the config topic, whoever wrote it: RESTARTING until what it means runs anew."""
        if self._configs.connector(request.name) is not None:
            self._fleet.restart_shown(request.name, *self._meant(request))

    def _meant(self, request: RestartRequest) -> tuple[bool, set[int]]:
        """Which of connector and tasks a restart request means (KIP-745)."""
        connector = self._statuses.connector_status(request.name)
        if connector is None:
            return False, set()

        def meant(status: StatusRecord) -> bool:
            return not request.only_failed or status.state is State.FAILED

        tasks = self._statuses.task_statuses(request.name).items() if request.include_tasks else ()
        chosen = {number for number, status in tasks if meant(status)}
        return meant(connector), chosen

    async def _set_target(self, name: str, target: TargetState) -> None:
        async with self._alone(name):
            self._known(name)
            await self._configs.put_target_state(name, target)

    # plugins

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        return await self._host.plugins(connectors_only)

    async def plugin_config(self, plugin: str, version: str | None) -> list[Answer]:
        try:
            return await self._host.describe(plugin, version)
        except UnknownPluginError:
            raise NotFound(f"Unknown plugin {plugin}.") from None

    async def validate(self, plugin: str, config: Mapping[str, str | None]) -> Answer:
        """PUT /connector-plugins/{plugin}/config/validate: the class in the body has to be the one in the path."""
        cls = config.get("connector.class")
        if cls and not _same_plugin(cls, plugin):
            raise BadRequest(f"Included connector type {cls} does not match request type {plugin}")
        return await self._host_validate(config)

    # shared

    def stored(self, name: str) -> StoredConnector:
        """What the config topic says of a connector; NotFound as the offsets endpoints word it."""
        return self._stored(name)

    async def validated(self, name: str, config: Mapping[str, str | None]) -> dict[str, str]:
        """The config with its name, or BadRequest with every error."""
        return await self._validated(name, config)

    async def type(self, config: Mapping[str, str]) -> str:
        """Source, sink or unknown."""
        return await self._type(config)

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Nobody else changes this connector meanwhile."""
        async with self._alone(name):
            yield

    @asynccontextmanager
    async def _alone(self, name: str) -> AsyncIterator[None]:
        self.check_not_finishing(name)  # without waiting for the lock: Kafka may be away for a while
        async with self.locks.hold(name):
            self.check_free(name)
            yield

    async def _expand(self, name: str, expansions: set[str]) -> Answer:
        version = self._statuses.changes(name), self._configs.connector(name)
        entry = self._entries.get(name, version)
        try:
            if "status" in expansions and "status" not in entry:
                entry["status"] = await self._status(name)
            if "info" in expansions and "info" not in entry:
                entry["info"] = await self.info(name)
        except NotFound:
            pass  # just created or just deleted: what is known is shown
        if any(part.get("type") == UNKNOWN for part in entry.values()):
            self._entries.forget(name)  # the plugin host may know the class by next time
        return {key: entry[key] for key in ("status", "info") if key in expansions and key in entry}

    def _stored(self, name: str) -> StoredConnector:
        stored = self._configs.connector(name)
        if stored is None:
            raise NotFound(f"Connector {name} not found")
        return stored

    def _known(self, name: str) -> None:
        if self._configs.connector(name) is None:
            raise NotFound(f"Unknown connector {name}")

    async def _validated(self, name: str, config: Mapping[str, str | None]) -> dict[str, str]:
        """The config with its name, or BadRequest with every error."""
        given = config.get("name")
        if given is not None and given != name:
            raise BadRequest(f"Connector name configuration ({given}) doesn't match connector name in the URL ({name})")
        full = {**config, "name": name}
        await self._validate(full)
        return {k: v for k, v in full.items() if v is not None}

    async def _validate(self, config: Mapping[str, str | None]) -> None:
        message = invalid_message(await self._host_validate(config))
        if message is not None:
            raise BadRequest(message)

    async def _host_validate(self, config: Mapping[str, str | None]) -> Answer:
        try:
            return await self._host.validate(config)
        except HostError as e:
            raise (Unavailable if e.temporary else BadRequest)(str(e)) from None
        except UnknownPluginError as e:
            raise BadRequest(str(e)) from None
        except TimeoutError:
            raise Unavailable("The connector did not answer while its configuration was validated") from None

    async def _type(self, config: Mapping[str, str]) -> str:
        """Source, sink, or unknown for a class that this worker does not have; asked of the host once a class."""
        cls = config.get("connector.class", "")
        if cls not in self._types:
            try:
                self._types[cls] = (await self._host.resolve(cls)).type
            except (UnknownPluginError, HostError, ConfigError, TimeoutError):
                return UNKNOWN
        return self._types[cls]


def _marked_restarting(status: Answer, connector: bool, tasks: set[int]) -> Answer:
    if connector:
        status["connector"]["state"] = State.RESTARTING.value
    for task in status["tasks"]:
        if task["id"] in tasks:
            task["state"] = State.RESTARTING.value
    return status


def _same_plugin(cls: str, plugin: str) -> bool:
    """The class ends with the plugin's name, whatever the suffix `Connector` (FACTS 5)."""
    return cls.removesuffix("Connector").endswith(plugin.removesuffix("Connector"))
