"""The config keys of type PASSWORD, whose values are secret whatever the name of the key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from tui.errors import BadRequest, NotFound, ServerError

if TYPE_CHECKING:
    from tui.client.answer_types import KeyAnswer


class PasswordKeys:
    """Reads the definitions of each plugin once; `read` is `Connect.plugin_config` (KIP-769)."""

    def __init__(self, read: Callable[[str], Awaitable[Iterable[KeyAnswer]]]) -> None:
        self._read = read
        self._plugins: dict[str, frozenset[str]] = {}
        self.found: set[str] = set()  # by all calls of `of`

    async def of(self, *configs: Mapping[str, str] | None) -> frozenset[str]:
        """The keys that the connector classes, converters, transformations and predicates of these configs define as
        PASSWORD: none of a plugin that the worker does not know, and all of one whose definitions it fails to give.
        Raises HeadraceError without an answer."""
        for config in filter(None, configs):
            for _, plugin in _plugins(config):
                await self._learn(plugin)
        found = {key for config in filter(None, configs) for key in self._in(config)}
        self.found |= found
        return frozenset(found)

    def known(self, config: Mapping[str, str]) -> frozenset[str] | None:
        """The same of the definitions that have been read; None if some are missing."""
        if any(plugin not in self._plugins for _, plugin in _plugins(config)):
            return None
        return frozenset(self._in(config))

    def _in(self, config: Mapping[str, str]) -> Iterator[str]:
        for prefix, plugin in _plugins(config):
            if plugin in self._plugins:
                yield from (prefix + key for key in self._plugins[plugin])
            else:
                yield from (key for key in config if key.startswith(prefix))

    async def _learn(self, plugin: str) -> None:
        if plugin in self._plugins:
            return
        try:
            answer = await self._read(plugin)
        except (NotFound, BadRequest):
            answer = ()
        except ServerError:
            return
        self._plugins[plugin] = frozenset(one["name"] for one in answer if one.get("type") == "PASSWORD")


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
