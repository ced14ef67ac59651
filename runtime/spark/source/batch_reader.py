"""`spark.read`: each Spark task runs one Connect task until its source has no more records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.files.arrow_merge import MergeError, merged_type, writable_schema
from runtime.connectors.spark.sink.columns import spark_compatible
from runtime.model.states import ConnectorType
from runtime.spark.columns import columns_of_names
from runtime.spark.connector import PlannedTask, SparkConnector
from runtime.spark.options import SparkOptions
from runtime.spark.position import StreamPosition
from runtime.spark.source.source_run import SourceTaskRun

_types = pa.types


class FieldInference:
    """Merges the fields of records: integers and decimals become the latter, other types texts."""

    def __init__(self, records: int, seconds: float) -> None:
        """`records`: after which the schema is known; `seconds` after the first of them, if fewer arrive."""
        self._left, self._seconds = records, seconds
        self._until: float | None = None
        self._fields: dict[str, Any] = {}
        self._seen = False

    @property
    def enough(self) -> bool:
        return self._left <= 0 or (self._until is not None and time.monotonic() >= self._until)

    @property
    def schema(self) -> Any:
        """The Arrow schema, with types that Spark has; None without records."""
        if not self._seen:
            return None
        schema = writable_schema(pa.schema([pa.field(name, kind) for name, kind in self._fields.items()]))
        return pa.schema([pa.field(field.name, spark_compatible(field.type)) for field in schema])

    def add(self, polls: Iterable[Iterable[Any]]) -> None:
        """The Arrow schemas of the records of each poll, until there are enough. ConfigError if two have fields that
        cannot be one column."""
        for schemas in polls:
            for schema in schemas:
                if self._until is None:
                    self._until = time.monotonic() + self._seconds
                self._add(schema)
                self._left -= 1
                if self._left <= 0:
                    return
            if self.enough:
                return

    def _add(self, schema: Any) -> None:
        self._seen = True
        for field in schema:
            known = self._fields.get(field.name)
            self._fields[field.name] = field.type if known is None else _common(field.name, known, field.type)


def _common(name: str, first: Any, second: Any) -> Any:
    try:
        return merged_type(first, second)
    except MergeError:
        if not _types.is_nested(first) and not _types.is_nested(second):
            return pa.string()
        raise ConfigError(
            f"The field {name} has values of the types {first} and {second}, which cannot be one column: give the "
            "schema with .schema('id BIGINT, name STRING')"
        ) from None


@dataclass
class TaskPartition(InputPartition):
    """A task of the connector."""

    number: int
    config: Mapping[str, str]


class HeadraceReader(DataSourceReader):
    """Reads a source from its start."""

    def __init__(self, options: SparkOptions, schema: StructType) -> None:
        self._options, self._schema = options, schema

    def partitions(self) -> Sequence[InputPartition]:
        connector = SparkConnector(self._options, ConnectorType.SOURCE)
        return [TaskPartition(task.number, task.config) for task in connector.planned()]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, TaskPartition)
        connector = SparkConnector(self._options, ConnectorType.SOURCE)
        run = SourceTaskRun(connector, PlannedTask(partition.number, partition.config), StreamPosition())
        names = self._schema.names
        columns = self._options.columns or columns_of_names(names, connector.has_converter("value"))
        rows = run.conversion.rows(columns, arrow_schema(self._schema), self._options.infers)
        try:
            run.start()
            for records in polls(run, self._options):
                yield from rows.of(records)
        finally:
            run.stop()


def polls(run: SourceTaskRun, options: SparkOptions) -> Iterator[Sequence[Any]]:
    """The records of each poll, until polls have returned none for `headrace.idle.ms`, or until the limit."""
    left = options.most_records
    while left is None or left > 0:
        records = run.poll()
        if len(records):
            part = records if left is None or len(records) <= left else records[:left]
            left = None if left is None else left - len(part)
            yield part
        elif run.idle > options.idle:
            return
        else:
            run.rest()


def inferred_schema(options: SparkOptions) -> StructType:
    """The schema of the first record, or of the first ones with `value.schema=infer`. ConnectError if none arrives in
    time."""
    from pyspark.sql.pandas.types import from_arrow_schema

    connector = SparkConnector(options, ConnectorType.SOURCE)
    if options.infer_records is not None:
        fields = FieldInference(options.infer_records, options.idle)
        for task in connector.planned():
            run = SourceTaskRun(connector, task, StreamPosition())
            try:
                run.start()
                fields.add(run.conversion.inferred_fields(records) for records in polls(run, options))
            finally:
                run.stop()
            if fields.enough:
                break
        if fields.schema is not None:
            inferred: StructType = from_arrow_schema(fields.schema)
            return inferred
        raise _no_record(options)
    for task in connector.planned():
        run = SourceTaskRun(connector, task, StreamPosition())
        try:
            run.start()
            for records in polls(run, options):
                arrow_schema = run.conversion.inferred(records, options.columns)
                if arrow_schema is not None:
                    schema: StructType = from_arrow_schema(arrow_schema)
                    return schema
        finally:
            run.stop()
    raise _no_record(options)


def _no_record(options: SparkOptions) -> ConnectError:
    return ConnectError(
        f"No record has arrived within {options.idle:g} s (headrace.idle.ms) from which the schema could be inferred: "
        "give it with .schema('id BIGINT, name STRING'), or raise headrace.idle.ms"
    )
