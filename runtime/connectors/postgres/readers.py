"""The reader of each table, made from what the server sends and from its catalog."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.connectors.postgres.catalog import CatalogTable, ancestors
from runtime.connectors.postgres.definition import CdcSettings
from runtime.connectors.postgres.selection import TableSelection
from runtime.connectors.postgres.session import Session
from runtime.connectors.postgres.tables import RowColumn, RowReader, reader_of
from runtime.connectors.postgres.wire.pgoutput import Relation


class TableReaders:
    """Makes the readers of the selected tables."""

    def __init__(self, settings: CdcSettings, session: Session, selection: TableSelection) -> None:
        self._settings, self._session, self._selection = settings, session, selection

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

    def _reader(self, table: CatalogTable, columns: Sequence[RowColumn]) -> RowReader:
        taken = [self._selection.takes_column(table.schema, table.name, column.name) for column in columns]
        return reader_of(self._settings.prefix, self._settings.values, columns, taken, table)
