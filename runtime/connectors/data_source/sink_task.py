"""The task of DataSourceSink: batches of a streaming writer, each committed before the offsets of its records."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.data.schema import Schema, Type, struct_schema
from runtime.api.data.validate import validate_value
from runtime.api.errors import ConfigError, ConnectError, DataError
from runtime.api.task import SinkTask
from runtime.connectors.data_source.config import RECORDS, SINK_KEYS
from runtime.connectors.data_source.connect_schema import connect_struct, spark_type
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.connectors.data_source.loading import SCHEMA, load_data_source

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
    from pyspark.sql.types import StructType

_VALUE = "value"  # the column of values that are not structs


class RowSchema:
    """The schema of a writer, and how values become its rows. `source`: the Connect schema that it was made from."""

    def __init__(self, spark: StructType, make: Callable[[Any], Any], source: Schema | None) -> None:
        self.spark, self._make, self.source = spark, make, source

    @classmethod
    def of_connect(cls, schema: Schema) -> RowSchema:
        """For values of a Connect schema; DataError for types that Spark lacks. A value that is not a struct is the
        column `value`."""
        whole = schema if schema.type is Type.STRUCT else struct_schema({_VALUE: schema})
        spark, make = spark_type(whole, "")
        assert make is not None
        if schema.type is Type.STRUCT:
            return cls(spark, make, schema)
        return cls(spark, lambda value: make({_VALUE: value}), schema)

    @classmethod
    def of_spark(cls, spark: StructType) -> RowSchema:
        """For values that match a configured schema; ConfigError if it has types that Connect lacks."""
        schema = connect_struct(spark)[0]
        _, make = spark_type(schema, "")
        assert make is not None

        def checked(value: Any) -> Any:
            if not isinstance(value, Mapping):
                raise DataError(f"The value is not a struct or map but {type(value).__name__}")
            for field in schema.fields:
                validate_value(field.schema, value.get(field.name), field.name)
            return make(value)

        return cls(spark, checked, None)

    def row(self, value: Any) -> Any:
        """A row; DataError if the value does not match the schema."""
        try:
            return self._make(value)
        except (TypeError, AttributeError, ValueError) as error:
            raise DataError(f"The value does not match the schema: {error}") from error

    def arrow_batch(self, rows: list[Any]) -> Any:
        """The rows as an Arrow record batch, for writers that take them; ConfigError without pyarrow."""
        try:
            import pyarrow as pa
            from pyspark.sql.pandas.types import to_arrow_schema
        except ImportError as error:
            raise ConfigError("This data source needs pyarrow: install it in the environment of the worker") from error
        schema = to_arrow_schema(self.spark)
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


_log = logging.getLogger(__name__)


class DataSourceSinkTask(SinkTask):
    """Writes rows when enough are waiting or offsets are committed. Two phases: write() returns messages, and commit()
    makes what they describe visible."""

    def start(self, config: Mapping[str, str]) -> None:
        settings = SINK_KEYS.parse(config)
        self._config = dict(config)
        self._size: int = settings[RECORDS]
        text = settings[SCHEMA]
        self._configured = None if text is None else RowSchema.of_spark(parse_ddl(text))
        self._rows: list[Any] = []
        self._schema: RowSchema | None = None
        self._writer: DataSourceStreamWriter | None = None
        self._messages: list[WriterCommitMessage | None] = []
        self._batch = -1

    def put(self, records: Sequence[SinkRecord]) -> None:
        reporter = self.context.errant_record_reporter
        for record in records:
            try:
                schema = self._schema_of(record)
                row = schema.row(record.value)
            except DataError as error:
                if reporter is None:
                    raise
                reporter.report(record, error)
                continue
            if schema is not self._schema:
                self._use(schema)
            self._rows.append(row)
            if len(self._rows) >= self._size:
                self._write()

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commits the batch. Its id grows with the offsets, so that a batch with the same records of one partition
        has the same id after a crash."""
        self._write()
        if not self._messages:
            return
        assert self._writer is not None
        self._batch = max(self._batch + 1, sum(offsets.values()))
        try:
            self._writer.commit(list(self._messages), self._batch)
        except Exception as error:  # third-party code
            self._abort()
            raise ConnectError(f"The writer's commit() failed: {type(error).__name__}: {error}") from error
        self._messages = []

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._abort()

    def stop(self) -> None:
        if getattr(self, "_messages", None):
            self._abort()

    def _schema_of(self, record: SinkRecord) -> RowSchema:
        if record.value is None:
            raise DataError("A data source cannot write a record with a null value")
        if self._configured is not None:
            return self._configured
        if record.value_schema is None:
            raise DataError(f"The record has no schema: set {SCHEMA}, or use a converter with schemas")
        if self._schema is not None and self._schema.source is record.value_schema:
            return self._schema
        return RowSchema.of_connect(record.value_schema)

    def _use(self, schema: RowSchema) -> None:
        """Continues with rows of another schema, for which the data source has another writer."""
        if self._writer is not None and self._schema is not None and self._schema.spark == schema.spark:
            self._schema = schema
            return
        self._write()
        if self._messages:
            assert self._writer is not None
            self._batch += 1
            self._writer.commit(list(self._messages), self._batch)
            self._messages = []
        self._schema = schema
        self._writer = load_data_source(self._config).streamWriter(schema.spark, False)

    def _write(self) -> None:
        if not self._rows:
            return
        assert self._writer is not None and self._schema is not None
        rows, self._rows = self._rows, []
        try:
            self._messages.append(self._writer.write(self._input(rows)))
        except Exception as error:  # third-party code
            self._abort()
            raise ConnectError(f"The writer's write() failed: {type(error).__name__}: {error}") from error

    def _input(self, rows: list[Any]) -> Iterator[Any]:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter

        assert self._schema is not None
        if isinstance(self._writer, DataSourceStreamArrowWriter):
            return iter([self._schema.arrow_batch(rows)])
        return iter(rows)

    def _abort(self) -> None:
        """Gives up the batch, whose records are delivered again."""
        self._rows = []
        messages, self._messages = self._messages, []
        if self._writer is not None and messages:
            try:
                self._writer.abort(messages, self._batch + 1)
            except Exception:  # third-party code
                _log.exception("The writer's abort() failed")
