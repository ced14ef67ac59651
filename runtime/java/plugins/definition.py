"""Definitions of Java plugins' keys, whose validators and recommenders are called in the JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from runtime.api.config.definition import REQUIRED, ConfigDef, ConfigKey, ConfigType, Importance, Width
from runtime.api.config.types import Password, to_text
from runtime.java.host.host import JavaClass, JavaHost, PluginObject

Instance = Callable[[], AbstractContextManager[PluginObject]]
"""An instance of the plugin that answers questions about its definition."""


def temporary(host: JavaHost, kind: str, plugin: JavaClass) -> Instance:
    """An instance for each use, which is neither configured nor started."""

    @contextmanager
    def use() -> Iterator[PluginObject]:
        made = host.create(kind, plugin, "definition")
        try:
            yield made
        finally:
            made.close()

    return use


def definition_of(instance: Instance) -> ConfigDef:
    """The keys as the JVM describes them. Raises the exception of config(), or HostLostError."""
    with instance() as plugin:
        keys: list[list[Any]] = plugin.call("definition")
    return ConfigDef(*(_key(instance, *key) for key in keys))


def _key(
    instance: Instance, name: str, kind: str, required: bool, default: Any, importance: str, doc: str | None,
    group: str | None, order: int, width: str, shown: str | None, dependents: Sequence[str] | None, validated: bool,
    recommended: bool,
) -> ConfigKey:  # fmt: skip
    return _JavaKey(
        name,
        ConfigType(kind),
        REQUIRED if required else default,
        Importance(importance),
        doc or "",
        _JavaValidator(instance) if validated else None,
        group,
        order,
        Width(width),
        shown,
        tuple(dependents or ()),
        _JavaRecommender(instance) if recommended else None,
    )


@dataclass(frozen=True, slots=True)
class _JavaKey(ConfigKey):
    """A key whose display name may be null, which Connect shows as such."""

    @property
    def shown_name(self) -> str | None:
        return self.display_name


@dataclass(frozen=True, slots=True)
class _JavaValidator:
    """Calls the validator of a key. Raises ConfigError for an invalid value."""

    instance: Instance

    def __call__(self, name: str, value: Any) -> None:
        with self.instance() as plugin:
            plugin.call("check", name, _text(value))


@dataclass(frozen=True, slots=True)
class _JavaRecommender:
    """Calls the recommender of a key."""

    instance: Instance

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self._ask(name, parsed)[0])

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return bool(self._ask(name, parsed)[1])

    def _ask(self, name: str, parsed: Mapping[str, Any]) -> Any:
        with self.instance() as plugin:
            return plugin.call("recommend", name, {key: _text(value) for key, value in parsed.items()})


def _text(value: Any) -> str | None:
    return value.value if isinstance(value, Password) else to_text(value)
