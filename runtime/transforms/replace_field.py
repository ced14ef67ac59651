"""ReplaceField removes, selects and renames fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.config.types import invalid
from runtime.api.config.validators import distinct_entries
from runtime.api.data.columns import BatchMetadata, HashMapLayout, MixedBatchError, ValueBatch
from runtime.api.data.java_text import JavaMap, map_order
from runtime.api.data.schema import Field, Schema, struct_schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError, SchemaBuilderError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart, update_each
from runtime.transforms.definitions import MEDIUM, REPLACE_NULL, key, split_by_colon
from runtime.transforms.fields.struct_copy import StructCopy
from runtime.transforms.fields.type_checks import require_map, require_struct

_PURPOSE = "field replacement"


def _renames(name: str, value: Any) -> None:
    _mapping(name, value or [])


def _mapping(name: str, pairs: list[str]) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for pair in pairs:
        parts = split_by_colon(pair)
        if len(parts) != 2:
            raise invalid(name, pairs, f"Invalid rename mapping: {pair}")
        mapping[parts[0]] = parts[1]
    return mapping


class ReplaceFieldValue(KeyOrValueTransformation):
    """`exclude` takes precedence over `include`. Nulls are unchanged."""

    java_name = "org.apache.kafka.connect.transforms.ReplaceField$Value"
    config_def = ConfigDef(
        key(
            "exclude",
            "Fields to remove, even if they are listed in include.",
            ConfigType.LIST,
            "",
            MEDIUM,
            distinct_entries,
        ),
        key("include", "Fields to keep; empty for all.", ConfigType.LIST, "", MEDIUM, distinct_entries),
        key("renames", "New names of fields, as old:new.", ConfigType.LIST, "", MEDIUM, _renames),
        REPLACE_NULL,
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._exclude = frozenset(parsed["exclude"])
        self._include = frozenset(parsed["include"])
        self._all = not self._exclude and not self._include
        self._names = _mapping("renames", parsed["renames"])
        self._origins = {self._names[old]: old for old in map_order(self._names)}
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._replaced)

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            old = require_map(value, _PURPOSE)
            new_name = self._names.get
            names = list(old) if self._all else list(filter(self._kept, old))
            kept = JavaMap({new_name(name, name): old[name] for name in names})
            if len(kept) < len(names):  # if two fields have the same new name, the last one in Java's order wins
                ordered = [name for name in map_order(old) if self._kept(name)]
                kept = JavaMap({new_name(name, name): old[name] for name in ordered})
            kept.copied, kept.capacity = 0, len(old)
            return None, kept
        replaced, befores, names, copy = self._schemas.get(schema)
        old = require_struct(schema, value, _PURPOSE)
        new = dict(zip(names, map(old.get, befores), strict=True))
        return replaced, copy.row(new) if copy.changes_values else new

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema = values.schema
        if values.all_null:
            return values
        if schema is None:
            return self._maps(values)
        replaced, befores, names, copy = self._schemas.get(schema)
        columns = values.columns
        new = {name: columns[before] for before, name in zip(befores, names, strict=True)}
        return ValueBatch.struct(replaced, copy.columns(new), values.count)

    def _maps(self, values: ValueBatch) -> ValueBatch:
        try:
            columns = values.columns
        except MixedBatchError:
            return update_each(self.update, values)
        names = list(filter(self._kept, columns))
        new = {self._names.get(name, name): columns[name] for name in names}
        if len(new) < len(names):
            return update_each(self.update, values)
        return ValueBatch.maps(new, values.count, HashMapLayout(0, len(columns)))

    def _kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _before(self, schema: Schema, name: str, wanted: Schema) -> Field:
        """The source field of a field with the new name. As in Apache's transformation, a renamed field takes
        precedence over a field that already has the name."""
        before = self._origins.get(name, name)
        field_schema = schema.field(before)
        if field_schema is None:
            raise DataError(f"{before} is not a valid field name")
        if field_schema.type is not wanted.type:
            raise DataError(
                f'Invalid object for schema with type {wanted.type.name}: a {field_schema.type.name} for "{name}"'
            )
        return Field(before, field_schema)

    def _replaced(self, schema: Schema) -> tuple[Schema, list[str], list[str], StructCopy]:
        """The new schema, the old and the new names of its fields, and the copy of the fields."""
        fields: dict[str, Schema] = {}
        for field in schema.fields:
            if not self._kept(field.name):
                continue
            name = self._names.get(field.name, field.name)
            if name in fields:
                raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
            fields[name] = field.schema
        replaced = struct_schema(fields, schema)
        befores = [self._before(schema, name, wanted) for name, wanted in fields.items()]
        taken = schema.replace(fields=tuple(map(Field, fields, [before.schema for before in befores])))
        return replaced, [before.name for before in befores], list(fields), StructCopy(taken, self._fill, replaced)


class ReplaceFieldKey(ReplaceFieldValue):
    java_name = "org.apache.kafka.connect.transforms.ReplaceField$Key"
    part = RecordPart.KEY
