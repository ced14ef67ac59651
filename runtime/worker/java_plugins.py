"""Java plugins of the worker itself: config providers and the policy for client settings. They run in a JVM of their
own, which starts if the worker's file names one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.api.errors import ConfigError
from runtime.config.foreign_plugins import ClientPolicy, ConfigProvider
from runtime.config.properties import comma_separated

if TYPE_CHECKING:
    from runtime.java.discovery.java_plugin import JavaPluginType
    from runtime.java.host.host import JavaClass, JavaHost
    from runtime.java.host.process import JvmEnd, JvmSettings
    from runtime.java.plugins.worker_plugins import JavaClientPolicy, JavaConfigProvider

_log = logging.getLogger(__name__)

_HEAP = 64  # MB


class WorkerJava:
    """Only classes with an entry in META-INF/services of a jar in `plugin.path` are used."""

    def __init__(self) -> None:
        self._host: JavaHost | None = None
        self._plugins: list[JavaConfigProvider | JavaClientPolicy] = []

    def provider(self, props: Mapping[str, str], cls: str, parameters: Mapping[str, str]) -> ConfigProvider | None:
        from runtime.java.discovery.java_plugin import JavaPluginType
        from runtime.java.plugins.worker_plugins import JavaConfigProvider

        plugin = _find(props, cls, JavaPluginType.CONFIG_PROVIDER)
        if plugin is None:
            return None
        provider = JavaConfigProvider(self._running(props), plugin, parameters)
        self._plugins.append(provider)
        return provider

    def policy(self, props: Mapping[str, str], cls: str) -> ClientPolicy | None:
        from runtime.java.discovery.java_plugin import JavaPluginType
        from runtime.java.plugins.worker_plugins import JavaClientPolicy

        suffix = "ConnectorClientConfigOverridePolicy"
        if cls.removeprefix(_OWN_POLICIES).removesuffix(suffix) in _OWN_NAMES:
            return None
        plugin = _find(props, cls, JavaPluginType.OVERRIDE_POLICY)
        if plugin is None:
            return None
        policy = JavaClientPolicy(self._running(props), plugin, props)
        self._plugins.append(policy)
        return policy

    def close(self) -> None:
        """Close the plugins and end their JVM."""
        for plugin in self._plugins:
            plugin.close()
        if self._host is not None:
            self._host.stop()

    def _running(self, props: Mapping[str, str]) -> JavaHost:
        from runtime.java.host.host import JavaHost
        from runtime.java.host.watch import HostWatch

        if self._host is None:
            self._host = JavaHost(lambda: _settings(props), _ended)
            HostWatch(self._host, lambda owners, reason: None).start()
        return self._host


_OWN_POLICIES = "org.apache.kafka.connect.connector.policy."
_OWN_NAMES = ("All", "None", "Principal", "Allowlist")


def check_service_entries(folders: Sequence[str], discovery: str) -> None:
    """With `plugin.discovery=hybrid_fail`, plugins without an entry in META-INF/services are a ConfigError."""
    from runtime.java.discovery.scan import MissingServiceEntryError, PluginDiscovery, scan
    from runtime.system.cache import cache_folder

    if discovery == PluginDiscovery.HYBRID_FAIL:
        try:
            scan(folders, PluginDiscovery.HYBRID_FAIL, cache_folder() / "java-plugins")
        except MissingServiceEntryError as error:
            raise ConfigError(str(error)) from None


def _find(props: Mapping[str, str], name: str, kind: JavaPluginType) -> JavaClass | None:
    """The class of this name or alias, of the last location that has it."""
    from runtime.java.discovery.connect_api import is_named
    from runtime.java.discovery.locations import class_path
    from runtime.java.discovery.scan import scan
    from runtime.java.host.host import JavaClass
    from runtime.system.cache import cache_folder

    for plugin in reversed(scan(comma_separated(props.get("plugin.path", "")), cache=cache_folder() / "java-plugins")):
        if kind in plugin.types and is_named(plugin.cls, kind, name):
            return JavaClass(plugin.cls, str(plugin.location), [str(jar) for jar in class_path(Path(plugin.location))])
    return None


def _ended(end: JvmEnd, owners: frozenset[int]) -> None:
    """The next call of a plugin starts another JVM."""
    _log.log(logging.INFO if end.planned else logging.ERROR, "%s", end.reason)


def _settings(props: Mapping[str, str]) -> JvmSettings:
    from runtime.java.host.install import host_settings
    from runtime.java.jvm.errors import JvmError
    from runtime.java.jvm.java import find_java
    from runtime.plugins.registry import java_names

    try:
        settings = host_settings(find_java(), _HEAP, more=props.get("headrace.java.options", "").split())
        return replace(settings, names=java_names(comma_separated(props.get("plugin.path", ""))))
    except JvmError as error:
        raise ConfigError(f"Java plugins cannot run: {error}") from error
