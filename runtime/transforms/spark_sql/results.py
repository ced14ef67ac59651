"""Results of Spark as records: computed columns from Spark, the others from the records that were sent."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from runtime.api.data.columns import Derived, ValueBatch
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.transforms.spark_sql.query import PreparedQuery
from runtime.transforms.tables import derived_records
from runtime.transforms.tables.derived_records import TableResult
from runtime.transforms.tables.errors import RefusedError
from runtime.transforms.tables.record_table import RecordTable


def read_results(content: bytes) -> Any:
    """The results in a file of the session: Arrow streams, each behind its length. None if there are none."""
    tables, start = [], 0
    while start < len(content):
        end = start + 4 + int.from_bytes(content[start : start + 4], "big")
        with pa.ipc.open_stream(pa.py_buffer(memoryview(content)[start + 4 : end])) as stream:
            tables.append(stream.read_all())
        start = end
    batches = pa.concat_tables(tables).combine_chunks().to_batches() if tables else []
    return batches[0] if batches and batches[0].num_rows else None


def derived(query: PreparedQuery, table: RecordTable, results: Any) -> Derived:
    """The records. `results`: a record batch with the index of the record of each result and the computed columns; None
    if nothing was computed."""
    outputs, typed = dict(query.outputs), table.values.schema is not None
    if results is None:
        if query.needs_spark:
            return Derived(ValueBatch(None, ()), ())
        return derived_records.derived(
            TableResult(outputs, range(table.count), {}, {} if typed else None, "sql"), table
        )
    places = _in_order(results.column(0).to_pylist())
    computed = _values(results.remove_column(0)) if results.num_columns > 1 else None
    columns = {} if computed is None else dict(computed.columns)
    schemas = {} if computed is None or computed.schema is None else {f.name: f.schema for f in computed.schema.fields}
    rows = places if query.changes_count else range(table.count)
    return derived_records.derived(TableResult(outputs, rows, columns, schemas if typed else None, "sql"), table)


def _values(columns: Any) -> ValueBatch:
    try:
        to_values = ArrowValues(columns.schema)
    except DataError as error:
        raise RefusedError(f"sql gives a column that Connect does not have: {error}") from error
    return to_values(columns)


def _in_order(places: list[int]) -> list[int]:
    if any(map(int.__gt__, places, places[1:])):
        raise DataError("Spark has returned the results of a batch in another order")
    return places
