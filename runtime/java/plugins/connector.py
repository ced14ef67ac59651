"""Java connectors as SourceConnector and SinkConnector."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from runtime.api.config.definition import ConfigDef, ConfigType, ConfigValue
from runtime.api.config.types import Password
from runtime.api.connector import Connector, ExactlyOnceSupport, SinkConnector, SourceConnector, SourceConnectorContext
from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.api.task import AlteredOffsets
from runtime.java.errors import java_error
from runtime.java.host.host import JavaClass, JavaHost
from runtime.java.plugins.definition import definition_of
from runtime.java.plugins.source_task import read_offsets
from runtime.java.plugins.started import StartedPlugin


class JavaConnector(StartedPlugin, Connector):
    """What Java's source and sink connectors have in common. The class of its tasks is `task_name`, in Java."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self._host = host
        self.metrics_owner = self.plugin = host.create("connector", plugin, "connector", self._context_call)
        self._definition: ConfigDef | None = None

    @property
    def definition(self) -> ConfigDef:
        """The keys of the connector."""
        if self._definition is None:
            self._definition = definition_of(lambda: contextlib.nullcontext(self.plugin))
        return self._definition

    @property
    def lost(self) -> bool:
        """Whether the JVM of this connector has ended."""
        return not self._host.holds(self.plugin)

    @property
    def task_name(self) -> str:
        """The Java class of the tasks."""
        name: str = self.plugin.call("task_class")
        return name

    def validate(self, config: Mapping[str, str | None]) -> list[ConfigValue]:
        types = {key.name: key.type for key in self.definition}
        return [
            ConfigValue(name, _typed(value, types.get(name)), recommended, errors, visible)
            for name, value, recommended, errors, visible in self.plugin.call("validate", dict(config))
        ]

    def start(self, config: Mapping[str, str]) -> None:
        self.plugin.call("start", dict(config))

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        configs: list[dict[str, str]] = self.plugin.call("task_configs", max_tasks)
        return configs

    def close(self) -> None:
        """Release an instance that was not started. A running call is interrupted and raises HostLostError."""
        self.plugin.close()

    def _context_call(self, name: str, argument: Any) -> Any:
        if name == "reconfigure":
            self.context.request_task_reconfiguration()
        elif name == "raise_error":
            self.context.raise_error(java_error(argument))
        elif name == "offsets":
            return read_offsets(cast("SourceConnectorContext", self.context).offsets, argument)
        else:
            raise ConnectError(f"{name} is not available to a connector")
        return None


class JavaSourceConnector(JavaConnector, SourceConnector):
    """A Java source connector."""

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        response = self.plugin.call("exactly_once_support", dict(config))
        return None if response is None else ExactlyOnceSupport(response)

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        return bool(self.plugin.call("transaction_boundaries", dict(config)) == "SUPPORTED")

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        pairs = [[_plain(partition), _plain(offset)] for partition, offset in offsets]
        return bool(self.plugin.call("alter_source_offsets", dict(config), pairs))


class JavaSinkConnector(JavaConnector, SinkConnector):
    """A Java sink connector."""

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        triples = [[*partition, offset] for partition, offset in offsets.items()]
        return bool(self.plugin.call("alter_sink_offsets", dict(config), triples))


def _typed(value: Any, kind: ConfigType | None) -> Any:
    """Secrets arrive hidden; other values as text, which is also how they are shown."""
    return Password(value) if kind is ConfigType.PASSWORD and isinstance(value, str) else value


def _plain(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else dict(values)
