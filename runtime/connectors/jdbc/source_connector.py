"""JdbcSource reads tables or a query of a relational database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from runtime.api.config.definition import ConfigDef
from runtime.api.connector import ExactlyOnceSupport, SourceConnector, group_partitions
from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConfigError, ConnectError
from runtime.api.task import AlteredOffsets, SourceTask
from runtime.connectors.jdbc.connection_config import PASSWORD, URL, USER, ConnectionSettings, require_sqlalchemy
from runtime.connectors.jdbc.modes import Granularity, Mode, NumericMapping, ZeroDates
from runtime.connectors.jdbc.source_config import (
    CATALOG_PATTERN,
    GRANULARITY,
    INCREMENTING,
    MAX_WAIT,
    MODE,
    NON_NULL,
    NUMERIC,
    SCHEMA_PATTERN,
    TYPES,
    WHITELIST,
    ZERO_DATES,
    SourceSettings,
    conflicts,
    source_keys,
)

if TYPE_CHECKING:
    from runtime.connectors.jdbc.source.task import SourceReads
    from runtime.connectors.jdbc.table_monitor import TableMonitor

TASK_TABLES = "tables"
"""The key of a task's configuration with its tables, as JSON."""


class JdbcSourceTask(SourceTask):
    """Reads the tables of `tables`, or the query."""

    java_name = "headrace.JdbcSourceTask"
    reuses_records = False
    timestamps_are_now = True
    _reads: SourceReads | None = None

    def start(self, config: Mapping[str, str]) -> None:
        require_sqlalchemy()
        from runtime.connectors.jdbc.source.task import SourceReads, decoded

        settings = SourceSettings.of(config, JdbcSourceConnector.config_def)
        tables = decoded(config.get(TASK_TABLES, "[]"))
        self._reads = SourceReads(settings, tables, self.context.offsets.offset, self.context.add_offsets)

    def poll(self) -> Sequence[SourceRecord] | None:
        assert self._reads is not None
        try:
            return self._reads.poll()
        finally:
            self.idle_poll = self._reads.wait

    def stop(self) -> None:
        reads, self._reads = self._reads, None
        if reads is not None:
            reads.close()


class TableNames:
    """Recommends the names of the tables that the database has, for the whitelist only, so that a validation connects
    once."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        if name != WHITELIST:
            return []
        if not parsed.get(URL) or PASSWORD not in parsed or USER not in parsed:
            return []
        try:
            from runtime.connectors.jdbc.table_monitor import table_names

            settings = ConnectionSettings(parsed[URL], parsed[USER], parsed[PASSWORD], 1, 0.0)
            return table_names(
                settings, parsed.get(TYPES) or ["TABLE"], parsed.get(SCHEMA_PATTERN), parsed.get(CATALOG_PATTERN)
            )
        except (ImportError, ConnectError):  # the database is not needed for validation
            return []

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return not parsed.get("query")


class ModeColumns:
    """Shows the keys about columns in the modes that use them."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return []

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        mode = Mode(parsed[MODE]) if parsed.get(MODE) else Mode.BULK
        if name == INCREMENTING:
            return mode.incrementing
        return mode is not Mode.BULK if name in (NON_NULL, MAX_WAIT) else mode.timestamp


class SourceChoices:
    """Recommends the values of keys that have a fixed set of them."""

    _values: ClassVar[dict[str, tuple[str, ...]]] = {
        MODE: tuple(Mode),
        NUMERIC: tuple(NumericMapping),
        GRANULARITY: tuple(Granularity),
        ZERO_DATES: tuple(ZeroDates),
    }

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return [str(value) for value in self._values[name]]

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True


class JdbcSourceConnector(SourceConnector):
    """Distributes tables over tasks, and watches for new and dropped tables."""

    java_name = "headrace.JdbcSourceConnector"
    task_class = JdbcSourceTask
    config_def = ConfigDef(*source_keys(TableNames(), ModeColumns(), SourceChoices()), conflicts=conflicts)
    _monitor: TableMonitor | None = None

    def start(self, config: Mapping[str, str]) -> None:
        require_sqlalchemy()
        self._config = dict(config)
        settings = SourceSettings.of(config, self.config_def)
        if not settings.query:
            from runtime.connectors.jdbc.table_monitor import TableMonitor

            self._monitor = TableMonitor(settings, self.context.request_task_reconfiguration)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if self._monitor is None:
            return [self._config]
        from runtime.connectors.jdbc.source.task import encoded

        tables = self._monitor.tables
        groups = group_partitions(tables, min(max_tasks, len(tables))) if tables else []
        return [{**self._config, TASK_TABLES: encoded(group)} for group in groups]

    def stop(self) -> None:
        monitor, self._monitor = self._monitor, None
        if monitor is not None:
            monitor.stop()

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Modes with an incrementing column have an exact offset for each row."""
        try:
            mode = SourceSettings.of(config, self.config_def).mode
        except ConfigError:
            return ExactlyOnceSupport.UNSUPPORTED
        return ExactlyOnceSupport.SUPPORTED if mode.incrementing else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        from runtime.connectors.jdbc.source.offsets import check_change

        settings = SourceSettings.of(config, self.config_def)
        for partition, offset in offsets:
            check_change(settings.mode, bool(settings.query), partition, offset)
        return True
