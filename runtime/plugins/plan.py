"""The plugins that a connector's configuration selects, and the environment in which all of them run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runtime.api.errors import ConfigError
from runtime.model.environment import Environment
from runtime.plugins.functions import function_modules
from runtime.plugins.plugin import Plugin, PluginType
from runtime.plugins.registry import CONNECTORS, PluginRegistry
from runtime.plugins.versions import mismatch, satisfies
from runtime.transforms.python_udf.reference import FUNCTION, PYTHON_UDF

_VERSION = ".plugin.version"
_CONVERTERS = {
    "key.converter": PluginType.CONVERTER,
    "value.converter": PluginType.CONVERTER,
    "header.converter": PluginType.HEADER_CONVERTER,
}
_CHAIN = {"transforms": PluginType.TRANSFORMATION, "predicates": PluginType.PREDICATE}


DATA_SOURCE = "data.source"
DATA_SOURCES = ("headrace.DataSourceConnector", "headrace.DataSourceSinkConnector")
"""Connectors whose code is that of the class in DATA_SOURCE, which may be in an environment."""


_SELECTING = {
    "connector.class", "connector.plugin.version", DATA_SOURCE, *_CHAIN,
    *(f"{key}{end}" for key in _CONVERTERS for end in ("", _VERSION)),
}  # fmt: skip


class UnknownConnectorError(LookupError):
    """No connector plugin has the name in `connector.class`."""


@dataclass(frozen=True, slots=True)
class PluginPlan:
    """The plugins of one connector. `targets` are their classes by configuration key; `revision` changes with their
    code."""

    connector: Plugin
    environment: Environment | None
    targets: Mapping[str, str]
    revision: str
    uses_java: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A configuration key that selects a plugin, and the plugins that it may mean, newest first."""

    key: str
    name: str
    candidates: Sequence[Plugin]

    def within(self, environment: str, location: str = "") -> Plugin | None:
        """The newest plugin that may be used in an environment; the environment's own ones first. Java plugins in the
        `location` of the connector come before others, as in Connect."""
        if location and self.candidates and self.candidates[0].language == "java":
            own = next((p for p in self.candidates if p.language == "java" and p.package == location), None)
            if own is not None:
                return own
        return next(
            (p for wanted in dict.fromkeys((environment, "")) for p in self.candidates if p.environment == wanted), None
        )


def selects_plugins(key: str) -> bool:
    """Whether plan() reads a key of a configuration."""
    ends = (".type", _VERSION, f".{FUNCTION}")
    return key in _SELECTING or (key.startswith(tuple(f"{part}." for part in _CHAIN)) and key.endswith(ends))


def plan(config: Mapping[str, str | None], defaults: Mapping[str, str], registry: PluginRegistry) -> PluginPlan:
    """The plan for a configuration with variables resolved. `defaults` are the worker's converters by key, and their
    versions, which apply to connectors without converters of their own.
    UnknownConnectorError, and ConfigError if no plugin has the version, or if the plugins are in different
    environments. Plugins of the chain that do not exist are left out, as are versions without a converter."""
    unused = {key for key in _CONVERTERS if config.get(key) is None}
    used = {key: value for key, value in defaults.items() if key.removesuffix(_VERSION) in unused}
    own = {key: value for key, value in config.items() if key.removesuffix(_VERSION) not in unused}
    parts = [part for part in _parts({**own, **used}, registry) if part.candidates]
    connector, others = parts[0], parts[1:]
    newest = connector.candidates[0].version
    environments = [p.environment for p in connector.candidates if p.version == newest]
    if "" in environments:
        environments += [p.environment for part in others for p in part.candidates]
    for environment in dict.fromkeys(environments):
        chosen = _chosen(parts, environment, config)
        plugins = [plugin for plugin in chosen if plugin is not None]
        if len(plugins) == len(parts):
            targets = {part.key: plugin.target for part, plugin in zip(parts, plugins, strict=True)}
            java = any(plugin.language == "java" for plugin in plugins)
            return PluginPlan(plugins[0], environment_of(plugins, registry), targets, _revision(plugins), java)
    raise ConfigError(_conflict(parts))


