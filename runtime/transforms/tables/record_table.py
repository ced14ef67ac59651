"""The columns that a query may use: the fields of values, and key, value, topic, timestamp, headers, partition and
offset, which a field of the same name hides. Arrays are created for the columns that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa

from runtime.api.data.columns import BatchMetadata, Column, ConstantColumn, MixedBatchError, ValueBatch
from runtime.api.data.java_text import java_text
from runtime.api.data.logical import TIMESTAMP_SCHEMA, datetime_of
from runtime.api.data.record import Headers
from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema, Type
from runtime.api.errors import DataError
from runtime.connectors.files.arrow_merge import MergeError, conformed_column
from runtime.connectors.files.arrow_types import arrow_type
from runtime.connectors.files.sink.records_to_arrow import CONVERSION_ERRORS, inferred_array, typed_array
from runtime.connectors.spark.sink.columns import spark_compatible

KEY, VALUE, TOPIC, TIMESTAMP, HEADERS = "key", "value", "topic", "timestamp", "headers"
PARTITION, OFFSET = "partition", "offset"
OTHERS = (KEY, VALUE, TOPIC, TIMESTAMP, HEADERS, PARTITION, OFFSET)

NO_FIELDS: Mapping[str, None] = {}

_OPTIONAL_STRING = STRING_SCHEMA.replace(optional=True)
_SCHEMAS = {
    TOPIC: STRING_SCHEMA,
    TIMESTAMP: TIMESTAMP_SCHEMA.replace(optional=True),
    HEADERS: Schema(Type.MAP, optional=True, keys=STRING_SCHEMA, values=_OPTIONAL_STRING),
    PARTITION: INT32_SCHEMA.replace(optional=True),
    OFFSET: INT64_SCHEMA.replace(optional=True),
}


class RecordTable:
    """The columns of one batch, none of whose values is null. MixedBatchError for maps with different keys."""

    def __init__(
        self, values: ValueBatch, metadata: BatchMetadata, missing: Mapping[str, None] = NO_FIELDS,
        as_type: Callable[[Any], Any] = spark_compatible,
    ) -> None:  # fmt: skip
        """`missing`: fields that are null throughout, of values without a schema. `as_type`: the type of a column for
        that of its values."""
        self.count, self.values, self._metadata, self._as_type = values.count, values, metadata, as_type
        self._fields: dict[str, Column] = dict(fields_of(values))
        self.may_lack_fields = values.schema is None and (
            bool(self._fields) or any(isinstance(row, Mapping) for row in values.rows[:1])
        )
        """Whether the values are maps without a schema, in which a field may be missing."""

        for name in missing:
            self._fields.setdefault(name, ConstantColumn(None, values.count))
        self._others = [name for name in OTHERS if name not in self._fields]
        self._columns: dict[str, Column] = {}
        self._arrays: dict[str, Any] = {}

    @property
    def fields(self) -> int:
        """The number of fields of the values."""
        return len(self._fields)

    def is_field(self, name: str) -> bool:
        return name in self._fields

    @property
    def shape(self) -> Hashable:
        """Equal for tables with the same columns, whose types may still differ for values without a schema."""
        schemas = id(self.values.schema), id(self._metadata.keys.schema)
        return *schemas, self.may_lack_fields, tuple(self._fields)

    @cached_property
    def has_offsets(self) -> bool:
        """Whether the records were read from Kafka, by a sink."""
        try:
            self._metadata.offsets()
        except MixedBatchError:
            return False
        return True

    @property
    def key_schema(self) -> Schema | None:
        """Connect's schema of the keys."""
        return self._metadata.keys.schema

    @property
    def names(self) -> list[str]:
        """All columns, those of the values' fields first."""
        return [*self._fields, *self._others]

    def column(self, name: str) -> Column:
        """The values of a column."""
        if name in self._fields:
            return self._fields[name]
        if name not in self._columns:
            self._columns[name] = self._other(name)
        return self._columns[name]

    def schema(self, name: str) -> Schema | None:
        """Connect's schema of a column; None if it has none."""
        if name in self._fields:
            values = self.values.schema
            return None if values is None else values.field(name)
        if name == VALUE:
            return self.values.schema
        return self._metadata.keys.schema if name == KEY else _SCHEMAS[name]

    def array(self, name: str) -> Any:
        """A column with a type that Spark has. DataError if a value does not fit."""
        if name not in self._arrays:
            try:
                self._arrays[name] = self._array(name)
            except (MergeError, *CONVERSION_ERRORS) as error:
                raise DataError(f"{name} cannot be a column: {error}") from error
        return self._arrays[name]

    def arrow_schema(self) -> Any:
        """The names and types of all columns."""
        return pa.schema([self.field(name) for name in self.names])

    def field(self, name: str) -> Any:
        """The name and type of a column."""
        schema = self.schema(name)
        if schema is None:
            return pa.field(name, self.array(name).type)
        return pa.field(name, self._as_type(arrow_type(schema)), schema.optional)

    def _array(self, name: str) -> Any:
        column, schema = self.column(name), self.schema(name)
        if schema is not None:
            array = typed_array(column, pa.field(name, self._kind(schema), schema.optional))
        elif name == VALUE and self._fields:
            array = pa.StructArray.from_arrays([self.array(field) for field in self._fields], names=list(self._fields))
        else:
            array = inferred_array(column)
        if name == KEY and pa.types.is_null(array.type):
            array = array.cast(pa.string())
        return conformed_column(array, self._as_type(array.type))

    def _kind(self, schema: Schema) -> Any:
        """Arrow's type for the values: that of the column, with microseconds, unless times of a day have to be
        converted."""
        kind = arrow_type(schema)
        return kind if "time32" in str(kind) else self._as_type(kind)

    def _other(self, name: str) -> Column:
        metadata = self._metadata
        if name == VALUE:
            return self.values.rows
        if name == KEY:
            return metadata.keys.rows
        if name == TOPIC:
            return metadata.topics()
        if name == HEADERS:
            return [_texts(headers) for headers in metadata.headers]
        if name == TIMESTAMP:
            return [None if time is None or time < 0 else datetime_of(time) for time in metadata.timestamps()]
        if name == PARTITION:
            return metadata.partitions()
        return metadata.offsets() if self.has_offsets else ConstantColumn(None, self.count)


def fields_of(values: ValueBatch) -> Mapping[str, Column]:
    """The fields of structs, or of maps without a schema that have the same keys; none for other values."""
    if values.schema is not None and values.schema.type is not Type.STRUCT:
        return {}
    if values.schema is not None and not values.schema.fields:
        return {}
    try:
        return values.columns
    except MixedBatchError:
        rows = values.rows
        if not any(isinstance(row, Mapping) for row in rows):
            return {}
        if not all(isinstance(row, Mapping) for row in rows) or len(set(map(tuple, rows))) > 1:
            raise
        if not all(type(name) is str for name in rows[0]):
            raise DataError("The keys of a map without a schema must be strings to be columns of a query") from None
        return {name: [row[name] for row in rows] for name in rows[0]}


def _texts(headers: Headers | None) -> dict[str, str | None]:
    return {name: None if value is None else java_text(value, schema) for name, schema, value in headers or ()}
