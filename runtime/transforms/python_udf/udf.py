"""PythonUdf changes records by a function of the user."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.config.validators import at_least, one_of_ignoring_case
from runtime.api.data.columns import BatchMetadata, Derived, ValueBatch
from runtime.api.transformation import BatchTransformation
from runtime.connectors.spark.config_keys import is_ddl
from runtime.transforms.definitions import LOW, MEDIUM, key
from runtime.transforms.python_udf.reference import FUNCTION, PYTHON_UDF, FunctionReference, is_reference

if TYPE_CHECKING:
    from runtime.transforms.tables.record_table import RecordTable

_log = logging.getLogger(__name__)


class PythonUdf(BatchTransformation):
    """The records of a batch are the rows of an Arrow table or a pandas DataFrame that a function takes. The columns of
    what it returns are the fields of the new value, or key, topic, timestamp and headers of the record."""

    java_name = PYTHON_UDF
    config_def = ConfigDef(
        key(FUNCTION, "Function as module:function, such as orders:clean, in a module of plugin.path or of a plugin "
            "environment. It takes and returns a RecordBatch or Table of pyarrow, or a DataFrame of pandas. Columns: "
            "the fields of the value, or value; key, topic, timestamp, headers, partition and offset; _record, the "
            "number of the record, which a function that drops or adds rows keeps.", validator=is_reference),
        key("batch", "What the function takes: arrow (a RecordBatch), table (a Table of pyarrow) or pandas (a "
            "DataFrame). By default the annotation of its parameter says it; without one, arrow.", ConfigType.STRING,
            "", MEDIUM, one_of_ignoring_case("", "arrow", "table", "pandas")),
        key("schema", "Fields of values without a schema, with their types, as Spark's DDL, such as id BIGINT, name "
            "STRING. Other fields are dropped. By default types are those of the values in each batch.",
            ConfigType.STRING, "", MEDIUM, is_ddl),
        key("returns", "Fields that the function returns, with their types, as Spark's DDL. By default types are those "
            "of the columns that it returns.", ConfigType.STRING, "", MEDIUM, is_ddl),
        key("timeout.ms", "Milliseconds for a call of the function, after which the task fails.", ConfigType.INT,
            60_000, LOW, at_least(1)),
    )  # fmt: skip

    label = "PythonUdf"
    """The name of the transformation in messages. The worker replaces it."""

    def configure(self, config: Mapping[str, str]) -> None:
        from runtime.transforms.python_udf.function import UserFunction
        from runtime.transforms.python_udf.function_thread import FunctionThread
        from runtime.transforms.python_udf.results import FunctionResults
        from runtime.transforms.tables.typed_values import TypedValues

        parsed = self.config_def.parse(config)
        reference = FunctionReference.of(parsed[FUNCTION])
        assert reference is not None
        self._one_by_one = False
        self._typed = TypedValues(parsed["schema"]) if parsed["schema"] else None
        self._thread = FunctionThread(parsed["timeout.ms"] / 1000, lambda: self.stopping())
        self._function = self._thread.run(
            lambda: UserFunction(reference, parsed["batch"].lower(), self.label), f"{self.label}: {reference}"
        )
        self._results = FunctionResults(str(self._function), parsed["returns"])

    def derive(self, values: ValueBatch, metadata: BatchMetadata) -> Derived:
        """As described for the class. Records without a value are not changed."""
        from runtime.api.data.columns import MixedBatchError
        from runtime.transforms.python_udf.columns import in_microseconds
        from runtime.transforms.tables.record_table import RecordTable

        if values.all_null:
            return Derived(values, range(values.count))
        if values.all_null is None:
            raise MixedBatchError
        typed = values if self._typed is None or values.schema is not None else self._typed(values)
        table = RecordTable(typed, metadata, as_type=in_microseconds)
        rows, places = self._called(table)
        return Derived(ValueBatch(None, ()), ()) if rows is None else self._results.derived(table, rows, places)

    def close(self) -> None:
        if hasattr(self, "_thread"):
            self._thread.close()

    def _called(self, table: RecordTable) -> tuple[Any, Sequence[int]]:
        """The rows that the function returns, and for each the number of its record; None without any."""
        given = rows_of(table)
        if not self._one_by_one:
            rows = self._call(given)
            if rows is None:
                return None, ()
            places = self._results.places(rows, table.count)
            if places is None and table.count == 1:
                places = [0] * rows.num_rows
            if places is not None:
                return rows, places
            self._one_by_one = True
            _log.warning(
                "%s returns %d rows for %d records, without the column _record: from now on it is called for each "
                "record, which is slow. Keep the column, or in pandas the index",
                self._function, rows.num_rows, table.count,
            )  # fmt: skip
        return self._called_for_each(given)

    def _called_for_each(self, given: Any) -> tuple[Any, Sequence[int]]:
        import pyarrow as pa

        made, places = [], []
        for place in range(given.num_rows):
            rows = self._call(given.slice(place, 1))
            if rows is not None and rows.num_rows:
                made.append(rows)
                places += [place] * rows.num_rows
        return (pa.concat_tables(made, promote_options="permissive"), places) if made else (None, ())

    def _call(self, rows: Any) -> Any:
        return self._thread.run(lambda: self._function(rows), str(self._function))


def rows_of(table: RecordTable) -> Any:
    """The columns that a function gets. `value` only if values have no fields."""
    import pyarrow as pa

    from runtime.api.errors import DataError
    from runtime.transforms.python_udf.columns import RECORD
    from runtime.transforms.tables.record_table import VALUE

    if table.is_field(RECORD):
        raise DataError(f"The value has a field {RECORD}, the name of the column with the number of the record")
    names = [name for name in table.names if name != VALUE or table.is_field(VALUE) or not table.fields]
    arrays = [*(table.array(name) for name in names), pa.array(range(table.count), pa.int32())]
    fields = [*(table.field(name) for name in names), pa.field(RECORD, pa.int32(), nullable=False)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
