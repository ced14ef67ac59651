"""Open transactions of MySQL and MariaDB, as InnoDB lists them for users with the privilege PROCESS.

AUTO_INCREMENT numbers a row, and CURRENT_TIMESTAMP gives it the time of its statement, a moment before the statement's
transaction is listed, which then remains listed to its end. A transaction gets its number with its first write, so that
it is recognized by its session and its start. InnoDB keeps the list for a tenth of a second after each query: only a
list that contains the query itself is new.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from itertools import count

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from runtime.api.errors import RetriableError
from runtime.connectors.jdbc.catalog.fence import REGISTRATION, ListedFence, ListedTransaction

_log = logging.getLogger(__name__)

_ATTEMPTS = 50
_tokens = count(1)


class InnoDbTransactions:
    """The transactions of a server, for one task or connector."""

    def __init__(self, sleep: Callable[[float], object] = time.sleep) -> None:
        self._sleep = sleep
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
        self._sleep(REGISTRATION)
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
            self._sleep(REGISTRATION)
        raise RetriableError(
            "The database does not refresh its list of transactions, information_schema.innodb_trx, probably because "
            "another session queries it all the time"
        )
