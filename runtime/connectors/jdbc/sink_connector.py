"""JdbcSink writes records to tables of a relational database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from runtime.api.config.definition import ConfigDef
from runtime.api.data.record import SinkRecord
from runtime.api.errors import ConnectError, RetriableError
from runtime.api.task import SinkTask
from runtime.connectors.checked_config import GroupSinkConnector
from runtime.connectors.jdbc.connection_config import require_sqlalchemy
from runtime.connectors.jdbc.sink_config import (
    DATE_ZONE,
    DELETE,
    INSERT_MODE,
    PK_FIELDS,
    PK_MODE,
    InsertMode,
    KeyMode,
    SinkSettings,
    conflicts,
    sink_keys,
)

if TYPE_CHECKING:
    from runtime.connectors.jdbc.sink.writes import SinkWrites


class JdbcSinkTask(SinkTask):
    """Writes and commits each batch before put() returns, so that offsets are committed after the rows."""

    java_name = "headrace.JdbcSinkTask"
    takes_batches = True
    puts_on_thread = True  # most of put() is spent waiting for the database
    _writes: SinkWrites | None = None

    def start(self, config: Mapping[str, str]) -> None:
        require_sqlalchemy()
        from runtime.connectors.jdbc.sink.writes import SinkWrites

        self._writes = SinkWrites(SinkSettings.of(config, JdbcSinkConnector.config_def), self._failed)

    def put(self, records: Sequence[SinkRecord]) -> None:
        assert self._writes is not None
        try:
            self._writes.put(records)
        except RetriableError:
            self.context.timeout(self._writes.retry_backoff)
            raise

    def stop(self) -> None:
        writes, self._writes = self._writes, None
        if writes is not None:
            writes.close()

    def _failed(self, record: SinkRecord, error: Exception) -> None:
        reporter = self.context.errant_record_reporter
        if reporter is None:
            raise error if isinstance(error, ConnectError) else ConnectError(str(error))
        reporter.report(record, error)


class SinkChoices:
    """Recommends the values of keys that have a fixed set of them, and shows the keys that apply."""

    _values: ClassVar[dict[str, tuple[str, ...]]] = {
        INSERT_MODE: tuple(InsertMode),
        PK_MODE: tuple(KeyMode),
        DATE_ZONE: ("DB_TIMEZONE", "UTC"),
    }

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        if name == PK_MODE and str(parsed.get(INSERT_MODE)).lower() in (InsertMode.UPSERT, InsertMode.UPDATE):
            return [str(mode) for mode in KeyMode if mode is not KeyMode.NONE]
        return [str(value) for value in self._values.get(name, ())]

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        keys = str(parsed.get(PK_MODE)).lower()
        if name == PK_FIELDS:
            return keys != KeyMode.NONE
        return keys == KeyMode.RECORD_KEY if name == DELETE else True


class JdbcSinkConnector(GroupSinkConnector):
    """All tasks write with the same configuration."""

    java_name = "headrace.JdbcSinkConnector"
    task_class = JdbcSinkTask
    config_def = ConfigDef(*sink_keys(SinkChoices()), conflicts=conflicts)

    def start(self, config: Mapping[str, str]) -> None:
        require_sqlalchemy()
        super().start(config)
