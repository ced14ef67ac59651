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
        found: set[str] = set()
        for config in filter(None, configs):
            for prefix, plugin in _plugins(config):
                try:
                    found.update(prefix + key for key in await self._of_plugin(plugin))
                except ServerError:
                    found.update(key for key in config if key.startswith(prefix))
        self.found |= found
        return frozenset(found)

    async def _of_plugin(self, plugin: str) -> frozenset[str]:
        if plugin not in self._plugins:
            try:
                answer = await self._read(plugin)
            except (NotFound, BadRequest):
                answer = ()
            self._plugins[plugin] = frozenset(one["name"] for one in answer if one.get("type") == "PASSWORD")
        return self._plugins[plugin]


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
