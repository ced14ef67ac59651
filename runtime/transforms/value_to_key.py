"""ValueToKey replaces the key with fields of the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.data.columns import BatchMetadata, ConstantColumn, HashMapLayout, ValueBatch
from runtime.api.data.java_text import JavaMap
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.data.validate import validate_value
from runtime.api.errors import DataError
from runtime.api.transformation import RecordT, Transformation
from runtime.transforms.definitions import FIELD_SYNTAX, REPLACE_NULL, some_values
from runtime.transforms.definitions import key as config_key
from runtime.transforms.fields.field_path import FieldPath
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
    _unlisted = ConfigDef(FIELD_SYNTAX)  # since Kafka 4.4; the definition is that of 4.3

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = {**self.config_def.parse(config), **self._unlisted.parse(config)}
        self._fields: list[str] = parsed["fields"]
        self._paths = {text: FieldPath(text, parsed[FIELD_SYNTAX.name]) for text in self._fields}
        self._is_plain = all(path.steps == (text,) for text, path in self._paths.items())
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._key_schema)

    def apply(self, record: RecordT) -> RecordT | None:
        schema = record.value_schema
        if schema is None:
            value = require_map(record.value, _PURPOSE)
            key = JavaMap.sized(len(self._fields))
            for text, path in self._paths.items():
                key[text] = path.value_in_map(value)
            record.key_schema, record.key = None, key
            return record
        value = require_struct(schema, record.value, _PURPOSE)
        record.key_schema, copy = self._schemas.get(schema)
        record.key = self._struct_key(schema, value, record.key_schema, copy)
        return record

    def _struct_key(
        self, schema: Schema, value: Mapping[str, Any], key_schema: Schema, copy: StructCopy
    ) -> dict[str, Any]:
        if self._is_plain:
            new = {name: value.get(name) for name in self._fields}
            return copy.row(new) if copy.changes_values else new
        new = {text: path.value_in_struct(schema, value, self._fill) for text, path in self._paths.items()}
        for field in key_schema.fields:
            if new[field.name] is None:
                validate_value(field.schema, None, field.name)
        return new

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        if not self._is_plain:
            return None
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
        for text, path in self._paths.items():
            field_schema = path.schema_in(schema)
            if field_schema is None:
                raise DataError(f"Field does not exist: {text}")
            fields[text] = field_schema
        key_schema = struct_schema(fields)
        return key_schema, StructCopy(schema, self._fill, key_schema)
