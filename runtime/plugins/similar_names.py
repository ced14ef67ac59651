"""Suggests the plugin that a misspelled class name or alias probably means."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.plugins.plugin import Plugin

_SIMILARITY = 0.8  # of 1, so that names of other vendors' plugins suggest nothing


def did_you_mean(name: str, plugins: Iterable[Plugin]) -> str:
    """` Did you mean NAME?` with an alias, or with the class of a plugin without one; empty if no plugin has a similar
    name. Case and package do not matter."""
    from difflib import get_close_matches

    known: dict[str, str] = {}
    for plugin in plugins:
        known[plugin.simple_name.lower()] = plugin.cls
        known |= {alias.lower(): alias for alias in plugin.aliases}
    close = get_close_matches(name.strip().rpartition(".")[2].lower(), list(known), 1, _SIMILARITY)
    return f" Did you mean {known[close[0]]}?" if close else ""
