"""The calls that the plugin host's process answers: one method for each, named as in the port."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from runtime.api.connector import Connector, SinkConnector, SourceConnector
from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConfigError
from runtime.host.connectors import Send, StartedConnectors, Turn, public_name
from runtime.host.port import HostRequestError, UnknownPluginError
from runtime.host.settings import HostSettings
from runtime.model.environment import Environment
from runtime.plugins.activation import enter
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.plugin_path import scan
from runtime.plugins.registry import CONNECTORS, Plugin, PluginRegistry, PluginType

Config = Mapping[str, str | None]


_IN_TURN = frozenset({"start_connector", "stop_connector", "task_configs"})


class HostCalls:
    """Answers calls; exceptions of plugins are not caught."""

    def __init__(self, settings: HostSettings, send: Send) -> None:
        self._settings, self._missing = settings, _enter(settings.environment)
        self._known: PluginRegistry | None = None
        if settings.catalog is not None:
            self.use(settings.catalog)
        self._started, self._send = StartedConnectors(send), send

    def prepare(self, call: str, args: Sequence[Any]) -> Callable[[], Any]:
        """A function that makes the call, on any thread. Calls for one connector run in the order of prepare()."""
        if self._missing is not None:
            return partial(_fail, self._missing)
        method = getattr(self, call)
        if call in _IN_TURN:
            name, *args = args
            return partial(method, self._started.turn(name), *args)
        return partial(method, *args)

    def scan(self) -> dict[str, Any]:
        """All plugins and environments that the folders contain now (PluginCatalog.to_json())."""
        return scan(self._settings.plugin_path).to_json()

    def use(self, catalog: Mapping[str, Any]) -> None:
        """Use the plugins of a catalog from now on."""
        environment = self._settings.environment
        base = environment.base if environment else ""
        self._known = PluginRegistry(self._settings.plugin_path, PluginCatalog.from_json(catalog), base)

    @property
    def _registry(self) -> PluginRegistry:
        """The plugins of this environment; without a catalog the folders are scanned now."""
        if self._known is None:
            self.use(self.scan())
        assert self._known is not None
        return self._known

    def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        return self._registry.entries(connectors_only)

    def resolve(self, connector_class: str) -> dict[str, str]:
        plugin = self._connector_plugin(connector_class)
        task_class = self._class(plugin).task_class
        return {
            "cls": plugin.cls,
            "type": plugin.kinds[0].value,
            "version": plugin.version,
            "task_class": public_name(task_class),
            "task_python_class": f"{task_class.__module__}:{task_class.__qualname__}",
        }

    def describe(self, name: str, version: str | None) -> list[dict[str, Any]]:
        from runtime.definitions.describe import describe
        from runtime.plugins.versions import mismatch

        plugin = self._registry.find(name, wanted=version)
        if plugin is None:
            raise UnknownPluginError(f"Unknown plugin {name}.")
        if version is not None and (message := mismatch(plugin.cls, version, self._registry.versions(plugin.cls))):
            raise HostRequestError(message)
        return describe(plugin, self._registry.load_class(plugin))

    def validate(self, config: Config) -> dict[str, Any]:
        from runtime.definitions.messages import no_connector_type
        from runtime.definitions.validation import WorkerDefaults, validate

        name = config.get("connector.class")
        if name is None:
            raise HostRequestError(no_connector_type(config))
        plugin = self._connector_plugin(name)
        settings = self._settings
        defaults = WorkerDefaults(
            settings.key_converter, settings.value_converter, settings.header_converter, settings.exactly_once
        )
        return validate(config, plugin, self._class(plugin)(), self._registry, defaults)

    def start_connector(self, turn: Turn, config: Config) -> None:
        self._started.start(turn, lambda: self._instance(config), _without_nulls(config))

    def stop_connector(self, turn: Turn) -> None:
        self._started.stop(turn)

    def abandon_connector(self, name: str) -> None:
        self._started.abandon(name)

    def ping(self) -> None:
        """Returns at once, unless a plugin blocks the interpreter."""

    def task_configs(self, turn: Turn, max_tasks: int) -> list[dict[str, str]]:
        return self._started.task_configs(turn, max_tasks)

    def alter_source_offsets(self, config: Config, offsets: Sequence[Sequence[dict[str, Any] | None]]) -> bool:
        connector = self._instance(config)
        if not isinstance(connector, SourceConnector):
            raise HostRequestError(f"{config.get('connector.class')} is not a source connector")
        return bool(connector.alter_offsets(_without_nulls(config), [(p, o) for p, o in offsets]))

    def alter_sink_offsets(self, config: Config, offsets: Sequence[tuple[str, int, int | None]]) -> bool:
        connector = self._instance(config)
        if not isinstance(connector, SinkConnector):
            raise HostRequestError(f"{config.get('connector.class')} is not a sink connector")
        by_partition = {TopicPartition(topic, partition): offset for topic, partition, offset in offsets}
        return bool(connector.alter_offsets(_without_nulls(config), by_partition))

    def offsets_read(self, number: int, offsets: Sequence[Mapping[str, Any] | None], error: str | None) -> None:
        self._started.requests.answered(number, offsets, error)

    def preview(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run samples through a chain (runtime.pipeline.preview.run), and send each plugin call as an event."""
        from runtime.pipeline.preview.run import preview

        return preview(request, lambda what: self._send({"event": "at", "what": what}))

    def stop_all(self) -> None:
        """Stop all connectors before the host ends."""
        self._started.stop_all()

    def _instance(self, config: Config) -> Connector:
        return self._class(self._connector_plugin(config.get("connector.class") or ""))()

    def _class(self, plugin: Plugin) -> type[Connector]:
        return self._registry.load_class(plugin)

    def _connector_plugin(self, name: str) -> Plugin:
        plugin = self._registry.find(name, CONNECTORS)
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
