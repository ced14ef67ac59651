"""`spark.read`: each Spark task runs one Connect task until its source has no more records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from runtime.api.errors import ConnectError
from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.model.states import ConnectorType
from runtime.spark.columns import columns_of_names
from runtime.spark.connector import PlannedTask, SparkConnector
from runtime.spark.options import SparkOptions
from runtime.spark.position import StreamPosition
from runtime.spark.source.field_inference import FieldInference
from runtime.spark.source.source_run import SourceTaskRun


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
