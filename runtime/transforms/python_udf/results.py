"""What a function returns, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from runtime.api.data.columns import Column, Derived, ValueBatch
from runtime.api.data.schema import Schema
from runtime.api.errors import DataError
from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.connectors.files.arrow_merge import MergeError, conformed_column, merged_type
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.connectors.files.sink.records_to_arrow import CONVERSION_ERRORS
from runtime.transforms.python_udf.columns import RECORD, cast, without_variants
from runtime.transforms.tables.derived_records import PARTS, TableResult, derived
from runtime.transforms.tables.errors import RefusedError
from runtime.transforms.tables.record_table import HEADERS, OFFSET, PARTITION, TIMESTAMP, RecordTable


class FunctionResults:
    """The results of one function. Types of columns that the records do not have follow from the values; they become
    wider if later values need it."""

    def __init__(self, by: str, returns: str) -> None:
        """`by` names the function in messages. `returns`: the fields of its results as Spark's DDL."""
        self._by = by
        self._fixed = arrow_schema(parse_ddl(returns)) if returns else None
        self._known: dict[str, Any] = {}

    def places(self, rows: Any, count: int) -> Sequence[int] | None:
        """For each row the number of its record, of `count` in the batch; None if the rows do not tell it.
        RefusedError for wrong numbers."""
        if RECORD not in rows.column_names:
            return range(count) if rows.num_rows == count else None
        numbers = rows.column(RECORD)
        try:
            places: list[int] = numbers.cast(pa.int64()).to_pylist()
            if all(0 <= place < count for place in places):
                return places
        except (pa.ArrowException, TypeError):
            pass
        raise RefusedError(f"{self._by} returns other values of {RECORD} than it was given")

    def derived(self, table: RecordTable, rows: Any, places: Sequence[int]) -> Derived:
        """The records of the rows that were computed from a table. DataError if a value does not fit."""
        if not rows.num_rows:
            return Derived(ValueBatch(None, ()), ())
        if not isinstance(places, range) and any(map(int.__gt__, places, places[1:])):
            order = pc.sort_indices(pa.array(places))  # stable
            rows, places = rows.take(order), sorted(places)
        columns = self._columns(table, rows)
        outputs: dict[str, str | None] = {}
        computed: dict[str, Any] = {}
        for name, column in columns.items():
            unchanged = name in PARTS and not table.is_field(name) and _is_unchanged(table, name, column, places)
            outputs[name] = name if unchanged else None
            if not unchanged:
                computed[name] = column
        values, schemas = self._converted(table, computed)
        typed = table.values.schema is not None or self._fixed is not None
        return derived(TableResult(outputs, places, values, schemas if typed else None, self._by), table)

    def _columns(self, table: RecordTable, rows: Any) -> dict[str, Any]:
        """The columns by name, with their final types."""
        names = [name for name in rows.column_names if name != RECORD and not _is_position(table, name)]
        given = {name: rows.column(name).combine_chunks() for name in names}
        if self._fixed is None:
            return {name: self._typed(table, name, column) for name, column in given.items()}
        fields = {field.name: field for field in self._fixed}
        parts = [name for name in given if name in PARTS and name not in fields and not table.is_field(name)]
        if missing := [name for name in fields if name not in given]:
            raise RefusedError(f"{self._by} returns no column {', '.join(missing)}, which is in returns")
        if others := [name for name in given if name not in fields and name not in parts]:
            raise RefusedError(f"{self._by} returns the column {', '.join(others)}, which is not in returns")
        result = {name: self._conformed(given[name], field) for name, field in fields.items()}
        return {**result, **{name: self._typed(table, name, given[name]) for name in parts}}

    def _conformed(self, column: Any, field: Any) -> Any:
        try:
            made = conformed_column(cast(column, without_variants(column.type)), field.type)
        except (MergeError, *CONVERSION_ERRORS) as error:
            raise DataError(f"{self._by}: {field.name} is not {field.type} (returns): {error}") from error
        if made.null_count and not field.nullable:
            raise DataError(f"{self._by}: {field.name} is null (returns)")
        return made

    def _typed(self, table: RecordTable, name: str, column: Any) -> Any:
        """With the type of the column of the same name that the function was given, if values do not differ, else with
        the one of earlier results."""
        kind = column.type
        if name in table.names:
            given = table.array(name).type
            if pa.types.is_null(kind) or without_variants(kind).equals(without_variants(given)):
                return self._cast(name, column, given)
        if table.values.schema is None:
            return column
        known = self._known.get(name)
        if known is not None and not known.equals(kind):
            try:
                kind = merged_type(known, kind)
                column = conformed_column(column, kind)
            except (MergeError, *CONVERSION_ERRORS):  # a column of another type from now on
                kind = column.type
        if not pa.types.is_null(kind):
            self._known[name] = kind
        return column

    def _cast(self, name: str, column: Any, kind: Any) -> Any:
        try:
            return cast(column, kind)
        except CONVERSION_ERRORS as error:
            raise DataError(f"{self._by}: {name} is not {kind}: {error}") from error

    def _converted(
        self, table: RecordTable, computed: Mapping[str, Any]
    ) -> tuple[Mapping[str, Column], Mapping[str, Schema]]:
        """The values and schemas of columns."""
        if not computed:
            return {}, {}
        batch = pa.RecordBatch.from_arrays(list(computed.values()), names=list(computed))
        try:
            to_values = ArrowValues(batch.schema)
        except DataError as error:
            raise RefusedError(f"{self._by} returns a column that Connect does not have: {error}") from error
        try:
            values = to_values(batch)
        except DataError as error:
            raise DataError(f"{self._by}: {error}") from error
        assert values.schema is not None
        schemas = {
            field.name: self._schema(table, field.name, field.schema, computed) for field in values.schema.fields
        }
        for name, is_kind in ((TIMESTAMP, pa.types.is_timestamp), (HEADERS, pa.types.is_map)):
            if name in computed and not table.is_field(name) and not is_kind(computed[name].type):
                raise RefusedError(f"{self._by} returns {computed[name].type} as {name} of the record")
        return values.columns, schemas

    def _schema(self, table: RecordTable, name: str, made: Schema, computed: Mapping[str, Any]) -> Schema:
        """Connect's schema of a column: that of the records' column if the type is the same."""
        if self._fixed is not None and name in self._fixed.names:
            return made.replace(optional=self._fixed.field(name).nullable)
        own = table.schema(name) if name in table.names else None
        if own is None or not table.array(name).type.equals(computed[name].type):
            return made
        if computed[name].null_count and not own.optional:
            raise DataError(f"{self._by}: {name} is null, which its schema does not allow")
        return own


def _is_position(table: RecordTable, name: str) -> bool:
    """Whether a column is that of the record's place in Kafka, which cannot be changed."""
    return name in (PARTITION, OFFSET) and not table.is_field(name)


def _is_unchanged(table: RecordTable, name: str, column: Any, places: Sequence[int]) -> bool:
    given = table.array(name)
    if not given.type.equals(column.type):
        return False
    return bool(column.equals(given if isinstance(places, range) else given.take(pa.array(places))))
