"""Values of records as rows of a streaming writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.api.data.schema import Schema, Type, struct_schema
from runtime.api.data.validate import validate_value
from runtime.api.errors import ConfigError, DataError
from runtime.connectors.data_source.connect_schema import connect_struct, spark_type

if TYPE_CHECKING:
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
