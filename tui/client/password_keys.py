"""The config keys of type PASSWORD, whose values are secret whatever the name of the key."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from tui.errors import Refused

if TYPE_CHECKING:
    from tui.client.responses import KeyResponse


_UNKNOWN_PLUGIN = (400, 404)  # the statuses by which workers say that they do not have a plugin
ASK_AGAIN = 10.0  # seconds after which a plugin that the worker did not have or define is asked for again


class PasswordKeys:
    """Reads the definitions of each plugin once; `read` is `Connect.plugin_config` (KIP-769)."""

    def __init__(
        self, read: Callable[[str], Awaitable[Iterable[KeyResponse]]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read, self._clock = read, clock
        self._plugins: dict[str, frozenset[str]] = {}
        self._refused_at: dict[str, float] = {}  # by plugin, without those whose definitions have been read

    async def of(self, *configs: Mapping[str, str] | None) -> frozenset[str]:
        """The keys that the connector classes, converters, transformations and predicates of these configs define as
        PASSWORD: none of a plugin that the worker does not have, and all of one whose definitions it refuses to give.
        Raises HeadraceError without a response."""
        for plugin in {plugin: None for config in filter(None, configs) for _, plugin in _plugins(config)}:
            await self._learn(plugin)
        return frozenset(key for config in filter(None, configs) for key in self._in(config))

    def hidden(self, config: Mapping[str, str]) -> frozenset[str]:
        """The same by the definitions that have been read, without a request: all keys of the other plugins, and all
        keys of a config that names no connector class, such as the body of a PATCH."""
        return frozenset(self._in(config) if config.get("connector.class") else config)

    def has_read(self, config: Mapping[str, str]) -> bool:
        """Whether the definitions of all plugins of the config are known, so that `of` would ask for none."""
        return all(plugin in self._plugins and not self._would_ask(plugin) for _, plugin in _plugins(config))

    def _would_ask(self, plugin: str) -> bool:
        refused_at = self._refused_at.get(plugin)
        return plugin not in self._plugins if refused_at is None else self._clock() - refused_at >= ASK_AGAIN

    def _in(self, config: Mapping[str, str]) -> Iterator[str]:
        for prefix, plugin in _plugins(config):
            if plugin in self._plugins:
                yield from (prefix + key for key in self._plugins[plugin])
            else:
                yield from (key for key in config if key.startswith(prefix))

    async def _learn(self, plugin: str) -> None:
        if not self._would_ask(plugin):
            return
        try:
            response = await self._read(plugin)
        except Refused as error:
            self._refused_at[plugin] = self._clock()
            if error.status in _UNKNOWN_PLUGIN:
                self._plugins[plugin] = frozenset()
            else:
                self._plugins.pop(plugin, None)
        else:
            self._refused_at.pop(plugin, None)
            self._plugins[plugin] = frozenset(key["name"] for key in response if key.get("type") == "PASSWORD")


def _plugins(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The plugins that a config names, each with the prefix of its keys."""
    places = {"": "connector.class"}
    places |= {f"{kind}.converter.": f"{kind}.converter" for kind in ("key", "value", "header")}
    for kind in ("transforms", "predicates"):
        aliases = [alias.strip() for alias in str(config.get(kind) or "").split(",")]
        places |= {f"{kind}.{alias}.": f"{kind}.{alias}.type" for alias in aliases if alias}
    for prefix, key in places.items():
        if plugin := config.get(key):
            yield prefix, str(plugin)
