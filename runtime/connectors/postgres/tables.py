"""Tables as Debezium's schemas, and the conversion of their rows."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import DataError
from runtime.connectors.postgres.catalog import CatalogColumn, CatalogTable, PgType
from runtime.connectors.postgres.definition import ValueModes
from runtime.connectors.postgres.envelope import envelope_schema
from runtime.connectors.postgres.values.defaults import default_of
from runtime.connectors.postgres.values.mapping import Convert, Mapped, mapped
from runtime.connectors.postgres.wire.pgoutput import UNCHANGED, Row, Unchanged

_log = logging.getLogger(__name__)
_INVALID = re.compile(r"[^\w.-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column of the rows that PostgreSQL sends. `catalog` is None if it does not exist any more."""

    name: str
    type: PgType
    modifier: int
    catalog: CatalogColumn | None


class _Reader(NamedTuple):
    """How a field of the record is read: `place` is its index in the row."""

    place: int
    name: str
    convert: Convert
    unchanged: Any
    absent: Any


class RowReader:
    """Converts the rows of a table into records' keys and values."""

    def __init__(self, schema: str, name: str, topic: str, columns: Sequence[tuple[int, RowColumn, Mapped]],
                 key: Sequence[str]) -> None:  # fmt: skip
        """`columns` are those that are read, with their indices in the rows; `key` are the names of the key."""
        self.schema, self.name, self.topic = schema, name, topic
        self.text = f"{schema}.{name}"
        fields = {column.name: _schema(column, kind, column.name in key) for _, column, kind in columns}
        self._readers = [
            _Reader(
                place, column.name, kind.convert, kind.unchanged,
                None if fields[column.name].optional else _first(fields[column.name].default, kind.missing),
            )
            for place, column, kind in columns
        ]  # fmt: skip
        self._key = [name for name in key if name in fields]
        self._warned: set[str] = set()
        value = Schema(Type.STRUCT, optional=True, name=f"{topic}.Value",
                       fields=tuple(Field(*item) for item in fields.items()))  # fmt: skip
        self.value_schema = envelope_schema(topic, value)
        self.key_schema = (
            Schema(Type.STRUCT, name=f"{topic}.Key", fields=tuple(Field(name, fields[name]) for name in self._key))
            if self._key
            else None
        )

    def row(self, texts: Row) -> dict[str, Any]:
        """The values of a complete row; DataError for a value that its schema does not have."""
        row: dict[str, Any] = {}
        for place, name, convert, unchanged, absent in self._readers:
            text = texts[place]
            if text is None:
                row[name] = None
                continue
            if isinstance(text, Unchanged):
                if unchanged is None:
                    self._warn_not_sent(name)
                row[name] = absent if unchanged is None else unchanged
                continue
            try:
                row[name] = convert(text)
            except Exception as error:
                raise self._invalid(name, error) from None
        return row

    def identity(self, texts: Row) -> dict[str, Any]:
        """The values of a row of which PostgreSQL has sent the replica identity only: others are null, or the default
        of their type if they are required."""
        row = self.row(texts)
        for place, name, _, _, absent in self._readers:
            if texts[place] is None and absent is not None:
                row[name] = absent
        return row

    def key(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """The key of a row; None if the table has none."""
        return {name: row[name] for name in self._key} if self._key else None

    def completed(self, new: Row, old: Row) -> Row:
        """The new row with its unchanged values taken from the old one, where that has them."""
        return [before if after is UNCHANGED else after for after, before in zip(new, old, strict=True)]

    def _warn_not_sent(self, name: str) -> None:
        if name in self._warned:
            return
        self._warned.add(name)
        _log.warning(
            "PostgreSQL does not send large values of %s.%s that an update has not changed. No placeholder has their "
            "type, so that records have null or a default instead. Remedy: ALTER TABLE %s REPLICA IDENTITY FULL",
            self.text, name, self.text,
        )  # fmt: skip

    def _invalid(self, name: str, error: Exception) -> DataError:
        return DataError(f"The column {name} of {self.text} has a value that cannot be converted: {error}")


def _first(default: Any, missing: Any) -> Any:
    return missing if default is None else default


def _schema(column: RowColumn, kind: Mapped, in_key: bool) -> Schema:
    catalog = column.catalog
    optional = not in_key and (catalog is None or not catalog.is_required)
    default = None
    if catalog is not None and catalog.default is not None:
        default = default_of(catalog.default, column.type, column.modifier, kind)
    return kind.schema.replace(optional=optional, default=default)


def topic_of(prefix: str, schema: str, name: str) -> str:
    """The topic of a table, with underscores instead of characters that a topic's name cannot have."""
    return _INVALID.sub("_", f"{prefix}.{schema}.{name}")


def knows(column: RowColumn, modes: ValueModes) -> bool:
    """Whether a column can be read."""
    return mapped(column.type, column.modifier, modes) is not None


def reader_of(
    prefix: str, modes: ValueModes, columns: Sequence[RowColumn], taken: Sequence[bool], table: CatalogTable
) -> RowReader:
    """The reader of a table; `taken` tells which columns are read. The key is always read."""
    kept = []
    for place, (column, is_taken) in enumerate(zip(columns, taken, strict=True)):
        if not is_taken and column.name not in table.key:
            continue
        kind = mapped(column.type, column.modifier, modes)
        if kind is not None:
            kept.append((place, column, kind))
    names = {column.name for _, column, _ in kept}
    key = [name for name in table.key if name in names]
    return RowReader(table.schema, table.name, topic_of(prefix, table.schema, table.name), kept, key)
