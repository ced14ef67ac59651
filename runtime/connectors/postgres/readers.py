"""The reader of each table, made from what the server sends and from its catalog."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from runtime.connectors.postgres.catalog import CatalogTable, ancestors
from runtime.connectors.postgres.definition import CdcSettings
from runtime.connectors.postgres.selection import TableSelection
from runtime.connectors.postgres.session import Session
from runtime.connectors.postgres.tables import RowColumn, RowReader, knows, reader_of
from runtime.connectors.postgres.wire.pgoutput import Relation

_log = logging.getLogger(__name__)


class TableReaders:
    """Makes the readers of the selected tables."""

    def __init__(self, settings: CdcSettings, session: Session, selection: TableSelection) -> None:
        self._settings, self._session, self._selection = settings, session, selection
        self._warned = set[str]()

    def takes(self, schema: str, name: str) -> bool:
        """Whether the table is selected, or a table of which it is a partition."""
        return self._selection.takes_table(schema, name) or self._selection.takes_partition(
            schema, name, ancestors(self._session.query, schema, name)
        )

    def of_relation(self, relation: Relation) -> RowReader | None:
        """The reader of a table with the columns that a message describes; None if the table is not selected. The
        message has no defaults and does not tell which columns are required: those are taken from the catalog, which
        may be newer."""
        if not self.takes(relation.schema, relation.name):
            return None
        self._session.forget_types()
        now = self._session.table(relation.schema, relation.name)
        key = () if now is None else now.key
        sent = {column.name for column in relation.columns}
        if not key or not set(key) <= sent:
            identity = tuple(column.name for column in relation.columns if column.in_identity)
            key = identity if relation.identity in ("d", "i") else ()
        by_name = {} if now is None else {column.name: column for column in now.columns}
        columns = [
            RowColumn(column.name, self._session.type_of(column.type), column.modifier, by_name.get(column.name))
            for column in relation.columns
        ]
        table = CatalogTable(relation.schema, relation.name, () if now is None else now.columns, key)
        return self._reader(table, columns)

    def of_catalog(self, table: CatalogTable) -> RowReader:
        """The reader of a table with all its columns as they are now."""
        columns = [
            RowColumn(column.name, self._session.type_of(column.type), column.modifier, column)
            for column in table.columns
        ]
        return self._reader(table, columns)

    def _warn_of_unknown_types(self, table: CatalogTable, columns: Sequence[RowColumn]) -> None:
        values = self._settings.values
        unknown = [f"{column.name} ({column.type.name})" for column in columns if not knows(column, values)]
        text = f"{table.schema}.{table.name}: {', '.join(unknown)}"
        if unknown and text not in self._warned:
            self._warned.add(text)
            _log.warning("Columns of unknown types are left out, unless include.unknown.datatypes=true: %s", text)

    def _reader(self, table: CatalogTable, columns: Sequence[RowColumn]) -> RowReader:
        taken = [self._selection.takes_column(table.schema, table.name, column.name) for column in columns]
        self._warn_of_unknown_types(
            table, [column for column, is_taken in zip(columns, taken, strict=True) if is_taken]
        )
        return reader_of(self._settings.prefix, self._settings.values, columns, taken, table)
