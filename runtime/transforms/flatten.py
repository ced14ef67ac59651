"""Flatten replaces nested structs or maps with their fields, under joined names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.data.class_names import java_class
from runtime.api.data.columns import BatchMetadata, Column, ValueBatch
from runtime.api.data.java_text import JavaMap, map_order
from runtime.api.data.schema import Schema, Type, struct_schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError, SchemaBuilderError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart, update_each
from runtime.transforms.definitions import MEDIUM, key
from runtime.transforms.fields.type_checks import require_map, require_struct

_PURPOSE = "flattening"
_NOT_DATA = frozenset({dt.date, dt.datetime, dt.time, Decimal})  # without a schema
_Plan = list[tuple[tuple[str, ...], str, Any]]  # the path to a field, its new name, its default


class FlattenValue(KeyOrValueTransformation):
    """Arrays and nulls are unchanged. Maps with a schema cannot be flattened."""

    java_name = "org.apache.kafka.connect.transforms.Flatten$Value"
    config_def = ConfigDef(
        key(
            "delimiter",
            "Separator between the names of the outer and inner field.",
            default=".",
            importance=MEDIUM,
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        self._delimiter: str = self.config_def.parse(config)["delimiter"]
        self._schemas = SchemaCache(self._flat)

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            new = JavaMap()
            put = self._flatten_map(require_map(value, _PURPOSE), "", new)
            if put > len(new):  # if fields share a name, the last one in Java's order wins
                new.update(self._entries(value, ""))
            new.order = lambda: list(dict.fromkeys(name for name, _ in self._entries(value, "")))
            return None, new
        require_struct(schema, value, _PURPOSE)
        flat, plan = self._schemas.get(schema)
        return flat, {name: _follow(value, way, default) for way, name, default in plan}

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        if values.all_null:
            return values
        if values.schema is None:
            return update_each(self.update, values)
        flat, plan = self._schemas.get(values.schema)
        columns = values.columns
        return ValueBatch.struct(
            flat, {name: _follow_all(columns[way[0]], way[1:], default) for way, name, default in plan}, values.count
        )

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _flatten_map(self, value: Mapping[str, Any], prefix: str, into: dict[str, Any]) -> int:
        """Adds all entries to a map; returns their number."""
        put = 0
        for name, item in value.items():
            full = self._name(prefix, name)
            if isinstance(item, dict):
                put += self._flatten_map(item, full, into)
            elif type(item) in _NOT_DATA:
                raise DataError(
                    f"Flatten transformation was passed a value of type class {java_class(item)} which is not "
                    "supported by Connect's data API"
                )
            else:
                into[full] = item
                put += 1
        return put

    def _entries(self, value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        """New names and values, with nested maps in Java's order of iteration."""
        for name in map_order(value):
            full = self._name(prefix, name)
            if isinstance(value[name], dict):
                yield from self._entries(value[name], full)
            else:
                yield full, value[name]

    def _flat(self, schema: Schema) -> tuple[Schema, _Plan]:
        fields: dict[str, Schema] = {}
        plan: _Plan = []
        self._collect(schema, "", (), schema.optional, schema.default, fields, plan)
        return struct_schema(fields, schema), plan

    def _collect(
        self, schema: Schema, prefix: str, way: tuple[str, ...], optional: bool, default: Mapping[str, Any] | None,
        fields: dict[str, Schema], plan: _Plan,
    ) -> None:  # fmt: skip
        """Fields inherit optionality and defaults from the structs that contain them."""
        for field in schema.fields:
            name, inner = self._name(prefix, field.name), field.schema
            inherited = default.get(field.name) if isinstance(default, Mapping) else None
            own = inner.default if inner.default is not None else inherited
            if inner.type is Type.STRUCT:
                self._collect(inner, name, (*way, field.name), optional or inner.optional, own, fields, plan)
                continue
            if inner.type is Type.MAP:
                raise DataError(
                    f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                )
            if name in fields:
                raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
            fields[name] = inner.replace(optional=optional or inner.optional, default=own)
            plan.append(((*way, field.name), name, inner.default))


def _follow(value: Any, way: tuple[str, ...], default: Any) -> Any:
    for name in way[:-1]:
        value = value.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise DataError(f"Only Struct objects supported for [{_PURPOSE}], found: {java_class(value)}")
    leaf = value.get(way[-1])
    return default if leaf is None else leaf


def _follow_all(column: Column, way: tuple[str, ...], default: Any) -> Column:
    if way:
        return [None if value is None else _follow(value, way, default) for value in column]
    return column if default is None else [default if value is None else value for value in column]


class FlattenKey(FlattenValue):
    java_name = "org.apache.kafka.connect.transforms.Flatten$Key"
    part = RecordPart.KEY
