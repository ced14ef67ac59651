"""The SELECT statement of a table or query: new rows after a position, in the order of their offsets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from runtime.connectors.jdbc.catalog.catalog import Catalog
from runtime.connectors.jdbc.modes import Mode
from runtime.connectors.jdbc.source.late_commits import Bound
from runtime.connectors.jdbc.source.offsets import Position
from runtime.connectors.jdbc.source.values import SourceColumn
from runtime.connectors.jdbc.tables import TableId
from runtime.connectors.jdbc.types import Kind


@dataclass(frozen=True, slots=True)
class Origin:
    """A table, or a query and the text after its conditions (`query.suffix`)."""

    table: TableId | None
    query: str = ""
    suffix: str = ""

    @property
    def name(self) -> str:
        """For messages and schemas."""
        return "query" if self.table is None else self.table.text


class Selection:
    """Builds the statements for one origin."""

    def __init__(self, origin: Origin, mode: Mode, incrementing: str, timestamps: Sequence[str], quote: bool) -> None:
        self.origin, self.mode, self._quote = origin, mode, quote
        self.incrementing, self.timestamps = incrementing, tuple(timestamps)

    def statement(
        self, catalog: Catalog, columns: Sequence[SourceColumn] | None, after: Position, bound: Bound, zone: dt.tzinfo
    ) -> sa.Select[Any]:
        """Rows after a position and within a bound, which has an end in modes with timestamps. `columns` None selects
        all columns."""
        chosen: Sequence[Any] = [sa.text("*")] if columns is None else [self._term(column) for column in columns]
        statement = sa.select(*chosen).select_from(self._source())
        if self.mode is not Mode.BULK:
            kinds = {column.name: column.type.kind for column in columns or ()}
            statement = self._narrowed(statement, catalog, after, bound, zone, kinds)
        return statement.suffix_with(sa.text(_literal(self.origin.suffix))) if self.origin.suffix else statement

    def highest(self, after: Position) -> sa.Select[Any]:
        """The largest number after a position; null if there is no such row."""
        number = self._column(self.incrementing)
        return sa.select(sa.func.max(number)).select_from(self._source()).where(_larger(number, after))

    def _narrowed(
        self,
        statement: sa.Select[Any],
        catalog: Catalog,
        after: Position,
        bound: Bound,
        zone: dt.tzinfo,
        kinds: dict[str, Kind],
    ) -> sa.Select[Any]:
        number = self._column(self.incrementing) if self.mode.incrementing else None
        time = self._time(catalog) if self.mode.timestamp else None
        conditions: list[Any] = []
        if time is not None and bound.end is not None:
            kind = kinds.get(self.timestamps[0], Kind.TIMESTAMP)
            conditions.append(time < catalog.timestamp_value(bound.end, kind, zone))
            if after.timestamp is not None:
                start = catalog.timestamp_value(after.timestamp, kind, zone)
                later = time > start
                if number is not None and after.incrementing is not None:
                    later = sa.or_(later, sa.and_(time == start, number > after.incrementing))
                elif number is not None:
                    later = time >= start
                conditions.append(later)
            elif catalog.earliest is not None:
                conditions.append(time >= catalog.timestamp_value(catalog.earliest, kind, zone))
        elif number is not None:
            conditions.append(_larger(number, after))
            if bound.highest is not None:
                conditions.append(number <= bound.highest)
        order = [term for term in (time, number) if term is not None]
        return statement.where(*conditions).order_by(*order)

    def _time(self, catalog: Catalog) -> sa.ColumnElement[Any]:
        terms = [catalog.timestamp_term(self._column(name)) for name in self.timestamps]
        return terms[0] if len(terms) == 1 else sa.func.coalesce(*terms)

    def _term(self, column: SourceColumn) -> sa.ColumnElement[Any]:
        term = self._column(column.name)
        if not column.as_text:
            return term
        kind: Any = sa.ARRAY(sa.Text()) if column.type.kind is Kind.ARRAY else sa.Text()
        return sa.cast(term, kind).label(quoted_name(column.name, True))

    def _column(self, name: str) -> sa.ColumnClause[Any]:
        return sa.column(quoted_name(name, self._quote))

    def _source(self) -> Any:
        table = self.origin.table
        if table is None:
            return sa.text(f"({_literal(self.origin.query)}) headrace_query")
        schema = None if table.schema is None else quoted_name(table.schema, self._quote)
        return sa.table(quoted_name(table.name, self._quote), schema=schema)


def _larger(number: sa.ColumnClause[Any], after: Position) -> sa.ColumnElement[bool]:
    return number.is_not(None) if after.incrementing is None else number > after.incrementing


def _literal(text: str) -> str:
    """SQL for sqlalchemy.text(), which would take a name after a colon for a parameter."""
    return text.replace(":", "\\:")
