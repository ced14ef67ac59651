"""The tables that a source connector distributes over its tasks, checked at intervals."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Connection

from runtime.api.errors import ConnectError
from runtime.connectors.jdbc.catalog.choice import catalog_of
from runtime.connectors.jdbc.connection_config import ConnectionSettings
from runtime.connectors.jdbc.database import Database
from runtime.connectors.jdbc.source_config import SourceSettings
from runtime.connectors.jdbc.tables import TableId
from runtime.connectors.jdbc.url_parameters import local_paths

_log = logging.getLogger(__name__)

_RECOMMENDATION_TIMEOUT = 3  # seconds, since a request to validate a configuration waits for it


class TableMonitor:
    """Reads the list of tables at once, and then on its own thread."""

    def __init__(self, settings: SourceSettings, changed: Callable[[], None]) -> None:
        """`changed` is called on another thread when tables appear or disappear. ConnectError if the database is not
        available after `connection.attempts` attempts, or if names are ambiguous."""
        self._settings, self._changed = settings, changed
        self._database = Database(settings.connection, reads_only=True)
        self._catalog = catalog_of(self._database.dialect)
        try:
            self.tables: list[TableId] = self._read(self._database.connect())
            """The selected tables, sorted by name."""
        finally:
            self._database.discard()
        missing = settings.filter.missing(self.tables)
        if missing:
            _log.warning("The database has no table named %s yet; waiting for it", ", ".join(missing))
        elif not self.tables:
            _log.warning("No table of the database matches the configuration yet; waiting for one")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jdbc-table-monitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, without waiting for a running statement."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._settings.table_poll_interval):
            try:
                tables = self._read(self._database.connection())
            except ConnectError as error:
                _log.warning("The list of tables could not be read: %s", error)
                continue
            finally:
                self._database.discard()
            if tables != self.tables and not self._stopped.is_set():
                _log.info("The tables have changed from %s to %s", _names(self.tables), _names(tables))
                self.tables = tables
                self._changed()
        self._database.close()

    def _read(self, connection: Connection) -> list[TableId]:
        settings = self._settings
        try:
            tables = self._catalog.tables(
                connection, settings.table_types, settings.schema_pattern, settings.catalog_pattern
            )
        except Exception as error:  # drivers raise errors of their own types
            raise self._database.translated(error, "Cannot read the list of tables") from None
        selected = settings.filter.selected(tables)
        by_name: dict[str, TableId] = {}
        for table in selected:
            other = by_name.setdefault(table.name, table)
            if other is not table:
                raise ConnectError(
                    f"The tables {other} and {table} have the same name and so the same topic: select one with "
                    "schema.pattern or table.include.list"
                )
        return selected


def _names(tables: Sequence[TableId]) -> str:
    return ", ".join(table.text for table in tables) or "none"


def table_names(
    settings: ConnectionSettings, types: Sequence[str], schema_pattern: str | None, catalog_pattern: str | None
) -> list[str]:
    """The names of all tables of these types; ConnectError if the database is not available. Creates no database."""
    database = Database(settings, timeout=_RECOMMENDATION_TIMEOUT)
    if any(path is None or not Path(path).exists() for path in local_paths(database.engine.url)):
        return []
    try:
        connection = database.connect()
        tables = catalog_of(database.dialect).tables(connection, types, schema_pattern, catalog_pattern)
        return sorted(table.text for table in tables)
    except ConnectError:
        raise
    except Exception as error:  # drivers raise errors of their own types
        raise database.translated(error, "Cannot read the list of tables") from None
    finally:
        database.close()
