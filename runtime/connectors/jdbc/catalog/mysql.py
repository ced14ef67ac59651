"""The catalog of MySQL and MariaDB, where a database is a schema as well as a catalog.

The session is in UTC (database.py), so that TIMESTAMP columns are points in time and DATETIME columns are not.

Open transactions are those that InnoDB lists, for users with the privilege PROCESS. AUTO_INCREMENT numbers a row, and
CURRENT_TIMESTAMP gives it the time of its statement, a moment before the statement's transaction is listed, which then
remains listed to its end. A transaction gets its number with its first write, so that it is recognized by its session
and its start. InnoDB keeps the list for a tenth of a second after each query: only a list that contains the query
itself is new.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Collection, Iterable
from itertools import count
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError

from runtime.api.errors import RetriableError
from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.catalog.fence import REGISTRATION, Fence, ListedFence, ListedTransaction
from runtime.connectors.jdbc.tables import TableId
from runtime.connectors.jdbc.types import DatabaseType, Kind

_log = logging.getLogger(__name__)

_ATTEMPTS = 50
_tokens = count(1)


class InnoDbTransactions:
    """The transactions of a server, for one task or connector."""

    def __init__(self) -> None:
        self._visible: bool | None = None

    def visible(self, connection: Connection) -> bool:
        """Whether the user may see them; warns once if not."""
        if self._visible is None:
            try:
                connection.exec_driver_sql("SELECT 1 FROM information_schema.innodb_trx LIMIT 1").all()
                self._visible = True
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise
                self._visible = False
                _log.warning(
                    "The database does not show its transactions (%s): rows that are committed after rows with larger "
                    "numbers or later timestamps are missed. Grant the privilege PROCESS to the user, or set "
                    "timestamp.delay.interval.ms in a mode with timestamps", error.orig
                )  # fmt: skip
            connection.rollback()
        return self._visible

    def fence(self, connection: Connection) -> ListedFence:
        """Waits for the transactions that are open now."""
        time.sleep(REGISTRATION)
        return ListedFence(connection, self._listed)

    def _listed(self, connection: Connection) -> Collection[ListedTransaction]:
        for _ in range(_ATTEMPTS):
            token = f"headrace {next(_tokens)}"
            connection.rollback()
            connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT")  # which is listed, too
            rows = connection.exec_driver_sql(
                f"SELECT /* {token} */ trx_mysql_thread_id, trx_started, trx_mysql_thread_id = CONNECTION_ID(), "
                "trx_is_read_only, trx_query FROM information_schema.innodb_trx"
            ).all()
            if any(own and token in str(query) for _, _, own, _, query in rows):
                return {
                    ListedTransaction(f"{session} since {started}", session or None)
                    for session, started, own, reads_only, _ in rows
                    if not (own or reads_only)
                }
            time.sleep(REGISTRATION)
        raise RetriableError(
            "The database does not refresh its list of transactions, information_schema.innodb_trx, probably because "
            "another session queries it all the time"
        )


_UNSIGNED_BIGINT_DIGITS = 20


class MySqlCatalog(Catalog):
    """Lists the tables of the database that the URL names, unless a pattern selects others."""

    earliest: ClassVar[dt.datetime | None] = dt.datetime(1000, 1, 1, tzinfo=dt.UTC)

    def __init__(self) -> None:
        self._transactions = InnoDbTransactions()

    def tables(
        self, connection: Connection, types: Iterable[str], schema_pattern: str | None, catalog_pattern: str | None
    ) -> list[TableId]:
        tables = super().tables(connection, types, schema_pattern or catalog_pattern, None)
        if schema_pattern or catalog_pattern or not connection.engine.url.database:
            return tables
        return [table for table in tables if table.schema is None]

    def now(self, connection: Connection) -> dt.datetime:
        now = connection.exec_driver_sql("SELECT SYSDATE(6)").scalar()
        assert isinstance(now, dt.datetime)
        return now.replace(tzinfo=dt.UTC)

    def lists_transactions(self, connection: Connection) -> bool:
        return self._transactions.visible(connection)

    def fence(self, connection: Connection, table: TableId | None, has_written: bool) -> Fence:
        return self._transactions.fence(connection)

    def timestamp_value(self, moment: dt.datetime, kind: Kind, zone: dt.tzinfo) -> Any:
        """Drivers ignore the time zone of a parameter."""
        return moment.astimezone(dt.UTC if kind is Kind.TIMESTAMP_TZ else zone).replace(tzinfo=None)

    def type_of(self, column_type: Any) -> DatabaseType:
        if isinstance(column_type, sa.Integer):
            return _integer(column_type)
        if isinstance(column_type, mysql.YEAR):
            return DatabaseType(Kind.INT32)
        if isinstance(column_type, mysql.BIT):
            return DatabaseType(Kind.BOOLEAN if column_type.length in (None, 1) else Kind.BYTES)
        if isinstance(column_type, mysql.TINYBLOB | mysql.MEDIUMBLOB | mysql.LONGBLOB):
            return DatabaseType(Kind.BYTES)
        if isinstance(column_type, mysql.FLOAT):
            return DatabaseType(Kind.FLOAT32)
        return (
            DatabaseType(Kind.TIMESTAMP_TZ) if isinstance(column_type, sa.TIMESTAMP) else super().type_of(column_type)
        )

    def _is_selected(self, name: str, pattern: str | None, connection: Connection) -> bool:
        """The database of the connection has no name in a TableId."""
        return super()._is_selected(name or str(connection.engine.url.database or ""), pattern, connection)


def _integer(column_type: Any) -> DatabaseType:
    """TINYINT(1) is the type that BOOLEAN stands for. Unsigned numbers need the next larger type."""
    unsigned = bool(getattr(column_type, "unsigned", False))
    if isinstance(column_type, mysql.TINYINT):
        if column_type.display_width == 1:
            return DatabaseType(Kind.BOOLEAN)
        return DatabaseType(Kind.INT16 if unsigned else Kind.INT8)
    if isinstance(column_type, sa.SmallInteger):
        return DatabaseType(Kind.INT32 if unsigned else Kind.INT16)
    if isinstance(column_type, sa.BigInteger):
        return DatabaseType(Kind.DECIMAL, _UNSIGNED_BIGINT_DIGITS, 0) if unsigned else DatabaseType(Kind.INT64)
    if isinstance(column_type, mysql.MEDIUMINT):
        return DatabaseType(Kind.INT32)
    return DatabaseType(Kind.INT64 if unsigned else Kind.INT32)
