"""SparkSql changes records by a query of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.config.validators import at_least
from runtime.api.data.columns import BatchMetadata, Derived, ValueBatch
from runtime.api.transformation import BatchTransformation
from runtime.connectors.spark.config_keys import is_ddl
from runtime.connectors.spark.session_client import RUN_SQL
from runtime.transforms.definitions import LOW, MEDIUM, key

if TYPE_CHECKING:
    from runtime.transforms.spark_sql.query import PreparedQuery
    from runtime.transforms.tables.record_table import RecordTable


def _accepted(name: str, value: Any) -> None:
    from runtime.transforms.spark_sql.spark import accepted

    accepted(name, value)


_SQL = key(
    "sql",
    "Query of Spark over the relation records, such as SELECT id, upper(name) AS name FROM records WHERE id > 0. "
    "Columns: the fields of the value; key, value, topic, timestamp, headers, partition and offset. Each record gives "
    "its own results: none, one, or several.",
    validator=_accepted,
)


class SparkSql(BatchTransformation):
    """The records of a batch are columns of a query that the worker's Spark session runs. The columns of the result are
    the fields of the new value, or key, topic, timestamp and headers of the record."""

    java_name = "headrace.SparkSql"
    config_def = ConfigDef(
        _SQL,
        key("schema", "Fields of values without a schema, with their types, as Spark's DDL, such as id BIGINT, name "
            "STRING. Other fields are dropped. By default types are those of the values in each batch.",
            ConfigType.STRING, "", MEDIUM, is_ddl),
        key("timeout.ms", "Milliseconds for the query of a batch, after which the task fails.", ConfigType.INT, 60_000,
            LOW, at_least(1)),
    )  # fmt: skip

    def configure(self, config: Mapping[str, str]) -> None:
        from runtime.transforms.spark_sql.query import PreparedQueries
        from runtime.transforms.spark_sql.spark import QueryRequests
        from runtime.transforms.tables.typed_values import TypedValues

        unchecked = [replace(known, validator=None) if known.name == _SQL.name else known for known in self.config_def]
        parsed = ConfigDef(*unchecked).parse(config)
        self._requests = QueryRequests(parsed["timeout.ms"] / 1000, lambda: self.stopping())
        self._queries = PreparedQueries(parsed["sql"], self._requests.ask)
        self._typed = TypedValues(parsed["schema"]) if parsed["schema"] else None

    def derive(self, values: ValueBatch, metadata: BatchMetadata) -> Derived:
        """As described for the class. Records without a value are not changed."""
        from runtime.api.data.columns import MixedBatchError
        from runtime.transforms.spark_sql.results import derived, read_results
        from runtime.transforms.tables.record_table import RecordTable

        if values.all_null:
            return Derived(values, range(values.count))
        if values.all_null is None:
            raise MixedBatchError
        typed = values if self._typed is None or values.schema is not None else self._typed(values)
        query, table = self._queries.of(lambda missing: RecordTable(typed, metadata, missing))
        results = None
        if query.needs_spark:
            assert query.common is not None
            results = read_results(self._requests.run({**query.common, "op": RUN_SQL}, rows_of(query, table)))
        return derived(query, table, results)

    def close(self) -> None:
        self._requests.close()


def rows_of(query: PreparedQuery, table: RecordTable) -> Any:
    """The columns that a query computes with, and the index of each record."""
    import pyarrow as pa

    arrays = [table.array(name) for name in query.inputs]
    fields = [table.field(name) for name in query.inputs]
    index = pa.array(range(table.count), pa.int64())
    schema = pa.schema([*fields, pa.field("headrace_index", pa.int64(), nullable=False)])
    return pa.RecordBatch.from_arrays([*arrays, index], schema=schema)
