"""The view of one connector that followers of the worker's events receive."""

from __future__ import annotations

from collections.abc import Collection

from runtime.herder import views
from runtime.herder.responses import EntryResponse, ExpandedResponse
from runtime.storage.configs import ConfigStore
from runtime.storage.statuses import StatusStore


class EntryCache:
    """Views by connector. A view is valid while `version` is equal to the version with which it was stored."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[object, ExpandedResponse]] = {}

    def get(self, name: str, version: object) -> ExpandedResponse:
        """The cached parts of the view in this version; the caller adds missing parts to the same dict."""
        known = self._entries.get(name)
        if known is not None and known[0] == version:
            return known[1]
        fresh: ExpandedResponse = {}
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


UNKNOWN = "unknown"
"""The type of a connector whose class this worker does not have."""


class ConnectorEntries:
    """Builds entries from the stores alone, without asking the plugin host. Event loop only."""

    def __init__(self, configs: ConfigStore, statuses: StatusStore) -> None:
        self._configs, self._statuses = configs, statuses
        self.types: dict[str, str] = {}
        """`source` or `sink` by connector class, for classes that the herder has looked up in the plugin host."""

    def entry(self, name: str) -> EntryResponse | None:
        """`{"name", "status", "info"}` of a connector; None if the connector or its status does not exist."""
        stored, connector = self._configs.connector(name), self._statuses.connector_status(name)
        if stored is None or connector is None:
            return None
        kind = self.types.get(stored.config.get("connector.class", ""), UNKNOWN)
        status = views.status(name, connector, self._statuses.task_statuses(name), kind)
        return {"name": name, "status": status, "info": views.info(name, stored.config, len(stored.tasks), kind)}
