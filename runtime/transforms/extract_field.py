"""ExtractField replaces the key or value with one of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import BatchMetadata, Column, ConstantColumn, ValueBatch
from runtime.api.data.schema import Schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import IllegalArgumentError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart, update_each
from runtime.transforms.definitions import FIELD_SYNTAX, MEDIUM, REPLACE_NULL, key
from runtime.transforms.fields.field_path import FieldPath
from runtime.transforms.fields.struct_copy import fill_nulls
from runtime.transforms.fields.type_checks import require_map, require_struct

_PURPOSE = "field extraction"


class ExtractFieldValue(KeyOrValueTransformation):
    """Nulls are unchanged. A missing field is null without a schema, and an error with one."""

    java_name = "org.apache.kafka.connect.transforms.ExtractField$Value"
    config_def = ConfigDef(key("field", "Field to extract.", importance=MEDIUM), REPLACE_NULL, FIELD_SYNTAX)

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._path = FieldPath(parsed["field"], parsed["field.syntax.version"])
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._extracted)
        self._name = self._path.steps[0] if len(self._path.steps) == 1 else None

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, None if value is None else self._path.value_in_map(require_map(value, _PURPOSE))
        if value is None:
            return self._schemas.get(schema), None
        struct = require_struct(schema, value, _PURPOSE)
        extracted = self._schemas.get(schema)
        if self._name is not None:
            inner = struct.get(self._name)
            return extracted, extracted.default if inner is None and self._fill else inner
        return extracted, self._path.value_in_struct(schema, struct, self._fill)

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema, name, nothing = values.schema, self._name, ConstantColumn(None, values.count)
        if schema is None:
            if values.all_null:
                return values
            return (
                update_each(self.update, values)
                if name is None
                else ValueBatch(None, values.columns.get(name, nothing))
            )
        extracted = self._schemas.get(schema)
        if values.all_null:
            return ValueBatch(extracted, nothing)
        if name is None:
            return ValueBatch(extracted, [self._path.value_in_struct(schema, row, self._fill) for row in values.rows])
        column: Column = values.columns[name]
        return ValueBatch(extracted, fill_nulls(column, extracted.default) if self._fill else column)

    def _extracted(self, schema: Schema) -> Schema:
        inner = self._path.schema_in(schema)
        if inner is None:
            raise IllegalArgumentError(f"Unknown field: {self._path.text}")
        return inner


class ExtractFieldKey(ExtractFieldValue):
    java_name = "org.apache.kafka.connect.transforms.ExtractField$Key"
    part = RecordPart.KEY
