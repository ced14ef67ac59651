"""The plugin hosts of a worker: a process for plugins without environment, and one for each environment in use."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from runtime.api.errors import ConfigError
from runtime.host.client import PluginHostClient
from runtime.host.port import ConnectorInfo, HostError, HostListener, HostRequestError, UnknownPluginError
from runtime.host.settings import HostSettings
from runtime.java.discovery.worker_classes import supports
from runtime.logs.formats import Scrub
from runtime.model.environment import Environment
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.origins import details
from runtime.plugins.plan import PluginPlan, UnknownConnectorError, environment_of, plan
from runtime.plugins.plugin import Plugin
from runtime.plugins.registry import CONNECTORS, PluginRegistry
from runtime.plugins.versions import mismatch

_log = logging.getLogger(__name__)

_T = TypeVar("_T")
Config = Mapping[str, str | None]

_NO_VERSION = ("version", "undefined")  # left out, as in Connect

IDLE_TIMEOUT = 60.0
"""Seconds after which the process of an environment without connectors ends."""


@dataclass(slots=True, eq=False)
class _Host:
    """The host of an environment. `calls` and `connectors` keep it running."""

    client: PluginHostClient
    connectors: set[str]
    last_used: float
    calls: int = 0


class EnvironmentHosts:
    """Implements PluginHost. Event loop only.

    Plugins are listed by the first host, since reading hostile sources may end a process. The hosts of environments
    start on demand and receive that list.
    """

    def __init__(
        self, settings: HostSettings, listener: HostListener, scrub: Scrub = str, idle_timeout: float = IDLE_TIMEOUT
    ) -> None:
        """`idle_timeout` is in seconds."""
        self._settings, self._listener, self._scrub = settings, listener, scrub
        self._defaults = {
            "key.converter": settings.key_converter,
            "value.converter": settings.value_converter,
            "header.converter": settings.header_converter,
            **settings.converter_versions,
        }
        self._idle_timeout = idle_timeout
        self._base = PluginHostClient(settings, listener, scrub)
        self._hosts: dict[str, _Host] = {}
        self._starting = asyncio.Lock()
        self._places: dict[str, _Host | None] = {}  # by connector; None: the base host
        self._registry: PluginRegistry | None = None
        self._listing = asyncio.Lock()
        self._reloads = 0
        self._watch: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()  # hosts that are being closed

    async def start(self) -> None:
        await self._base.start()
        self._watch = asyncio.create_task(self._end_idle_hosts())

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        hosts = [self._base, *(host.client for host in self._hosts.values())]
        await asyncio.gather(*(host.close() for host in hosts), *self._ending)

    @property
    def pids(self) -> dict[str, int | None]:
        """The processes by environment; the empty one is the worker's own."""
        return {"": self._base.pid, **{key: host.client.pid for key, host in self._hosts.items()}}

    async def registry(self) -> PluginRegistry:
        """All plugins, in all environments. Does not wait for a reload."""
        if self._registry is None:
            async with self._listing:
                if self._registry is None:
                    self._registry = await self._use(await self._scan())
        return self._registry

    async def reload(self, name: str | None = None) -> PluginCatalog:
        """Scan the folders again. Calls from now on use the plugins found, in new processes if their code has changed.
        `name` limits the plugins that are replaced (PluginCatalog.reloaded()). Returns the new catalog."""
        before = (await self.registry()).catalog
        async with self._listing:
            scanned = await self._scan()
            self._reloads += 1
            after = before.reloaded(scanned, self._reloads, name)
            self._registry = await self._use(after)
            return after

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers in present and future hosts, and in their JVMs."""
        self._settings = replace(self._settings, levels=dict(levels))
        for client in (self._base, *(host.client for host in self._hosts.values())):
            client.set_levels(levels)

    async def details(self) -> list[dict[str, Any]]:
        """Every plugin with its type, version, language, and origin, and the classes of Apache's worker that it uses,
        with what it gets for them."""
        return [
            {
                "class": p.cls,
                "type": kind.value,
                "version": p.version,
                "language": p.language,
                "from": origin,
                **({"worker_classes": supports(p.worker_classes)} if p.worker_classes else {}),
            }
            for kind, p, origin in details(await self.registry())
        ]

    async def revision(self, config: Config) -> str:
        """The revision of the plugins that a configuration selects (ConnectorInfo.revision). Errors as resolve()."""
        return (await self._plan(config)).revision

    async def _scan(self) -> PluginCatalog:
        scanned = await self._base.scan()
        if not all(plugin["certain"] for plugin in scanned["plugins"]):
            try:
                scanned = await self._base.java_versions(scanned)
            except HostError as error:
                _log.warning("plugin.path: versions of Java plugins are those of their manifests: %s", error)
        return PluginCatalog.from_json(scanned)

    async def _use(self, catalog: PluginCatalog) -> PluginRegistry:
        await self._base.use(catalog.to_json())
        registry = PluginRegistry(self._settings.plugin_path, catalog)
        before = self._registry.conflicts if self._registry else ()
        for conflict in [new for new in registry.conflicts if new not in before]:
            _log.warning("%s", conflict)
        return registry

    # the calls of the port

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        listed = (await self.registry()).entries(connectors_only)
        return [{k: v for k, v in entry.items() if (k, v) != _NO_VERSION} for entry in listed]

    async def resolve(self, connector_class: str, config: Config | None = None) -> ConnectorInfo:
        while True:
            registry = await self.registry()
            planned = await self._plan({**(config or {}), "connector.class": connector_class})
            java = planned.connector.language == "java"
            info = await self._with(planned.environment, partial(_resolve, planned.connector), java)
            if self._registry is registry:  # not reloaded meanwhile
                break
        return replace(
            info,
            version=planned.connector.version,
            environment=planned.environment,
            targets=planned.targets,
            revision=planned.revision,
        )

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        registry = await self.registry()
        registered = registry.find(plugin, wanted=version)
        if registered is None:
            return await self._base.describe(plugin, version)
        if version is not None and (message := mismatch(registered.cls, version, registry.versions(registered.cls))):
            raise HostRequestError(message)
        environment = environment_of([registered], registry)
        java = registered.language == "java"
        return await self._with(environment, lambda host: host.describe(registered.cls, registered.version), java)

    async def validate(self, config: Config, text_only: bool = False) -> dict[str, Any]:
        if config.get("connector.class") is None:
            return await self._base.validate(config, text_only)
        conflict = None
        try:
            planned = await self._plan(config)
        except ConfigError as error:  # the response names the keys in question
            conflict, planned = str(error), await self._plan_of_connector(config)
        response = await self._with(
            planned.environment, lambda host: host.validate(config, text_only), planned.uses_java
        )
        if conflict is not None and not response["error_count"]:
            entry = next(e for e in response["configs"] if e["value"]["name"] == "connector.class")
            entry["value"]["errors"].append(conflict)
            response["error_count"] += 1
        return response

    async def start_connector(self, name: str, config: Mapping[str, str]) -> None:
        try:
            planned = await self._plan(config)
        except ConfigError as error:
            raise HostError("config", str(error), f"{error.java_name}: {error}\n") from None
        await self.stop_connector(name)
        host = None if planned.environment is None else await self._host(planned.environment)
        self._places[name] = host
        if host is not None:
            host.connectors.add(name)
        client = self._base if host is None else host.client
        if planned.connector.language == "java":
            await client.prepare_java()
        await client.start_connector(name, config)

    async def stop_connector(self, name: str) -> None:
        if name not in self._places:
            return
        host = self._places.pop(name)
        await (self._base if host is None else host.client).stop_connector(name)
        if host is not None:
            host.connectors.discard(name)
            host.last_used = asyncio.get_running_loop().time()

    async def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        host = self._places.get(name)
        return await (self._base if host is None else host.client).task_configs(name, max_tasks)

    async def alter_source_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        planned = await self._plan_of_connector(config)
        return await self._with(
            planned.environment, lambda host: host.alter_source_offsets(config, offsets), planned.uses_java
        )

    async def alter_sink_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[str, int, int | None]]
    ) -> bool:
        planned = await self._plan_of_connector(config)
        return await self._with(
            planned.environment, lambda host: host.alter_sink_offsets(config, offsets), planned.uses_java
        )

    # plugins and processes

    async def _plan(self, config: Config, with_chain: bool = True) -> PluginPlan:
        registry = await self.registry()
        try:
            return plan(config, self._defaults if with_chain else {}, registry)
        except UnknownConnectorError as error:
            from runtime.definitions.messages import unknown_connector

            available = [plugin for kind in CONNECTORS for plugin in registry.of_kind(kind)]
            raise UnknownPluginError(unknown_connector(str(error), available)) from None

    async def _plan_of_connector(self, config: Config) -> PluginPlan:
        """That of the connector alone; of its newest version if the configuration asks for one that does not exist."""
        keys = ("connector.class", "connector.plugin.version")
        try:
            return await self._plan({key: config.get(key) for key in keys}, with_chain=False)
        except ConfigError:
            return await self._plan({keys[0]: config.get(keys[0])}, with_chain=False)

    async def _with(
        self, environment: Environment | None, call: Callable[[PluginHostClient], Awaitable[_T]], java: bool
    ) -> _T:
        """Makes a call in the host of an environment, `java`: of Java plugins."""
        if environment is None:
            return await _ready(self._base, call, java)
        host = await self._host(environment)
        host.calls += 1
        try:
            return await _ready(host.client, call, java)
        finally:
            host.calls -= 1
            host.last_used = asyncio.get_running_loop().time()

    async def _host(self, environment: Environment) -> _Host:
        """The host of an environment, started if there is none."""
        registry = await self.registry()
        async with self._starting:
            now = asyncio.get_running_loop().time()
            host = self._hosts.get(environment.id)
            if host is None:
                settings = replace(self._settings, environment=environment, catalog=registry.catalog.to_json())
                client = PluginHostClient(settings, self._listener, self._scrub)
                await client.start()  # may raise, or be cancelled: the next call starts another one
                host = self._hosts[environment.id] = _Host(client, set(), now)
                _log.info("The plugin host of the environment %s has started", environment.id)
            host.last_used = now
            return host

    async def _end_idle_hosts(self) -> None:
        while True:
            await asyncio.sleep(self._idle_timeout / 4)
            since = asyncio.get_running_loop().time() - self._idle_timeout
            for key, host in list(self._hosts.items()):
                if not (host.calls or host.connectors) and host.last_used < since:
                    del self._hosts[key]
                    _log.info("The plugin host of the environment %s has ended: no connector uses it", key)
                    ending = asyncio.create_task(host.client.close())
                    self._ending.add(ending)
                    ending.add_done_callback(self._ending.discard)


async def _resolve(plugin: Plugin, host: PluginHostClient) -> ConnectorInfo:
    return await host.resolve(plugin.cls, {"connector.plugin.version": plugin.version})


async def _ready(host: PluginHostClient, call: Callable[[PluginHostClient], Awaitable[_T]], java: bool) -> _T:
    if java:
        await host.prepare_java()
    return await call(host)
