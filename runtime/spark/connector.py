"""A connector in this process: its validated configuration, its tasks' configurations, and its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConfigError, ConnectError
from runtime.config.properties import comma_separated
from runtime.config.providers import providers
from runtime.host.calls import HostCalls
from runtime.host.port import HostRequestError, UnknownPluginError
from runtime.host.settings import HostSettings
from runtime.kafka.clients.settings import client_config
from runtime.model.states import ConnectorType
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.spark.options import SparkOptions
from runtime.spark.position import StreamPosition

KeysOf = Callable[[str], Iterable[str]]
"""The configuration keys of a plugin, by its class name or alias; none if it is unknown."""


def restored(config: Mapping[str, str], keys_of: KeysOf) -> dict[str, str]:
    """The configuration with the keys that the connector, Connect, transformations and predicates define, in their
    case. Aliases have the case of the lists in which they occur. Other keys remain in lower case."""
    names = _by_lower(keys_of(config.get("connector.class", "").strip()))
    renamed = {names.get(key, key): text for key, text in config.items()}
    for kind in ("transforms", "predicates"):
        for alias in comma_separated(renamed.get(kind, "")):
            prefix = f"{kind}.{alias}."
            inner = _by_lower(keys_of(renamed.get(f"{prefix.lower()}type", "").strip()))
            for key in [key for key in renamed if key.lower().startswith(prefix.lower())]:
                rest = key[len(prefix) :]
                renamed[prefix + inner.get(rest, rest)] = renamed.pop(key)
    return renamed


def _by_lower(names: Iterable[str]) -> dict[str, str]:
    return {name.lower(): name for name in names}


_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_NONE = "org.apache.kafka.connect.converters.ByteArrayConverter"
_DEFAULT_NAME = _DEFAULT_TOPIC = "spark"


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """The configuration of a task, with variables resolved."""

    number: int
    config: Mapping[str, str]


class SparkConnector:
    """A connector with its class and configuration; it runs between start() and stop().

    Thread-safe as far as requests of the connector are concerned, which arrive on its own threads."""

    def __init__(self, options: SparkOptions, kind: ConnectorType) -> None:
        """ConfigError if the connector is unknown, is not of this kind, or refuses its configuration."""
        self.options, self.kind = options, kind
        settings = HostSettings(plugin_path=options.plugin_path, java_prefer=options.java_prefer)
        self._calls = HostCalls(settings, self._event)
        self._info = self._resolve()
        self.raw = self._configuration()
        self.config = providers(options.worker).resolve(self.raw).config
        self._validate()
        self.position = StreamPosition()
        self._requests = threading.Event()
        self._failure = ""

    @property
    def name(self) -> str:
        """The connector's name."""
        return self.config["name"]

    def start(self, position: StreamPosition) -> None:
        """Start the connector, which sees the offsets of this position."""
        self.position = position
        self._calls.prepare("start_connector", [self.name, self.config])()

    def stop(self) -> None:
        """Stop the connector if it is running; its errors are logged."""
        self._calls.prepare("stop_connector", [self.name])()

    def tasks(self) -> list[PlannedTask]:
        """The tasks of the started connector. ConnectError if there are none."""
        most = int(self.config.get("tasks.max", "1"))
        self._requests.clear()
        configs: list[dict[str, str]] = self._calls.prepare("task_configs", [self.name, most])()
        if not configs:
            raise ConnectError(f"{self.raw['connector.class']} creates no tasks for this configuration")
        return [PlannedTask(number, config) for number, config in enumerate(configs)]

    def planned(self) -> list[PlannedTask]:
        """The tasks, from a connector that is started for this call."""
        self.start(StreamPosition())
        try:
            return self.tasks()
        finally:
            self.stop()

    def check(self) -> bool:
        """Whether the connector has requested other tasks. Raises the error that it has reported."""
        if self._failure:
            raise ConnectError(f"{self.raw['connector.class']} failed: {self._failure}")
        return self._requests.is_set()

    def spec(self, task: PlannedTask) -> TaskSpec:
        """The specification from which the pipeline loads task, transformations and converters."""
        return TaskSpec(
            connector=self.name, task=task.number, epoch=1, type=self.kind.value,
            task_class=self._info["task_target"], config=dict(task.config), connector_config=dict(self.config),
            key_converter=self._converter("key", _NONE), value_converter=self._converter("value", _NONE),
            header_converter=self._converter("header", _SIMPLE), plugin_path=list(self.options.plugin_path),
            producer=self._producer(),
        )  # fmt: skip

    def has_converter(self, which: str) -> bool:
        """Whether the options have a converter for the keys or values."""
        return f"{which}.converter" in self.config

    def _producer(self) -> dict[str, Any]:
        """The settings for writing dead letters; empty without brokers."""
        if "bootstrap.servers" not in self.options.kafka:
            return {}
        return dict(client_config(self.options.kafka, "producer", self.config).settings)

    def _converter(self, which: str, default: str) -> ConverterSpec:
        key = f"{which}.converter"
        keys = {name[len(key) + 1 :]: text for name, text in self.config.items() if name.startswith(f"{key}.")}
        return ConverterSpec(self.config.get(key, default), keys)

    def _resolve(self) -> Mapping[str, str]:
        given = {**self.options.connector, **self.options.exact}
        name = given.get("connector.class", "").strip()
        if not name:
            raise ConfigError("Option connector.class is missing: set it to the class or the alias of a connector")
        try:
            info: dict[str, str] = self._calls.prepare("resolve", [name])()
        except (UnknownPluginError, HostRequestError) as error:
            raise ConfigError(f"Option connector.class={name}: {error}; further plugins are found in "
                              "headrace.plugin.path") from None  # fmt: skip
        if info["type"] != self.kind.value:
            other = "write or writeStream" if info["type"] == "sink" else "read or readStream"
            raise ConfigError(f"Option connector.class={name} is a {info['type']} connector: use it with {other}")
        return info

    def _configuration(self) -> dict[str, str]:
        config = restored({**self.options.connector, "connector.class": self._info["cls"]}, self._keys_of)
        config = {"name": _DEFAULT_NAME, **config, **self.options.exact}
        if self.kind is ConnectorType.SINK and not config.keys() & {"topics", "topics.regex"}:
            config["topics"] = _DEFAULT_TOPIC
        return config

    def _keys_of(self, plugin: str) -> list[str]:
        """The keys of a plugin; none if it is unknown, which validation reports."""
        try:
            return [key["name"] for key in self._calls.prepare("describe", [plugin, None])()]
        except UnknownPluginError:
            return []

    def _validate(self) -> None:
        response = self._calls.prepare("validate", [self.config])()
        problems = [
            f"option {config['value']['name']}: {error}"
            for config in response["configs"]
            for error in config["value"]["errors"]
        ]
        if problems:
            raise ConfigError(f"{self.raw['connector.class']} refuses its configuration: {'; '.join(problems)}")

    def _event(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "reconfigure":
            self._requests.set()
        elif event["event"] == "failed":
            self._failure = str(event["trace"]).strip()
        elif event["event"] == "lost":
            self._failure = str(event["reason"])
        elif event["event"] == "read_offsets":
            offsets = self.position.offsets([json.loads(text) for text in event["partitions"]])
            self._calls.offsets_read(event["number"], offsets, None)
