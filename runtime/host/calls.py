"""The calls that the plugin host's process answers: one method for each, named as in the port."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from runtime.api.connector import Connector, SinkConnector, SourceConnector
from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConfigError
from runtime.host.connectors import Send, StartedConnectors, Turn, public_name, target_of
from runtime.host.java import HostJava, release
from runtime.host.port import HostRequestError, UnknownPluginError
from runtime.host.settings import HostSettings
from runtime.logs import context
from runtime.logs.levels import apply
from runtime.model.environment import Environment
from runtime.plugins.activation import enter
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.java_plugins import JavaDiscovery, is_worker_plugin
from runtime.plugins.plugin_path import scan
from runtime.plugins.registry import CONNECTORS, Plugin, PluginRegistry, PluginType
from runtime.system.allowed_folders import limit_files

Config = Mapping[str, str | None]


_IN_TURN = frozenset({"start_connector", "stop_connector", "task_configs"})
_UNLIMITED = _IN_TURN | {"prepare_java", "java_versions"}


class HostCalls:
    """Answers calls; exceptions of plugins are not caught."""

    def __init__(self, settings: HostSettings, send: Send) -> None:
        self._settings, self._missing = settings, _enter(settings.environment)
        limit_files(settings.file_paths)
        self._known: PluginRegistry | None = None
        self._started, self._send = StartedConnectors(send), send
        self._java = HostJava(settings, lambda: self._registry.java_names(), self._started.jvm_ended)
        if settings.levels:
            self.set_levels(settings.levels)
        if settings.catalog is not None:
            self.use(settings.catalog)

    def prepare(self, call: str, args: Sequence[Any]) -> Callable[[], Any]:
        """A function that makes the call, on any thread. Calls for one connector run in the order of prepare()."""
        if self._missing is not None:
            return partial(_fail, self._missing)
        method = getattr(self, call)
        if call in _IN_TURN:
            name, *args = args
            return partial(method, self._started.turn(name), *args)
        if call in _UNLIMITED:
            return partial(method, *args)
        return partial(self._limited, method, args)

    def _limited(self, method: Callable[..., Any], args: Sequence[Any]) -> Any:
        with self._java.limit():
            return method(*args)

    def scan(self) -> dict[str, Any]:
        """All plugins and environments that the folders contain now (PluginCatalog.to_json())."""
        discovery = JavaDiscovery(self._settings.plugin_discovery, self._settings.java_prefer)
        return scan(self._settings.plugin_path, discovery=discovery).to_json()

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers, also in the JVM."""
        apply(levels)
        self._java.set_levels(levels)

    def prepare_java(self) -> None:
        """Returns when Java plugins can be loaded, which may take a minute the first time."""
        self._java.prepare()

    def java_versions(self, catalog: Mapping[str, Any]) -> dict[str, Any]:
        """The catalog with the versions of Java plugins that only their classes know."""
        return self._java.with_versions(PluginCatalog.from_json(catalog)).to_json()

    def use(self, catalog: Mapping[str, Any]) -> None:
        """Use the plugins of a catalog from now on."""
        environment = self._settings.environment
        base = environment.base if environment else ""
        plugins = PluginCatalog.from_json(catalog)
        self._known = PluginRegistry(self._settings.plugin_path, plugins, base, self._java.load)

    @property
    def _registry(self) -> PluginRegistry:
        """The plugins of this environment; without a catalog the folders are scanned now."""
        if self._known is None:
            self.use(self.scan())
        assert self._known is not None
        return self._known

    def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        return self._registry.entries(connectors_only)

    def resolve(self, connector_class: str, version: str | None = None) -> dict[str, str]:
        plugin = self._connector_plugin(connector_class, version)
        task_class = self._class(plugin).task_class
        return {
            "cls": plugin.cls,
            "type": plugin.kinds[0].value,
            "version": plugin.version,
            "task_class": public_name(task_class),
            "task_target": target_of(task_class),
        }

    def describe(self, name: str, version: str | None) -> list[dict[str, Any]]:
        from runtime.definitions.render import describe
        from runtime.plugins.versions import mismatch

        plugin = self._registry.find(name, wanted=version)
        if plugin is None:
            raise _without_definition(name, self._settings.plugin_path)
        if version is not None and (message := mismatch(plugin.cls, version, self._registry.versions(plugin.cls))):
            raise HostRequestError(message)
        return describe(plugin, self._registry.load_class(plugin))

    def validate(self, config: Config, text_only: bool = False) -> dict[str, Any]:
        from runtime.definitions.messages import NO_CONNECTOR_TYPE
        from runtime.definitions.validation import WorkerDefaults, validate, validate_text
        from runtime.plugins.versions import invalid_range

        name = config.get("connector.class")
        if name is None:
            raise HostRequestError(NO_CONNECTOR_TYPE)
        wanted = config.get("connector.plugin.version")
        plugin = self._connector_plugin(name, wanted)
        if wanted is not None and (problem := invalid_range(wanted)) is not None:
            raise HostRequestError(problem)
        settings = self._settings
        defaults = WorkerDefaults(
            settings.key_converter, settings.value_converter, settings.header_converter, settings.exactly_once
        )
        if text_only:
            return validate_text(config, plugin, self._class(plugin), self._registry, defaults)
        with self._instance(config) as connector:
            return validate(config, plugin, connector, self._registry, defaults)

    def start_connector(self, turn: Turn, config: Config) -> None:
        self._started.start(turn, lambda: self._new(config), _without_nulls(config))

    def stop_connector(self, turn: Turn) -> None:
        self._started.stop(turn)

    def abandon_connector(self, name: str) -> None:
        self._started.abandon(name)

    def ping(self) -> None:
        """Returns at once, unless a plugin blocks the interpreter."""

    def task_configs(self, turn: Turn, max_tasks: int) -> list[dict[str, str]]:
        return self._started.task_configs(turn, max_tasks)

    def alter_source_offsets(self, config: Config, offsets: Sequence[Sequence[dict[str, Any] | None]]) -> bool:
        with self._instance(config) as connector:
            if not isinstance(connector, SourceConnector):
                raise HostRequestError(f"{config.get('connector.class')} is not a source connector")
            return bool(connector.alter_offsets(_without_nulls(config), [(p, o) for p, o in offsets]))

    def alter_sink_offsets(self, config: Config, offsets: Sequence[tuple[str, int, int | None]]) -> bool:
        with self._instance(config) as connector:
            if not isinstance(connector, SinkConnector):
                raise HostRequestError(f"{config.get('connector.class')} is not a sink connector")
            by_partition = {TopicPartition(topic, partition): offset for topic, partition, offset in offsets}
            return bool(connector.alter_offsets(_without_nulls(config), by_partition))

    def offsets_read(self, number: int, offsets: Sequence[Mapping[str, Any] | None], error: str | None) -> None:
        self._started.requests.answered(number, offsets, error)

    def preview(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run samples through a chain (runtime.pipeline.preview.run), and send each plugin call as an event."""
        from runtime.pipeline.preview.run import preview

        self._java.classes()
        return preview(request, lambda what: self._send({"event": "at", "what": what}))

    def stop_all(self) -> None:
        """Stop all connectors before the host ends."""
        self._started.stop_all()

    @contextlib.contextmanager
    def _instance(self, config: Config) -> Iterator[Connector]:
        """An instance for one call, with the lines of its connector, if it has a name."""
        name = config.get("name")
        with context.of_connector(name) if name else contextlib.nullcontext():
            made = self._new(config)
            try:
                yield made
            finally:
                release(made)

    def _new(self, config: Config) -> Connector:
        name, wanted = config.get("connector.class") or "", config.get("connector.plugin.version")
        return self._class(self._connector_plugin(name, wanted))()

    def _class(self, plugin: Plugin) -> type[Connector]:
        return self._registry.load_class(plugin)

    def _connector_plugin(self, name: str, wanted: str | None) -> Plugin:
        plugin = self._registry.find(name, CONNECTORS, wanted)
        if plugin is None:
            from runtime.definitions.messages import unknown_connector

            available = [p for kind in (PluginType.SINK, PluginType.SOURCE) for p in self._registry.of_kind(kind)]
            raise UnknownPluginError(unknown_connector(name, available))
        return plugin


def _enter(environment: Environment | None) -> ConfigError | None:
    try:
        enter(environment)
    except ConfigError as error:  # every call reports it
        return error
    return None


def _fail(error: ConfigError) -> None:
    raise error


def _without_nulls(config: Config) -> dict[str, str]:
    return {key: value for key, value in config.items() if value is not None}


def _without_definition(name: str, plugin_path: Sequence[str]) -> Exception:
    """The error for a plugin of the worker itself, or for a name that no plugin has; in Apache's words."""
    if is_worker_plugin(name, plugin_path):
        types = "sink, source, converter, header_converter, transformation, predicate"
        return HostRequestError(f"Invalid plugin class {name}. Valid types are {types}.")
    return UnknownPluginError(f"Unknown plugin {name}.")
