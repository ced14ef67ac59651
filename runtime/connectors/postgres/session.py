"""The connection for SQL: the catalog, publication and slot, and the rows of a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime.connectors.postgres.catalog import CatalogTable, PgType, table, type_of
from runtime.connectors.postgres.connection import Server

if TYPE_CHECKING:
    import psycopg


class Session:
    """Connects when needed. Errors are RetriableError or ConnectError."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._types: dict[int, PgType] = {}

    @property
    def connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The open connection, or a new one."""
        if self._connection is None or self._connection.closed:
            self._connection = self.server.connect()
        return self._connection

    def query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Runs a statement; its rows."""
        import psycopg

        connection = self.connection
        try:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise self.server.translated(error, f"The statement failed: {' '.join(statement.split())[:200]}") from None

    def type_of(self, oid: int) -> PgType:
        """A type of the catalog, read once."""
        return type_of(self.query, oid, self._types)

    def forget_types(self) -> None:
        """Reads types again, since an enumeration may have more labels."""
        self._types.clear()

    def table(self, schema: str, name: str) -> CatalogTable | None:
        """A table as it is now; None if it does not exist."""
        return table(self.query, schema, name)

    def close(self) -> None:
        """Closes the connection; the next statement opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
