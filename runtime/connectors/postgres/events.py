"""Change events as records."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.data.record import Headers, SourceRecord
from runtime.api.data.schema import Schema
from runtime.api.task import Offset
from runtime.connectors.postgres.definition import CdcSettings
from runtime.connectors.postgres.envelope import (
    CONNECTOR,
    HEARTBEAT_KEY,
    HEARTBEAT_VALUE,
    TRANSACTION_KEY,
    TRANSACTION_VALUE,
)
from runtime.connectors.postgres.offsets import partition_of
from runtime.connectors.postgres.tables import RowReader
from runtime.connectors.postgres.wire.pgoutput import ReplicationOrigin

OLD_KEY, NEW_KEY = "__debezium.oldkey", "__debezium.newkey"


@dataclass(frozen=True, slots=True)
class TransactionSource:
    """The fields of `source` that the changes of a transaction share. `micros` is the time of its commit, in
    microseconds since 1970; `before` is the position behind the transaction that was committed last, or None. `origin`
    is set if the server has replicated the transaction from another one."""

    xid: int
    micros: int
    before: int | None
    origin: ReplicationOrigin | None = None


class ChangeEvents:
    """Makes records of the changes of all tables."""

    def __init__(self, settings: CdcSettings, version: str) -> None:
        """`version` is the value of `source.version`."""
        self.partition = partition_of(settings.prefix)
        self._settings = settings
        self._fixed = {"version": version, "connector": CONNECTOR, "name": settings.prefix}
        self._database = settings.server.database
        self._tombstones = settings.tombstones
        self._transaction_topic = f"{settings.prefix}.transaction"

    def source(
        self, table: RowReader, transaction: TransactionSource, lsn: int, snapshot: str = "false"
    ) -> dict[str, Any]:
        """The value of `source`."""
        before, micros, origin = transaction.before, transaction.micros, transaction.origin
        sequence = f'[null,"{lsn}"]' if before is None else f'["{before}","{lsn}"]'
        return {
            **self._fixed,
            "ts_ms": micros // 1000,
            "snapshot": snapshot,
            "db": self._database,
            "sequence": sequence,
            "ts_us": micros,
            "ts_ns": micros * 1000,
            "schema": table.schema,
            "table": table.name,
            "txId": transaction.xid,
            "lsn": lsn,
            "xmin": None,
            "origin": None if origin is None else origin.name,
            "origin_lsn": None if origin is None else origin.lsn,
        }

    def record(
        self, table: RowReader, op: str, key: dict[str, Any] | None, before: Any, after: Any,
        source: dict[str, Any], offset: Offset, transaction: dict[str, Any] | None = None,
        headers: Headers | None = None,
    ) -> SourceRecord:  # fmt: skip
        """A change event."""
        now = time.time_ns()
        value = {
            "before": before,
            "after": after,
            "source": source,
            "transaction": transaction,
            "op": op,
            "ts_ms": now // 1_000_000,
            "ts_us": now // 1000,
            "ts_ns": now,
        }
        return SourceRecord(
            self.partition, offset, table.topic, value, table.value_schema, key,
            None if key is None else table.key_schema, headers=headers,
        )  # fmt: skip

    def tombstone(
        self, table: RowReader, key: dict[str, Any] | None, offset: Offset, headers: Headers | None = None
    ) -> SourceRecord | None:
        """The record without value that follows a delete; None if the options exclude it."""
        if not self._tombstones:
            return None
        schema = None if key is None else table.key_schema
        return SourceRecord(self.partition, offset, table.topic, None, None, key, schema, headers=headers)

    def transaction(
        self, status: str, xid: int, lsn: int, micros: int, offset: Offset, counts: Mapping[str, int] | None = None
    ) -> SourceRecord:
        """The start or end of a transaction; `counts` are the events of each table, at the end."""
        key = {"id": f"{xid}:{lsn}"}
        collections = (
            None
            if counts is None
            else [{"data_collection": name, "event_count": count} for name, count in counts.items()]
        )
        value = {
            "status": status,
            "id": key["id"],
            "event_count": None if counts is None else sum(counts.values()),
            "data_collections": collections,
            "ts_ms": micros // 1000,
        }
        return SourceRecord(
            self.partition, offset, self._transaction_topic, value, TRANSACTION_VALUE, key, TRANSACTION_KEY
        )

    def heartbeat(self, offset: Offset) -> SourceRecord:
        """A record of the heartbeat topic."""
        key, value = {"serverName": self._settings.prefix}, {"ts_ms": time.time_ns() // 1_000_000}
        topic = self._settings.heartbeat_topic
        return SourceRecord(self.partition, offset, topic, value, HEARTBEAT_VALUE, key, HEARTBEAT_KEY)


def key_header(name: str, schema: Schema | None, key: dict[str, Any] | None) -> Headers:
    """The header that tells the other key of a row whose key was changed."""
    return [(name, schema, key)]
