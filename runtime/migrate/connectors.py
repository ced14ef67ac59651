"""The connectors of a cluster: where their plugins come from here, and what their configs would be refused for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from runtime.config.properties import comma_separated
from runtime.doctor.check_result import CheckResult, bad, note, ok
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import ClientConfigError
from runtime.migrate.connect_cluster import RunningConnector
from runtime.plugins.plugin import Plugin
from runtime.plugins.registry import PluginRegistry

_CLIENTS = ("producer", "consumer", "admin")


@dataclass(frozen=True, slots=True)
class UsedPlugin:
    """A class that a config names, with the key, and the plugin of this name here, if there is one."""

    key: str
    cls: str
    plugin: Plugin | None


def used_plugins(config: Mapping[str, str], registry: PluginRegistry) -> Iterator[UsedPlugin]:
    """The connector, converters, transformations and predicates of a config."""
    keys = ["connector.class", "key.converter", "value.converter", "header.converter"]
    for kind in ("transforms", "predicates"):
        keys += [f"{kind}.{alias}.type" for alias in comma_separated(config.get(kind, ""))]
    for key in keys:
        if cls := config.get(key, "").strip():
            yield UsedPlugin(key, cls, registry.find(cls))


def check(
    connectors: Iterable[RunningConnector], props: Mapping[str, str], registry: PluginRegistry
) -> Iterator[CheckResult]:
    """The results for each connector: what is missing or refused, and where it runs."""
    for connector in connectors:
        problems = [*_plugins(connector, registry), *_clients(connector, props)]
        yield from problems
        if not any(problem.severity == "BAD" for problem in problems):
            yield ok("connector", f"{connector.name}: {_place(connector, registry)}")


def needs_jvm(connector: RunningConnector, registry: PluginRegistry) -> bool:
    """Whether one of its plugins is written in Java."""
    return any(used.plugin is not None and _is_java(used.plugin) for used in used_plugins(connector.config, registry))


def _plugins(connector: RunningConnector, registry: PluginRegistry) -> Iterator[CheckResult]:
    for used in used_plugins(connector.config, registry):
        if used.plugin is None:
            yield bad(
                "connector",
                f"{connector.name}: {used.key}={used.cls} is neither built in nor in plugin.path on this machine",
                "install the plugin here: headrace plugin install, or copy its folder",
            )


def _clients(connector: RunningConnector, props: Mapping[str, str]) -> Iterator[CheckResult]:
    """The client properties of a connector, of which those of the worker's file are part."""
    for kind in _CLIENTS:
        try:
            own = client_config(props, kind, connector.config)
            warnings = set(own.warnings) - set(client_config(props, kind, {}).warnings)
        except ClientConfigError as error:
            yield bad("connector", f"{connector.name}: {kind}: {error}", "the connector would be refused")
            continue
        for warning in sorted(warnings):
            yield note("connector", f"{connector.name}: {kind}.override.{warning}", "check that nothing depends on it")


def _place(connector: RunningConnector, registry: PluginRegistry) -> str:
    java = [used for used in used_plugins(connector.config, registry) if used.plugin and _is_java(used.plugin)]
    if not java:
        return "works as it is, with built-in plugins"
    return f"works as it is; in a JVM: {', '.join(used.cls.rpartition('.')[2] for used in java)}"


def _is_java(plugin: Plugin) -> bool:
    return plugin.language == "java"
