"""Writes rows with the statements of any database, through SQLAlchemy: executemany of its driver."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.sql.elements import quoted_name

from runtime.connectors.jdbc.sink_config import InsertMode
from runtime.connectors.jdbc.tables import TableId, quoted

# Writes rows to PostgreSQL: COPY into the table for inserts, otherwise COPY into a temporary table and one statement
# from there.
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


Column = Sequence[Any]


class RowWriter(Protocol):
    """Writes converted rows of one table; the columns always have the same names."""

    def prepare(self, connection: Connection) -> None:
        """Creates what the writer needs, outside the transaction of the rows."""

    def write(self, connection: Connection, columns: Sequence[Column]) -> None:
        """Inserts, upserts or updates the rows; keys are distinct except for plain inserts."""

    def delete(self, connection: Connection, keys: Sequence[Column]) -> None:
        """Deletes the rows with these keys."""


class StatementWriter:
    """A RowWriter for any database."""

    def __init__(
        self, table: TableId, names: Sequence[str], keys: Sequence[str], mode: InsertMode, dialect: str, quote: bool
    ) -> None:
        """`keys` are those of `names` that form the primary key; `dialect` is SQLAlchemy's name of the database."""
        self._names, self._mode = tuple(names), mode
        self._keys, self._others = tuple(keys), tuple(name for name in names if name not in keys)
        columns: list[sa.ColumnClause[Any]] = [sa.column(quoted_name(name, quote)) for name in (*names, *keys)]
        schema = None if table.schema is None else quoted_name(table.schema, quote)
        self._table = sa.table(quoted_name(table.name, quote), *dict.fromkeys(columns[: len(names)]), schema=schema)
        self._column = dict(zip((*names, *keys), columns, strict=True))
        self._parameters = {name: f"p{number}" for number, name in enumerate(self._column)}
        self._insert = self._insert_statement(dialect)

    def prepare(self, connection: Connection) -> None:
        """Nothing."""

    def write(self, connection: Connection, columns: Sequence[Column]) -> None:
        labels = [self._parameters[name] for name in self._names]
        rows = [dict(zip(labels, row, strict=True)) for row in zip(*columns, strict=True)]
        if self._mode is InsertMode.UPDATE:
            if self._others:
                connection.execute(self._update(), rows)
        elif self._mode is InsertMode.UPSERT and self._insert is None:
            self._update_or_insert(connection, rows)
        else:
            assert self._insert is not None
            connection.execute(self._insert, rows)

    def delete(self, connection: Connection, keys: Sequence[Column]) -> None:
        labels = [self._parameters[name] for name in self._keys]
        rows = [dict(zip(labels, row, strict=True)) for row in zip(*keys, strict=True)]
        connection.execute(sa.delete(self._table).where(*self._matches()), rows)

    def _values(self, names: Sequence[str]) -> dict[Any, Any]:
        return {self._column[name]: sa.bindparam(self._parameters[name]) for name in names}

    def _matches(self) -> list[Any]:
        return [self._column[name] == sa.bindparam(self._parameters[name]) for name in self._keys]

    def _update(self) -> Any:
        return sa.update(self._table).where(*self._matches()).values(self._values(self._others))

    def _insert_statement(self, dialect: str) -> Any:
        """The statement for inserts and upserts; None if the database has no upsert that SQLAlchemy knows."""
        values = self._values(self._names)
        if self._mode is not InsertMode.UPSERT:
            return sa.insert(self._table).values(values)
        keys = [self._column[name] for name in self._keys]
        if dialect == "sqlite":
            made = sqlite.insert(self._table).values(values)
            if not self._others:
                return made.on_conflict_do_nothing(index_elements=keys)
            excluded = {self._column[name]: made.excluded[name] for name in self._others}
            return made.on_conflict_do_update(index_elements=keys, set_=excluded)
        if dialect in ("mysql", "mariadb"):
            insert = mysql.insert(self._table).values(values)
            changed = self._others or self._keys[:1]
            # SQLAlchemy escapes percent signs twice in the names of `inserted`
            values_of = {n: sa.func.values(self._column[n]) if "%" in n else insert.inserted[n] for n in changed}
            return insert.on_duplicate_key_update(values_of)
        return None

    def _update_or_insert(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        insert = sa.insert(self._table).values(self._values(self._names))
        query = sa.select(sa.literal(1)).select_from(self._table).where(*self._matches())
        update = self._update() if self._others else None
        for row in rows:
            if update is not None:
                exists = connection.execute(update, row).rowcount > 0
            else:
                exists = connection.execute(query, row).first() is not None
            if not exists:
                connection.execute(insert, row)
