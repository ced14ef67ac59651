"""Values without a schema, with the types that the configuration gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from runtime.api.data.columns import ConstantColumn, ValueBatch
from runtime.api.errors import DataError
from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.connectors.files.arrow_merge import MergeError, conformed_column
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.connectors.files.sink.records_to_arrow import CONVERSION_ERRORS, inferred_array
from runtime.transforms.tables.record_table import fields_of


class TypedValues:
    """Converts batches."""

    def __init__(self, ddl: str) -> None:
        """`ddl`: the fields as Spark's DDL; ConfigError if it is not understood."""
        self._schema = arrow_schema(parse_ddl(ddl))
        self._to_values = ArrowValues(self._schema)

    def __call__(self, values: ValueBatch) -> ValueBatch:
        """The values as structs with these fields; a missing field is null. DataError if a value does not fit."""
        if not isinstance(values.first, Mapping):
            raise DataError(f"The value is {type(values.first).__name__}, not an object with fields (schema)")
        columns = fields_of(values)
        missing = ConstantColumn(None, values.count)
        arrays = [self._array(columns.get(field.name, missing), field) for field in self._schema]
        return self._to_values(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def _array(self, column: Any, field: Any) -> Any:
        try:
            array = conformed_column(inferred_array(column, field.type), field.type)
        except (MergeError, *CONVERSION_ERRORS) as error:
            raise DataError(f"{field.name} is not {field.type} (schema): {error}") from error
        if array.null_count and not field.nullable:
            raise DataError(f"{field.name} is null (schema)")
        return array
