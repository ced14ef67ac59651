"""A commit that the database has not answered: whether it has taken effect.

Rows that are inserted once more would be there twice, or violate the primary key. PostgreSQL tells what became of a
transaction; other databases do not.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from runtime.api.data.record import SinkRecord
from runtime.api.errors import RetriableError

_log = logging.getLogger(__name__)
_UNKNOWN_TRANSACTION = "22023"  # SQLSTATE: a server that took over has not got it


@dataclass(frozen=True, slots=True)
class CommitDoubt:
    """A batch whose commit was requested. `transaction` is None if the database does not tell what became of it."""

    records: Sequence[SinkRecord]
    transaction: int | None

    @classmethod
    def of(cls, connection: Connection, records: Sequence[SinkRecord]) -> CommitDoubt:
        """For the open transaction, which has the rows of these records."""
        knows = connection.dialect.name == "postgresql"
        return cls(records, connection.scalar(text("SELECT txid_current()")) if knows else None)

    def is_committed(self, connection: Connection, records: Sequence[SinkRecord]) -> bool:
        """Whether these records are the batch, and have been committed. RetriableError while the server does not know
        that the connection is lost."""
        if self.transaction is None or not self._is_of(records):
            return False
        status = self._status(connection)
        if status == "in progress":
            raise RetriableError("The database has not ended the transaction whose connection was lost")
        if status == "committed":
            _log.info("The batch of %d records was committed although the connection was lost", len(records))
        return status == "committed"

    def warn(self) -> None:
        """Logs that rows may be written twice."""
        if self.transaction is None:
            _log.warning(
                "The database did not confirm the commit of %d records: if it has committed them, they are inserted "
                "again. Set insert.mode=upsert and pk.mode=kafka to have each of them once", len(self.records)
            )  # fmt: skip

    def _is_of(self, records: Sequence[SinkRecord]) -> bool:
        return records is self.records or list(map(_place, records)) == list(map(_place, self.records))

    def _status(self, connection: Connection) -> str | None:
        try:
            found: str | None = connection.scalar(text("SELECT txid_status(:number)"), {"number": self.transaction})
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _UNKNOWN_TRANSACTION:
                raise
            found = None
        connection.rollback()
        return found


def _place(record: SinkRecord) -> tuple[str, int | None, int]:
    return record.original_topic, record.original_kafka_partition, record.original_kafka_offset
