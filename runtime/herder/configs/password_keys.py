"""Password keys of connector configurations: recognized by name, or defined as passwords by their plugin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from runtime.config.providers import has_variables
from runtime.config.secret_values import HIDDEN, is_password, may_be_password, passwords
from runtime.host.port import HostError, UnknownPluginError

Describe = Callable[[str], Awaitable[list[dict[str, Any]]]]
"""Returns the definitions of a plugin's keys."""

CONVERTERS = ("key.converter", "value.converter", "header.converter")


class PasswordKeys:
    """Finds password keys; each plugin is queried once. Event loop only."""

    def __init__(self, describe: Describe) -> None:
        self._describe = describe
        self._by_class: dict[str, frozenset[str]] = {}

    async def of(self, config: Mapping[str, str]) -> set[str]:
        found = {key for key in config if is_password(key)}
        for prefix, cls in _plugins(config):
            defined = await self._defined(cls)
            if defined is None:
                found |= {key for key in config if _is_own(key, prefix) and may_be_password(key)}
            else:
                found |= {prefix + key for key in defined if prefix + key in config}
        return found

    async def values(self, config: Mapping[str, str]) -> set[str]:
        """The values of this configuration that must not be shown."""
        return {config[key] for key in await self.of(config) if config[key]} | passwords(config)

    async def masked(self, config: Mapping[str, str], connector: Mapping[str, str] | None = None) -> dict[str, str]:
        """The configuration for clients that may not read passwords; variables are shown. `connector`: the connector's
        configuration, which names the plugins of a task's configuration."""
        keys = await self.of({**(connector or {}), **config})
        return {k: HIDDEN if k in keys and v and not has_variables(v) else v for k, v in config.items()}

    async def _defined(self, cls: str) -> frozenset[str] | None:
        """The keys that a plugin defines as passwords; None if its definitions are unknown, as of a removed plugin."""
        if cls not in self._by_class:
            try:
                keys = await self._describe(cls)
            except UnknownPluginError:
                return None
            except HostError as e:
                if e.temporary:
                    raise
                return None
            self._by_class[cls] = frozenset(k["name"] for k in keys if k["type"] == "PASSWORD")
        return self._by_class[cls]


def _is_own(key: str, prefix: str) -> bool:
    """Whether a key may be one of the plugin whose keys have this prefix."""
    return key.startswith(prefix) if prefix else not key.startswith(("transforms.", "predicates."))


def _plugins(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The plugins that a configuration names, with the prefix of their keys."""
    if cls := config.get("connector.class"):
        yield "", cls
    for kind in ("transforms", "predicates"):
        for alias in config.get(kind, "").split(","):
            prefix = f"{kind}.{alias.strip()}."
            if cls := config.get(f"{prefix}type"):
                yield prefix, cls
    for key in CONVERTERS:
        if cls := config.get(key):
            yield f"{key}.", cls
