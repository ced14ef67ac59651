"""Source records as rows of a DataFrame: transformations, then the columns of the schema, as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.api.data.schema import Type
from runtime.api.errors import DataError
from runtime.connectors.files.sink.records_to_arrow import CONVERSION_ERRORS, ArrowConversion
from runtime.connectors.spark.sink.columns import TableColumns, spark_compatible
from runtime.connectors.spark.sink.definition import Evolution
from runtime.model.task_spec import TaskSpec
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import load_converter, load_steps
from runtime.pipeline.source.convert_source import as_batch, source_place
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task.failure import Failure, Stage
from runtime.pipeline.tolerance import Policy, Tolerance
from runtime.spark.columns import DataFrameColumns, columns_for
from runtime.spark.options import Columns

_HERE = "headrace.spark"

Group = tuple[Sequence[SourceRecord], ValueBatch, ValueBatch]
"""Records, in order, with their values and keys."""


class RowConversion:
    """The transformations of a source task, and the columns of its records. Errors of single records are handled as
    `errors.tolerance` says."""

    def __init__(self, spec: TaskSpec, control: TaskControl, converted: tuple[bool, bool]) -> None:
        """`converted`: whether keys, and whether values, have a converter."""
        self._tolerance = Tolerance(Policy.of(spec.settings), str(spec.id), control)
        self._chain = Chain(load_steps(spec), self._tolerance, source_place)
        self._key = load_converter(spec.key_converter, True, spec) if converted[0] else None
        self._value = load_converter(spec.value_converter, False, spec) if converted[1] else None

    def close(self) -> None:
        """Close transformations and converters."""
        self._chain.close()
        for converter in (self._key, self._value):
            if converter is not None:
                converter.close()

    def inferred(self, records: Sequence[SourceRecord], columns: Columns | None) -> Any:
        """The Arrow schema of the first record that the transformations leave; None if they drop all."""
        for left, values, keys in self._groups(records):
            chosen = columns or columns_for(values.schema, self._value is not None)
            first = ValueBatch(values.schema, [values.rows[0]]), ValueBatch(keys.schema, [keys.rows[0]])
            struct = DataFrameColumns(chosen, self._key, self._value).of(left[:1], *first)
            schema = ArrowConversion().record_batch(struct).schema
            return pa.schema([pa.field(field.name, _typed(spark_compatible(field.type))) for field in schema])
        return None

    def inferred_fields(self, records: Sequence[SourceRecord]) -> Iterator[Any]:
        """The Arrow schemas of the fields of single values, JSON texts included; one for records that share a Connect
        schema. Raises the error that fails the task."""
        columns, conversion = DataFrameColumns(Columns.VALUE, None, None, parses=True), ArrowConversion()
        try:
            for left, values, keys in self._groups(records):
                known = values.schema is not None and values.schema.type is Type.STRUCT
                for place in range(1 if known else values.count):
                    at = slice(place, place + 1)
                    try:
                        yield conversion.record_batch(columns.of(*_part(at, left, values, keys))).schema
                    except CONVERSION_ERRORS as error:
                        self._refuse(left[place], error)
        finally:
            self._tolerance.release(records)

    def rows(self, columns: Columns, target: Any, parses: bool = False) -> RecordRows:
        """The rows of records as batches of the Arrow schema `target`. `parses`: also of JSON texts."""
        return RecordRows(
            DataFrameColumns(columns, self._key, self._value, target.names, parses), target, self._groups,
            self._tolerance, self._refuse,
        )  # fmt: skip

    def _refuse(self, record: SourceRecord, error: Exception) -> None:
        self._tolerance.failed(Failure(Stage.VALUE_CONVERTER, _HERE, error, record, source_place(record)[1]))

    def _skips(self, record: SourceRecord) -> bool:
        """Whether the task could not read a record, which is skipped. Raises the error that fails the task."""
        if not isinstance(record, ErrantSourceRecord):
            return False
        self._tolerance.failed(Failure(Stage.TASK_POLL, _HERE, record.error, record, source_place(record)[1]))
        return True

    def _groups(self, records: Sequence[SourceRecord]) -> Iterator[Group]:
        """The transformed records in groups that share their schemas. Raises the error that fails the task."""
        if not isinstance(records, SourceBatch) and ErrantSourceRecord in map(type, records):
            records = [record for record in records if not self._skips(record)]
        done, left = 0, records
        if (uniform := as_batch(records)) is not None:
            batches, done = self._chain.run_batches([uniform])
            if done == len(self._chain):
                for batch in batches:
                    yield batch, batch.values, batch.keys
                return
            left = batches[0].records if done else records
        if len(self._chain):
            outcome = self._chain.run(list(left) if done else [record.copy() for record in left], done)
            if outcome.error is not None:
                raise outcome.error
            left = outcome.records  # type: ignore[assignment]  # a chain keeps the kind
        for _, group in groupby(
            left, lambda record: (id(record.value_schema), id(record.key_schema), record.value is None)
        ):
            records = list(group)
            values = ValueBatch(records[0].value_schema, [record.value for record in records])
            yield records, values, ValueBatch(records[0].key_schema, [record.key for record in records])


class RecordRows:
    """Converts the records of a task to rows."""

    def __init__(
        self,
        columns: DataFrameColumns,
        target: Any,
        groups: Callable[[Sequence[SourceRecord]], Iterator[Group]],
        tolerance: Tolerance,
        refuse: Callable[[SourceRecord, Exception], None],
    ) -> None:
        self._columns, self._target, self._groups, self._tolerance = columns, target, groups, tolerance
        self._refuse = refuse
        self._table = TableColumns(Evolution.FREEZE, target, fixed=True)

    def of(self, records: Sequence[SourceRecord]) -> list[Any]:
        """Record batches of all records but those dropped or skipped. Raises the error that fails the task."""
        try:
            batches: list[Any] = []
            for left, values, keys in self._groups(records):
                batches += self._batches(left, values, keys)
            return batches
        finally:
            self._tolerance.release(records)

    def _batches(self, records: Sequence[SourceRecord], values: ValueBatch, keys: ValueBatch) -> list[Any]:
        try:
            struct = self._columns.of(records, values, keys)
        except CONVERSION_ERRORS as error:
            if len(records) == 1:
                self._refuse(records[0], error)
                return []
            middle = len(records) // 2
            halves = slice(0, middle), slice(middle, len(records))
            return [batch for half in halves for batch in self._batches(*_part(half, records, values, keys))]
        converted = self._table.convert(struct, lambda place, error: self._refuse(records[place], error))
        return [_exact(batch, self._target) for _, batch in converted]


def _part(part: slice, records: Sequence[SourceRecord], values: ValueBatch, keys: ValueBatch) -> Group:
    return records[part], ValueBatch(values.schema, values.rows[part]), ValueBatch(keys.schema, keys.rows[part])


def _typed(kind: Any) -> Any:
    """A type for values of which only nulls have been seen: a string."""
    return pa.string() if pa.types.is_null(kind) else kind


def _exact(batch: Any, target: Any) -> Any:
    """The batch with the nullability of the target schema."""
    if batch.schema.equals(target):
        return batch
    for field in target:
        if not field.nullable and batch.column(field.name).null_count:
            raise DataError(f"Column {field.name} is null, but the given schema has NOT NULL for it")
    return batch.cast(target)
