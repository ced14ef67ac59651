"""Cast converts fields, or the whole key or value, to other types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.config.types import invalid, java_trim
from runtime.api.data.columns import BatchMetadata, ConstantColumn, HashMapLayout, ValueBatch
from runtime.api.data.java_text import JavaMap
from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import ConfigError, DataError, SchemaBuilderError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart, update_each
from runtime.transforms.definitions import REPLACE_NULL, key, split_by_colon
from runtime.transforms.fields.casting import CASTABLE, caster
from runtime.transforms.fields.struct_copy import StructCopy, with_fields
from runtime.transforms.fields.type_checks import require_map, require_struct

_PURPOSE = "cast types"
_LOGICAL = (DATE, DECIMAL, TIME, TIMESTAMP)


def _check(name: str, value: Any) -> None:
    _casts(value or [])


def _casts(spec: list[str]) -> tuple[dict[str, Type], Type | None]:
    """The target types of fields, or that of the whole value."""
    fields: dict[str, Type] = {}
    whole: Type | None = None
    for entry in spec:
        parts = [java_trim(part) for part in split_by_colon(entry)]
        if len(parts) > 2:
            raise invalid("renames", spec, f"Invalid rename mapping: {entry}")
        if len(parts) == 2:
            fields[parts[0]] = _type(parts[1])
        else:
            whole = _type(parts[0] if parts else "")
    if whole is not None and len(spec) > 1:
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec"
        )
    if not spec:
        raise ConfigError("Must specify at least one field to cast.")
    return fields, whole


def _type(text: str) -> Type:
    target = Type.__members__.get(text.upper())
    if target is None:
        raise ConfigError(
            "Invalid value java.lang.IllegalArgumentException: No enum constant "
            f"org.apache.kafka.connect.data.Schema.Type.{text.upper()} for configuration Invalid type found in casting "
            f"spec: {text}"
        )
    if target not in CASTABLE:
        listed = ", ".join(kind.name for kind in CASTABLE)
        raise ConfigError(
            f"Cast transformation does not support casting to {target.name}; supported types are [{listed}]"
        )
    return target


class CastValue(KeyOrValueTransformation):
    """Narrows numbers as Java does; text must be a number as a whole. Nulls are unchanged."""

    java_name = "org.apache.kafka.connect.transforms.Cast$Value"
    config_def = ConfigDef(
        key(
            "spec",
            "One type for the whole key or value, or a list of field:type. Types are int8, int16, int32, int64, "
            "float32, float64, boolean and string.",
            ConfigType.LIST, validator=_check,
        ),
        REPLACE_NULL,
    )  # fmt: skip

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._fields, self._whole = _casts(parsed["spec"])
        self._fill: bool = parsed["replace.null.with.default"]
        self._plain = [(name, caster(None, target)) for name, target in self._fields.items()]
        self._plain_whole = caster(None, self._whole) if self._whole is not None else None
        self._schemas = SchemaCache(self._whole_cast if self._whole is not None else self._field_casts)

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            if self._plain_whole is not None:
                return None, self._plain_whole(value)
            new: dict[str, Any] = JavaMap.copy_of(require_map(value, _PURPOSE))
            for name, cast in self._plain:
                new[name] = cast(new.get(name))
            return None, new
        if self._whole is not None:
            new_schema, cast = self._schemas.get(schema)
            return new_schema, cast(value)
        new_schema, (casts, copy) = self._schemas.get(schema)
        new = copy.row(require_struct(schema, value, _PURPOSE))
        for name, cast in casts:
            new[name] = cast(new.get(name))
        return new_schema, new

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema = values.schema
        if values.all_null:
            return values
        if schema is None:
            return self._maps(values)
        if self._whole is not None:
            new_schema, cast = self._schemas.get(schema)
            return None if None in values.rows else ValueBatch(new_schema, list(map(cast, values.rows)))
        new_schema, (casts, copy) = self._schemas.get(schema)
        columns = copy.columns(values.columns)
        for name, cast in casts:
            old = columns[name]
            columns[name] = (
                ConstantColumn(cast(old.value), len(old))
                if type(old) is ConstantColumn
                else [cast(value) for value in old]
            )
        return ValueBatch.struct(new_schema, columns, values.count)

    def _maps(self, values: ValueBatch) -> ValueBatch:
        if self._plain_whole is not None:
            return update_each(self.update, values)
        old = values.columns
        columns = {**old}
        for name, cast in self._plain:
            columns[name] = list(map(cast, columns[name])) if name in columns else [cast(None)] * values.count
        return ValueBatch.maps(columns, values.count, HashMapLayout(len(old)))

    def _whole_cast(self, schema: Schema) -> Any:
        assert self._whole is not None
        cast = caster(schema, self._whole)
        default = cast(schema.default)
        if default is not None and schema.name in _LOGICAL:  # the default no longer matches the logical type's name
            raise SchemaBuilderError("Invalid default value")
        return Schema(
            self._whole, schema.optional, default, schema.name, schema.version, schema.doc,
            parameters=schema.parameters,
        ), cast  # fmt: skip

    def _field_casts(self, schema: Schema) -> Any:
        if schema.type is not Type.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        fields, casts = [], []
        for field in schema.fields:
            target, old = self._fields.get(field.name), field.schema
            if target is None:
                fields.append(field)
                continue
            cast = caster(old, target)
            casts.append((field.name, cast))
            fields.append(Field(field.name, Schema(target, old.optional, cast(old.default))))
        new = with_fields(schema, fields)
        return new, (casts, StructCopy(schema, self._fill, new))


class CastKey(CastValue):
    java_name = "org.apache.kafka.connect.transforms.Cast$Key"
    part = RecordPart.KEY
