"""The view of one connector that followers of the worker's events receive."""

from __future__ import annotations

from runtime.herder import views
from runtime.herder.answers import EntryAnswer
from runtime.storage.configs import ConfigStore
from runtime.storage.statuses import StatusStore

UNKNOWN = "unknown"
"""The type of a connector whose class this worker does not have."""


class ConnectorEntries:
    """Builds entries from the stores alone, without asking the plugin host. Event loop only."""

    def __init__(self, configs: ConfigStore, statuses: StatusStore) -> None:
        self._configs, self._statuses = configs, statuses
        self.types: dict[str, str] = {}
        """`source` or `sink` by connector class, for classes that the herder has looked up in the plugin host."""

    def entry(self, name: str) -> EntryAnswer | None:
        """`{"name", "status", "info"}` of a connector; None if the connector or its status does not exist."""
        stored, connector = self._configs.connector(name), self._statuses.connector_status(name)
        if stored is None or connector is None:
            return None
        kind = self.types.get(stored.config.get("connector.class", ""), UNKNOWN)
        status = views.status(name, connector, self._statuses.task_statuses(name), kind)
        return {"name": name, "status": status, "info": views.info(name, stored.config, len(stored.tasks), kind)}
