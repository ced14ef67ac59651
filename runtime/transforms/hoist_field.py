"""HoistField wraps the key or value in a struct, or in a map without a schema, as its only field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import BatchMetadata, ValueBatch
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.data.validate import validate_value
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart
from runtime.transforms.definitions import MEDIUM, key


class HoistFieldValue(KeyOrValueTransformation):
    """Wraps nulls too, if their schema is optional."""

    java_name = "org.apache.kafka.connect.transforms.HoistField$Value"
    config_def = ConfigDef(key("field", "Name of the field.", importance=MEDIUM))

    def configure(self, config: Mapping[str, str]) -> None:
        self._field: str = self.config_def.parse(config)["field"]
        self._schemas = SchemaCache(lambda schema: struct_schema({self._field: schema}))

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, {self._field: value}
        hoisted = self._schemas.get(schema)
        if value is None and not schema.optional:
            validate_value(schema, value, self._field)
        return hoisted, {self._field: value}

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema, rows, field = values.schema, values.rows, self._field
        if schema is None:
            return ValueBatch.maps({field: rows}, values.count)
        if not schema.optional and None in rows:
            return None
        return ValueBatch.struct(self._schemas.get(schema), {field: rows}, values.count)


class HoistFieldKey(HoistFieldValue):
    java_name = "org.apache.kafka.connect.transforms.HoistField$Key"
    part = RecordPart.KEY
