"""The interface between the herder and the plugin host, where all third-party code of connectors runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from runtime.model.environment import Environment

HOST_DIED, HOST_ABSENT = "host", "absent"
"""Kinds of HostErrors that do not come from a plugin: the host, or the JVM of its Java plugins, died during the call,
or was not running."""

REFUSED = "refused"
"""The kind of a start that the worker refuses, although no plugin has raised an error: another start fails too."""

CALL_TIMEOUT = "timeout"
"""The kind with which the process reports a Java plugin that did not return in time, with the method as message; the
client raises PluginTimeoutError."""

_STAGES = {
    "definition": "retrieving the configuration definition from the connector",
    "start": "starting the connector",
    "validate": "performing multi-property validation for the connector",
}
"""Connect's descriptions of what a worker does when a method of a connector is called."""


class PluginTimeoutError(TimeoutError):
    """A plugin has not returned from a method in time (REST: 500, with Connect's sentence)."""

    def __init__(self, method: str, began: datetime, reason: str) -> None:
        stage = _STAGES.get(method, f"calling {method} of a plugin")
        since = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        super().__init__(f"Request timed out. The worker is currently {stage}, which began at {since}: {reason}")


class HostError(Exception):
    """A plugin raised an error. `kind` is config, data, unsupported, connect or other; `trace` is the stack trace.

    `kind` is HOST_DIED or HOST_ABSENT if the plugin is not at fault, and REFUSED if it has not been called.
    """

    def __init__(self, kind: str, message: str, trace: str) -> None:
        super().__init__(message)
        self.kind, self.message, self.trace = kind, message, trace

    @property
    def temporary(self) -> bool:
        """Whether the same call may succeed later, because the host failed and not the plugin that was called."""
        return self.kind in (HOST_DIED, HOST_ABSENT)

    @property
    def permanent(self) -> bool:
        """Whether a restart cannot help: someone must change the configuration or the plugin."""
        return self.kind == REFUSED


class HostRequestError(HostError):
    """The request is invalid, such as a configuration without connector class (REST: 400). Its kind is request."""

    def __init__(self, message: str) -> None:
        super().__init__("request", message, "")


class UnknownPluginError(Exception):
    """No plugin has this class name or alias; the message lists the available plugins in Connect's wording."""


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """Properties of a connector class that the herder needs to run connectors."""

    cls: str  # Java or Python class name, in full
    type: str  # "source" | "sink"
    version: str
    task_class: str  # as named in task configs' `task.class`
    task_target: str  # "package.module:Class", or the text of a JavaTarget, for slots
    environment: Environment | None = None  # of the plugins of a configuration
    targets: Mapping[str, str] = field(default_factory=dict)  # classes of its plugins by configuration key
    revision: str = ""  # changes with their code


class HostListener(Protocol):
    """Receives requests and errors of connectors; called on the worker's event loop."""

    def reconfigure(self, connector: str) -> None:
        """The connector requested new task configs."""

    def connector_failed(self, connector: str, trace: str) -> None:
        """The connector raised an error through its context."""

    def connector_metrics(self, connector: str, metrics: Sequence[Sequence[Any]]) -> None:
        """All metrics that the connector has registered: name, labels, value and description of each."""

    async def connector_offsets(self, connector: str, partitions: Sequence[str]) -> Sequence[Mapping[str, Any] | None]:
        """The offsets of these source partitions (as canonical text) that any worker has committed so far; raises if
        they cannot be read."""

    def connectors_lost(self, connectors: Sequence[str], reason: str) -> None:
        """The host died with these connectors, which must be started again."""


class PluginHost(Protocol):
    """Every call raises HostError if the plugin raises, and TimeoutError if the plugin does not return in time. A
    `temporary` HostError means that the process has ended, for any reason: the call may be repeated.

    A plugin that does not return ends the host, except in start_connector, task_configs and stop_connector. The host
    is started again, and each of its connectors is reported through HostListener.connectors_lost; the
    herder starts them again.
    """

    async def start(self) -> None:
        """Start the process, and return before it is up: calls wait for it."""

    async def close(self) -> None:
        """Stop every connector and the process. Raises no exception."""

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        """`{"class","type","version"}` in Connect's order."""

    async def resolve(self, connector_class: str, config: Mapping[str, str | None] | None = None) -> ConnectorInfo:
        """Find a connector class, in the version and environment that a configuration selects. UnknownPluginError if no
        plugin has this name, ConfigError if none has the version, or if the plugins are in different environments."""

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        """Definitions of a plugin's keys, as in GET /connector-plugins/{plugin}/config. UnknownPluginError if no plugin
        has this name, HostRequestError if the plugin has another version."""

    async def validate(self, config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        """The response of PUT /connector-plugins/{plugin}/config/validate, null values included. `text_only`: nothing
        that the configuration names is resolved, opened or run. UnknownPluginError for an unknown class,
        HostRequestError if the configuration names no class."""

    async def start_connector(self, name: str, config: Mapping[str, str]) -> None:
        """Create and start an instance; an instance of the same name is stopped first. Returns when start() returns,
        without a time limit, so TimeoutError is never raised. A cancelled caller calls stop_connector()."""

    async def stop_connector(self, name: str) -> None:
        """Stop the instance, if any, also during its start. Errors are logged. Returns within seconds: an instance
        that does not stop is abandoned, as in Connect. Raises neither HostError nor TimeoutError."""

    async def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        """Task configs of a started connector, with `task.class` and a sink's `topics` as Connect stores them. Waits
        without a time limit, so TimeoutError is never raised."""

    async def alter_source_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        """Call a source connector's alter_offsets() (KIP-875); True for definite, False for possible success."""

    async def alter_sink_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[str, int, int | None]]
    ) -> bool:
        """Call a sink connector's alter_offsets() with topic, partition and offset; as alter_source_offsets()."""
