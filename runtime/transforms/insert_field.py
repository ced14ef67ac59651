"""InsertField adds a record's metadata or a static value as fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import (
    BatchMetadata,
    Column,
    ConstantColumn,
    HashMapLayout,
    MixedBatchError,
    ValueBatch,
    value_types,
)
from runtime.api.data.java_text import JavaMap
from runtime.api.data.logical import TIMESTAMP_SCHEMA, datetime_of
from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema, struct_schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import ConfigError, DataError, SchemaBuilderError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart
from runtime.transforms.definitions import MEDIUM, REPLACE_NULL, key
from runtime.transforms.fields.struct_copy import StructCopy
from runtime.transforms.fields.type_checks import require_map, require_struct

_PURPOSE = "field insertion"
_SUFFIX = "The suffix ! makes the field required; ? (or none) makes it optional."
_TYPES = {
    "topic": STRING_SCHEMA,
    "partition": INT32_SCHEMA,
    "offset": INT64_SCHEMA,
    "timestamp": TIMESTAMP_SCHEMA,
    "static": STRING_SCHEMA,
}


class _Insertion(NamedTuple):
    what: str
    name: str
    schema: Schema


def _key(what: str, doc: str) -> Any:
    return key(f"{what}.field", f"{doc} {_SUFFIX}", default=None, importance=MEDIUM)


class InsertFieldValue(KeyOrValueTransformation):
    """Nulls are unchanged."""

    java_name = "org.apache.kafka.connect.transforms.InsertField$Value"
    config_def = ConfigDef(
        _key("topic", "Field for the topic."),
        _key("partition", "Field for the Kafka partition."),
        _key("offset", "Field for the Kafka offset; for sinks only."),
        _key("timestamp", "Field for the timestamp."),
        _key("static", "Field for a static value."),
        key("static.value", "The static value.", default=None, importance=MEDIUM),
        REPLACE_NULL,
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._static: str | None = parsed["static.value"]
        self._insertions = [
            _insertion(what, parsed[f"{what}.field"]) for what in _TYPES if parsed[f"{what}.field"] is not None
        ]
        if not self._insertions:
            raise ConfigError("No field insertion configured")
        if parsed["static.field"] is not None and self._static is None:
            raise ConfigError(
                "Invalid value null for configuration static.value: No value specified for static field: "
                f"{parsed['static.field']}"
            )
        self._fill: bool = parsed["replace.null.with.default"]
        only_static = all(i.what == "static" for i in self._insertions)
        self._always = {i.name: self._static for i in self._insertions} if only_static else None
        self._schemas = SchemaCache(self._extended)

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        always = self._always
        if schema is None:
            if always is not None and isinstance(value, dict):
                made = JavaMap(value)
                made.copied = len(value)
                made.update(always)
                return None, made
            return None, self._inserted(JavaMap.copy_of(require_map(value, _PURPOSE)), record, typed=False)
        old = require_struct(schema, value, _PURPOSE)
        extended, copy = self._schemas.get(schema)
        if always is not None and not copy.changes_values:
            return extended, {**old, **always}
        return extended, self._inserted(copy.row(old), record, typed=True)

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        if values.all_null:
            return values
        if values.schema is None:
            return self._maps(values, metadata)
        extended, copy = self._schemas.get(values.schema)
        columns = copy.columns(values.columns)
        for what, name, _ in self._insertions:
            columns[name] = self._column(what, metadata, values.count, typed=True)
        return ValueBatch.struct(extended, columns, values.count)

    def _maps(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch:
        old = values.columns
        columns = {**old}
        for what, name, _ in self._insertions:
            columns[name] = self._column(what, metadata, values.count, typed=False)
        return ValueBatch.maps(columns, values.count, HashMapLayout(len(old)))

    def _column(self, what: str, metadata: BatchMetadata, count: int, typed: bool) -> Column:
        """The inserted values; MixedBatchError if some are missing."""
        column: Column = ConstantColumn(self._static, count)
        if what == "topic":
            column = metadata.topics()
        elif what == "partition":
            column = metadata.partitions()
        elif what == "offset":
            column = metadata.offsets()
        elif what == "timestamp":
            column = metadata.timestamps()
        if type(None) in value_types(column):
            raise MixedBatchError
        if what != "timestamp" or not typed:
            return column
        if type(column) is ConstantColumn:
            return ConstantColumn(datetime_of(column.value), count)
        return [datetime_of(time) for time in column]

    def _inserted(self, new: dict[str, Any], record: Record, typed: bool) -> dict[str, Any]:
        if self._always is not None:
            new.update(self._always)
            return new
        for what, name, _ in self._insertions:
            inserted = self._value(what, record, typed)
            if inserted is not None:
                new[name] = inserted
        return new

    def _value(self, what: str, record: Record, typed: bool) -> Any:
        if what == "topic":
            return record.topic
        if what == "static":
            return self._static
        if what == "partition":
            return record.kafka_partition
        if what == "timestamp":
            ms = record.timestamp
            return datetime_of(ms) if typed and ms is not None else ms
        if isinstance(record, SinkRecord):
            return record.kafka_offset
        raise DataError(
            f"Only SinkRecord supported for [{_PURPOSE}], found: org.apache.kafka.connect.source.SourceRecord"
        )

    def _extended(self, schema: Schema) -> tuple[Schema, StructCopy]:
        """The schema with the new fields, and the copy of the old fields."""
        fields = {field.name: field.schema for field in schema.fields}
        if "" in fields:
            raise SchemaBuilderError("fieldName cannot be null.")
        for insertion in self._insertions:
            if insertion.name in fields:
                raise SchemaBuilderError(f"Cannot create field because of field name duplication {insertion.name}")
            fields[insertion.name] = insertion.schema
        return struct_schema(fields, schema), StructCopy(schema, self._fill)


def _insertion(what: str, text: str) -> _Insertion:
    if text.endswith("!"):
        return _Insertion(what, text[:-1], _TYPES[what])
    return _Insertion(what, text[:-1] if text.endswith("?") else text, _TYPES[what].replace(optional=True))


class InsertFieldKey(InsertFieldValue):
    java_name = "org.apache.kafka.connect.transforms.InsertField$Key"
    part = RecordPart.KEY
