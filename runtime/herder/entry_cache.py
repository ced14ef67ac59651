"""Caches views of connectors until their content changes, since consoles request all of them repeatedly."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


class EntryCache:
    """Views by connector. `version` changes with the content of the view; it is compared by identity and equality."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[object, dict[str, Any]]] = {}

    def get(self, name: str, version: object) -> dict[str, Any]:
        """The parts of the view that are known for this version; the caller adds those that are missing."""
        known = self._entries.get(name)
        if known is not None and known[0] == version:
            return known[1]
        fresh: dict[str, Any] = {}
        self._entries[name] = version, fresh
        return fresh

    def forget(self, name: str) -> None:
        """Build this view again next time."""
        self._entries.pop(name, None)

    def keep(self, names: Collection[str]) -> None:
        """Forget all other connectors."""
        if len(self._entries) > len(names):
            wanted = set(names)
            self._entries = {name: entry for name, entry in self._entries.items() if name in wanted}
