"""SetSchemaMetadata sets the name or version of the schema of the key or value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.data.columns import BatchMetadata, ValueBatch
from runtime.api.data.schema import Schema, Type
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import ConfigError, DataError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart
from runtime.transforms.definitions import REPLACE_NULL, key
from runtime.transforms.fields.struct_copy import StructCopy


class SetSchemaMetadataValue(KeyOrValueTransformation):
    """Supports structs only, like Apache's transformation. Nulls without a schema are unchanged."""

    java_name = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value"
    config_def = ConfigDef(
        key("schema.name", "Name of the schema.", default=None),
        key("schema.version", "Version of the schema.", ConfigType.INT, None),
        REPLACE_NULL,
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._changes = {
            name: parsed[f"schema.{name}"] for name in ("name", "version") if parsed[f"schema.{name}"] is not None
        }
        if not self._changes:
            raise ConfigError("Neither schema name nor version configured")
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._renamed)

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            if value is None:
                return None, None
            raise DataError("Schema required for [updating schema metadata]")
        renamed, copy = self._schemas.get(schema)
        return renamed, copy.row(value) if copy.changes_values and value is not None else value

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        if values.schema is None:
            return values if values.all_null else None
        renamed, copy = self._schemas.get(values.schema)
        if values.all_null or not copy.changes_values:
            return values.with_schema(renamed)
        old = values.columns
        new = copy.columns(old)
        if all(new[name] is old[name] for name in new):
            return values.with_schema(renamed)
        return ValueBatch.struct(renamed, new, values.count)

    def _renamed(self, schema: Schema) -> tuple[Schema, StructCopy]:
        if schema.type is not Type.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        return schema.replace(**self._changes), StructCopy(schema, self._fill)


class SetSchemaMetadataKey(SetSchemaMetadataValue):
    java_name = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key"
    part = RecordPart.KEY
