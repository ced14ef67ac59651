"""Writes rows with the statements of any database, through SQLAlchemy: executemany of its driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.sql.elements import quoted_name

from runtime.connectors.jdbc.sink_config import InsertMode
from runtime.connectors.jdbc.tables import TableId

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
        """Updates each row, and inserts it if there is none with its key."""
        insert = sa.insert(self._table).values(self._values(self._names))
        found = sa.select(sa.literal(1)).select_from(self._table).where(*self._matches())
        update = self._update() if self._others else None
        for row in rows:
            if update is not None:
                exists = connection.execute(update, row).rowcount > 0
            else:
                exists = connection.execute(found, row).first() is not None
            if not exists:
                connection.execute(insert, row)
