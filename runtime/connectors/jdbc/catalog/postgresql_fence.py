"""Open transactions of PostgreSQL.

A sequence numbers a row while its INSERT holds a lock on the table, which the transaction keeps to its end. The time of
`now()` is older: that of the transaction's start, long before its first lock. A transaction gives its locks back after
its rows have become visible. Subtransactions use the locks of their transaction, and PREPARE TRANSACTION keeps them.

A standby knows only those transactions of its primary that have written. They are numbered in the order in which they
began to write, and its snapshots tell which of them have ended.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from sqlalchemy import Connection, text

from runtime.connectors.jdbc.catalog.fence import REGISTRATION, SOURCE_NAME, Fence, ListedFence, ListedTransaction

_DATABASE = "(SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"
_WRITERS = text(
    "WITH RECURSIVE tree AS (SELECT c.oid FROM pg_catalog.pg_class c "
    "WHERE c.oid = to_regclass(CAST(:name AS text)) AND c.relkind IN ('r', 'p') "
    "UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid) "
    "SELECT DISTINCT l.virtualtransaction, l.pid FROM pg_catalog.pg_locks l "
    "JOIN pg_catalog.pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' "
    "WHERE l.locktype = 'relation' AND l.granted "
    "AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') "
    f"AND l.database = {_DATABASE} AND l.pid IS DISTINCT FROM pg_backend_pid() AND CASE "
    "WHEN EXISTS (SELECT FROM tree) THEN l.relation IN (SELECT oid FROM tree) ELSE l.relation >= 16384 END"
)
"""Transactions that write to a table, its partitions or its children; for anything else, to any table that is not
PostgreSQL's own."""

_OPEN = text(
    "SELECT l.virtualtransaction, l.pid FROM pg_catalog.pg_locks l "
    "LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid "
    "WHERE l.granted AND l.mode = 'ExclusiveLock' "
    "AND (l.locktype = 'virtualxid' OR l.locktype = 'transactionid' AND l.pid IS NULL) "
    "AND l.pid IS DISTINCT FROM pg_backend_pid() "
    f"AND (a.pid IS NULL OR a.datid = {_DATABASE} AND a.application_name <> :readers "
    "AND a.backend_type IS DISTINCT FROM 'autovacuum worker') "
    "AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_vacuum v WHERE v.pid = l.pid)"
)
"""All transactions of the database, also those that have not written yet. One without a session is prepared."""


def postgres_fence(connection: Connection, table: str | None, has_written: bool) -> Fence:
    """A fence for the transactions that write to this table (None: to any table) if `has_written`, otherwise for all
    that are open."""
    if connection.scalar(text("SELECT pg_is_in_recovery()")):
        return SnapshotFence(connection)
    return ListedFence(connection, partial(_writers, table) if has_written else _open)


def _writers(table: str | None, connection: Connection) -> Collection[ListedTransaction]:
    return {ListedTransaction(*row) for row in connection.execute(_WRITERS, {"name": table})}


def _open(connection: Connection) -> Collection[ListedTransaction]:
    return {ListedTransaction(*row) for row in connection.execute(_OPEN, {"readers": SOURCE_NAME})}


class SnapshotFence:
    """For a standby: waits for the transactions with numbers below the next one."""

    def __init__(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_sleep(:time)"), {"time": REGISTRATION})
        connection.rollback()
        self._next = connection.scalar(text("SELECT txid_snapshot_xmax(txid_current_snapshot())"))

    def remaining(self, connection: Connection) -> Collection[str]:
        oldest: int = connection.scalar(text("SELECT txid_snapshot_xmin(txid_current_snapshot())")) or 0
        return () if oldest >= (self._next or 0) else [f"transaction {oldest} of the primary"]
