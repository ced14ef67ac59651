"""A cache of connectors' views: consoles request the views of all connectors every few seconds."""

from __future__ import annotations

from collections.abc import Collection

from runtime.herder.answers import ExpandedAnswer


class EntryCache:
    """Views by connector. A view is valid while `version` is equal to the version with which it was stored."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[object, ExpandedAnswer]] = {}

    def get(self, name: str, version: object) -> ExpandedAnswer:
        """The cached parts of the view in this version; the caller adds missing parts to the same dict."""
        known = self._entries.get(name)
        if known is not None and known[0] == version:
            return known[1]
        fresh: ExpandedAnswer = {}
        self._entries[name] = version, fresh
        return fresh

    def forget(self, name: str) -> None:
        """Drop this view, so that it is built again at the next request."""
        self._entries.pop(name, None)

    def keep(self, names: Collection[str]) -> None:
        """Drop the views of all other connectors."""
        if len(self._entries) > len(names):
            wanted = set(names)
            self._entries = {name: entry for name, entry in self._entries.items() if name in wanted}
