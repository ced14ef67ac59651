"""Writes rows to PostgreSQL: COPY into the table for inserts, otherwise COPY into a temporary table and one statement
from there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from sqlalchemy import Connection

from runtime.connectors.jdbc.sink_config import InsertMode
from runtime.connectors.jdbc.tables import TableId, quoted

Column = Sequence[Any]

_numbers = count(1)


class CopyWriter:
    """A RowWriter for psycopg. PostgreSQL parses the text of each value as the type of its column."""

    def __init__(
        self, table: TableId, names: Sequence[str], keys: Sequence[str], mode: InsertMode, quote: bool
    ) -> None:
        written = quoted if quote else str
        self._table = ".".join(written(part) for part in (table.schema, table.name) if part is not None)
        self._names, self._keys = [written(name) for name in names], [written(name) for name in keys]
        self._others = [name for name in self._names if name not in self._keys]
        self._mode = mode
        number = next(_numbers)
        self._stage, self._key_stage = f"headrace_rows_{number}", f"headrace_keys_{number}"

    def prepare(self, connection: Connection) -> None:
        """Creates the temporary tables, which are empty after each transaction."""
        if self._mode is not InsertMode.INSERT:
            self._create(connection, self._stage, self._names)
        if self._keys:
            self._create(connection, self._key_stage, self._keys)

    def write(self, connection: Connection, columns: Sequence[Column]) -> None:
        if self._mode is InsertMode.INSERT:
            self._copy(connection, self._table, self._names, columns)
            return
        self._fill(connection, self._stage, self._names, columns)
        if self._mode is InsertMode.UPSERT:
            self._execute(connection, self._upsert())
        elif self._others:
            self._execute(connection, f"ANALYZE {self._stage}")
            self._execute(connection, self._update())

    def delete(self, connection: Connection, keys: Sequence[Column]) -> None:
        self._fill(connection, self._key_stage, self._keys, keys)
        self._execute(connection, f"ANALYZE {self._key_stage}")
        self._execute(
            connection, f"DELETE FROM {self._table} AS t USING {self._key_stage} AS s WHERE {self._matches()}"
        )

    def _create(self, connection: Connection, name: str, columns: Sequence[str]) -> None:
        chosen = ", ".join(columns)
        self._execute(
            connection,
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ON COMMIT DELETE ROWS AS "
            f"SELECT {chosen} FROM {self._table} WITH NO DATA",
        )

    def _fill(self, connection: Connection, stage: str, names: Sequence[str], columns: Sequence[Column]) -> None:
        """Replaces the rows of the temporary table; a transaction may have used it before."""
        self._execute(connection, f"TRUNCATE {stage}")
        self._copy(connection, f"pg_temp.{stage}", names, columns)

    def _copy(self, connection: Connection, table: str, names: Sequence[str], columns: Sequence[Column]) -> None:
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({', '.join(names)}) FROM STDIN") as copy:
            write = copy.write_row
            for row in zip(*columns, strict=True):
                write(row)

    def _upsert(self) -> str:
        names = ", ".join(self._names)
        changed = ", ".join(f"{name} = EXCLUDED.{name}" for name in self._others)
        action = f"DO UPDATE SET {changed}" if changed else "DO NOTHING"
        return (
            f"INSERT INTO {self._table} ({names}) SELECT {names} FROM {self._stage} "
            f"ON CONFLICT ({', '.join(self._keys)}) {action}"
        )

    def _update(self) -> str:
        changed = ", ".join(f"{name} = s.{name}" for name in self._others)
        return f"UPDATE {self._table} AS t SET {changed} FROM {self._stage} AS s WHERE {self._matches()}"

    def _matches(self) -> str:
        return " AND ".join(f"t.{name} = s.{name}" for name in self._keys)

    def _execute(self, connection: Connection, statement: str) -> None:
        connection.exec_driver_sql(statement.replace("%", "%%"))
