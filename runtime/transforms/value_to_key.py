"""ValueToKey replaces the key with fields of the value."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.data.columns import BatchMetadata, ConstantColumn, HashMapLayout, ValueBatch
from runtime.api.data.java_text import JavaMap
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError
from runtime.api.transformation import RecordT, Transformation
from runtime.transforms.definitions import REPLACE_NULL, some_values
from runtime.transforms.definitions import key as config_key
from runtime.transforms.fields.struct_copy import StructCopy
from runtime.transforms.fields.type_checks import require_map, require_struct

_PURPOSE = "copying fields from value to key"


class ValueToKey(Transformation):
    """A missing field is null without a schema, and an error with one."""

    java_name = "org.apache.kafka.connect.transforms.ValueToKey"
    config_def = ConfigDef(
        config_key("fields", "Fields to copy from the value into the key.", ConfigType.LIST, validator=some_values),
        REPLACE_NULL,
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._fields: list[str] = parsed["fields"]
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._key_schema)

    def apply(self, record: RecordT) -> RecordT | None:
        schema = record.value_schema
        if schema is None:
            value = require_map(record.value, _PURPOSE)
            key = JavaMap.sized(len(self._fields))
            for name in self._fields:
                key[name] = value.get(name)
            record.key_schema, record.key = None, key
            return record
        value = require_struct(schema, record.value, _PURPOSE)
        key_schema, copy = self._schemas.get(schema)
        new = {name: value.get(name) for name in self._fields}
        record.key_schema, record.key = key_schema, copy.row(new) if copy.changes_values else new
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema, old, count = values.schema, values.columns, values.count
        if schema is None:
            nothing = ConstantColumn(None, count)
            made = HashMapLayout(0, len(self._fields))
            metadata.keys = ValueBatch.maps({name: old.get(name, nothing) for name in self._fields}, count, made)
            return values
        key_schema, copy = self._schemas.get(schema)
        metadata.keys = ValueBatch.struct(key_schema, copy.columns({name: old[name] for name in self._fields}), count)
        return values

    def _key_schema(self, schema: Schema) -> tuple[Schema, StructCopy]:
        fields: dict[str, Schema] = {}
        for name in self._fields:
            field_schema = schema.field(name)
            if field_schema is None:
                raise DataError(f"Field does not exist: {name}")
            fields[name] = field_schema
        key_schema = struct_schema(fields)
        return key_schema, StructCopy(schema, self._fill, key_schema)