def _chosen(parts: Sequence[_Part], environment: str, config: Mapping[str, str | None]) -> list[Plugin | None]:
    """A plugin for each part. The worker's own converters are independent of the connector."""
    connector = parts[0].within(environment)
    location = connector.package if connector is not None and connector.language == "java" else ""
    others = [part.within(environment, location if part.key in config else "") for part in parts[1:]]
    return [connector, *others]


def environment_of(plugins: Sequence[Plugin], registry: PluginRegistry) -> Environment | None:
    """The environment of plugins that run together. Code that has been reloaded needs new processes, so that such an
    environment has an id of its own."""
    own = next((plugin.environment for plugin in plugins if plugin.environment), "")
    reloaded = max((plugin.reloaded for plugin in plugins), default=0)
    environment = registry.catalog.environments.get(own)
    if not reloaded:
        return environment
    return replace(environment or Environment(""), id=f"{own}~{reloaded}")


def _parts(config: Mapping[str, str | None], registry: PluginRegistry) -> Iterator[_Part]:
    name = (config.get("connector.class") or "").strip()
    candidates = registry.candidates(name, CONNECTORS)
    if not candidates:
        raise UnknownConnectorError(name)
    wanted = config.get("connector.plugin.version")
    matching = [plugin for plugin in candidates if satisfies(wanted, plugin.version)]
    if wanted is not None and not matching:
        raise ConfigError(mismatch(candidates[0].cls, wanted, registry.versions(candidates[0].cls)) or "")
    yield _Part("connector.class", name, matching)
    if candidates[0].cls in DATA_SOURCES:
        text = (config.get(DATA_SOURCE) or "").strip()
        yield _Part(DATA_SOURCE, text, function_modules(text, registry))
    for key, kind in _CONVERTERS.items():
        yield _part(key, f"{key}.plugin.version", kind, config, registry)
    for key, kind in _CHAIN.items():
        for alias in (config.get(key) or "").split(","):
            prefix = f"{key}.{alias.strip()}"
            part = _part(f"{prefix}.type", f"{prefix}.plugin.version", kind, config, registry)
            yield part
            if any(plugin.cls == PYTHON_UDF for plugin in part.candidates):
                key_of_function = f"{prefix}.{FUNCTION}"
                text = (config.get(key_of_function) or "").strip()
                yield _Part(key_of_function, text, function_modules(text, registry))


def _part(
    key: str, version_key: str, kind: PluginType, config: Mapping[str, str | None], registry: PluginRegistry
) -> _Part:
    name, wanted = (config.get(key) or "").strip(), config.get(version_key)
    candidates = registry.candidates(name, (kind,))
    matching = [plugin for plugin in candidates if satisfies(wanted, plugin.version)]
    if wanted is not None and candidates and not matching:
        raise ConfigError(mismatch(candidates[0].cls, wanted, registry.versions(candidates[0].cls)) or "")
    return _Part(key, name, matching)


def _conflict(parts: Sequence[_Part]) -> str:
    """Names two parts that have no environment in common."""
    first = next((part for part in parts if part.within("") is None), parts[0])
    own = first.candidates[0].environment
    other = next((part for part in parts if part.within(own) is None), parts[-1])
    environments = ", ".join(sorted({plugin.environment for plugin in other.candidates}))
    return (
        f"{first.key}={first.name} is in the plugin environment {own}, but {other.key}={other.name} is in "
        f"{environments}: all plugins of a connector must be in the same environment, or in none. Add the wheels of "
        "one to the folder of the other"
    )


def _revision(plugins: Sequence[Plugin]) -> str:
    parts = sorted({f"{p.target} {p.version} {p.environment} {p.revision}" for p in plugins})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
