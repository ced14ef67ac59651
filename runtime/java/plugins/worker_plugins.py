"""Java config providers, and Java policies for client settings."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from runtime.api.errors import ConfigError, ConnectError
from runtime.java.errors import CallTimeoutError, HostLostError, HostStartError
from runtime.java.host.deadline import limited
from runtime.java.host.host import JavaClass, JavaHost, PluginObject
from runtime.java.host.jvm import PluginMetric

_log = logging.getLogger(__name__)

CALL_TIMEOUT = 20.0
"""Seconds for a call of a plugin, once the JVM runs."""

CLOSE_TIMEOUT = 5.0
"""Seconds for close(), when the worker ends."""


class _Configured:
    """An instance that is created again when its JVM has ended. Calls raise ConfigError. Thread-safe."""

    def __init__(
        self, host: JavaHost, kind: str, plugin: JavaClass, parameters: Mapping[str, str], timeout: float = CALL_TIMEOUT
    ) -> None:
        self._host, self._kind, self._plugin, self._parameters = host, kind, plugin, dict(parameters)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._made: PluginObject | None = None
        self.call_java("configure")

    def call_java(self, name: str, *arguments: Any) -> Any:
        """The answer to a call; `configure` only creates the instance."""
        self._start_host()
        try:
            with limited(self._timeout):
                made = self._instance()
                return None if name == "configure" else made.call(name, *arguments)
        except (HostLostError, CallTimeoutError) as error:
            if self._made is not None:
                self._made.close()
            raise ConfigError(f"{self._plugin.name} has not answered: {error}") from error
        except ConnectError as error:
            raise ConfigError(f"{self._plugin.name}: {error}") from error

    def metrics(self) -> Sequence[PluginMetric]:
        """Those that the instance has registered; none after its JVM has ended."""
        made = self._made
        return made.metrics if made is not None and self._host.holds(made) else ()

    def close(self) -> None:
        """Call the plugin's close(), if its JVM runs."""
        if self._made is None or not self._host.holds(self._made):
            return
        try:
            with limited(CLOSE_TIMEOUT):
                self._made.call("close")
        except ConnectError as error:
            _log.warning("%s was not closed: %s", self._plugin.name, error)

    def _start_host(self) -> None:
        """The first time this may download jars, for longer than a plugin has for a call."""
        try:
            self._host.start()
        except (HostLostError, HostStartError) as error:
            raise ConfigError(f"Java plugins cannot run: {error}") from error

    def _instance(self) -> PluginObject:
        with self._lock:
            if self._made is None or not self._host.holds(self._made):
                made = self._host.create(self._kind, self._plugin, self._kind)
                try:
                    made.call("configure", self._parameters)
                except BaseException:
                    made.close()
                    raise
                self._made = made
            return self._made


class JavaConfigProvider:
    """A Java ConfigProvider. Thread-safe."""

    def __init__(
        self, host: JavaHost, plugin: JavaClass, parameters: Mapping[str, str], timeout: float = CALL_TIMEOUT
    ) -> None:
        """ConfigError with the exception of its constructor or configure()."""
        self._plugin = _Configured(host, "config_provider", plugin, parameters, timeout)
        self._ttls: dict[str, float] = {}

    def values(self, path: str, keys: Collection[str]) -> Mapping[str, str | None]:
        variables: dict[str, str | None]
        variables, ttl = self._plugin.call_java("get", path, list(keys))
        if ttl is None:
            self._ttls.pop(path, None)
        else:
            self._ttls[path] = ttl / 1000
        return variables

    def ttl(self, path: str) -> float | None:
        return self._ttls.get(path)

    def close(self) -> None:
        """Close the provider."""
        self._plugin.close()


class JavaClientPolicy:
    """A Java ConnectorClientConfigOverridePolicy. Thread-safe."""

    def __init__(self, host: JavaHost, plugin: JavaClass, parameters: Mapping[str, str]) -> None:
        """ConfigError with the exception of its constructor or configure()."""
        name = plugin.name.rpartition(".")[2]
        self._labels = {"config": "connector.client.config.override.policy", "class": name}
        self._plugin = _Configured(host, "override_policy", plugin, parameters)

    @property
    def metrics(self) -> Sequence[tuple[str, Mapping[str, str], float, str]]:
        """See MonitoredPolicy."""
        samples = []
        for name, description, tags, value in self._plugin.metrics():
            own = {tag: text for tag, text in tags.items() if text}
            samples.append((name, {**self._labels, **own}, value, description))
        return samples

    def refusals(
        self, name: str, kind: str, connector_class: str, client: str, settings: Mapping[str, str], parsed: bool = False
    ) -> dict[str, Sequence[str]]:
        settings_errors = self._plugin.call_java(
            "validate", name, kind.upper(), connector_class, client.upper(), dict(settings), parsed
        )
        return {setting: errors for setting, errors in settings_errors if errors}

    def close(self) -> None:
        """Close the policy."""
        self._plugin.close()
