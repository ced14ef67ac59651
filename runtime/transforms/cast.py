"""Cast: fields, or the whole key or value, become another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.columns import Constant, Made, Mixed, Origins, Values
from runtime.api.config import ConfigDef
from runtime.api.config import Type as ConfigType
from runtime.api.errors import ConfigError
from runtime.api.java_text import JavaMap
from runtime.api.schema import Field, Schema, Type
from runtime.api.schema_cache import SchemaCache
from runtime.api.transformation import Part, PartTransformation, Record, each_map
from runtime.api.values import invalid
from runtime.transforms.casting import CASTABLE, caster
from runtime.transforms.definitions import REPLACE_NULL, key
from runtime.transforms.requirements import require_map, require_struct

_PURPOSE = "cast types"


def _check(name: str, value: Any) -> None:
    _casts(value or [])


def _casts(spec: list[str]) -> tuple[dict[str, Type], Type | None]:
    """Targets of fields, or the one of the whole value."""
    fields: dict[str, Type] = {}
    whole: Type | None = None
    for entry in spec:
        name, colon, target = entry.partition(":")
        if ":" in target:
            raise invalid("renames", spec, f"Invalid rename mapping: {entry}")
        if colon and target.strip():
            fields[name.strip()] = _type(target.strip())
        else:
            whole = _type(name.strip())
    if whole is not None and len(spec) > 1:
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec"
        )
    if not spec:
        raise ConfigError("Must specify at least one field to cast.")
    return fields, whole


def _type(text: str) -> Type:
    found = Type.__members__.get(text.upper())
    if found is None:
        raise ConfigError(
            "Invalid value java.lang.IllegalArgumentException: No enum constant "
            f"org.apache.kafka.connect.data.Schema.Type.{text.upper()} for configuration Invalid type found in casting "
            f"spec: {text}"
        )
    if found not in CASTABLE:
        listed = ", ".join(kind.name for kind in CASTABLE)
        raise ConfigError(
            f"Cast transformation does not support casting to {found.name}; supported types are [{listed}]"
        )
    return found


class CastValue(PartTransformation):
    """Numbers narrow as in Java, texts have to be numbers to the last character. A null is left alone."""

    java_name = "org.apache.kafka.connect.transforms.Cast$Value"
    config_def = ConfigDef(
        key(
            "spec",
            "Either one type for the whole, or a list of field:type. Types are int8, int16, int32, int64, float32, "
            "float64, boolean and string.",
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
        old = require_struct(schema, value, _PURPOSE)
        new_schema, (casts, defaults) = self._schemas.get(schema)
        new = {**old}
        for name, default in defaults:
            if new.get(name) is None:
                new[name] = default
        for name, cast in casts:
            new[name] = cast(new.get(name))
        return new_schema, new

    def update_together(self, values: Values, origins: Origins) -> Values | None:
        schema = values.schema
        if values.null:
            return values
        if schema is None:
            return self._maps(values)
        if self._whole is not None:
            new_schema, cast = self._schemas.get(schema)
            return None if None in values.rows else Values(new_schema, list(map(cast, values.rows)))
        new_schema, (casts, defaults) = self._schemas.get(schema)
        columns = {**values.columns}
        if any(None in columns[name] for name, _ in defaults):
            raise Mixed
        for name, cast in casts:
            old = columns[name]
            columns[name] = (
                Constant(cast(old.value), len(old)) if type(old) is Constant else [cast(value) for value in old]
            )
        return Values.struct(new_schema, columns, values.count)

    def _maps(self, values: Values) -> Values:
        if self._plain_whole is not None:
            return each_map(self.update, values)
        old = values.columns
        columns = {**old}
        for name, cast in self._plain:
            columns[name] = list(map(cast, columns[name])) if name in columns else [cast(None)] * values.count
        return Values.maps(columns, values.count, Made(len(old)))

    def _whole_cast(self, schema: Schema) -> Any:
        assert self._whole is not None
        cast = caster(schema, self._whole)
        return Schema(
            self._whole, schema.optional, cast(schema.default), schema.name, schema.version, schema.doc,
            parameters=schema.parameters,
        ), cast  # fmt: skip

    def _field_casts(self, schema: Schema) -> Any:
        fields, casts, defaults = [], [], []
        for field in schema.fields:
            target, old = self._fields.get(field.name), field.schema
            if old.default is not None and self._fill:
                defaults.append((field.name, old.default))
            if target is None:
                fields.append(field)
                continue
            cast = caster(old, target)
            casts.append((field.name, cast))
            fields.append(Field(field.name, Schema(target, old.optional, cast(old.default))))
        return schema.but(fields=tuple(fields)), (casts, defaults)


class CastKey(CastValue):
    java_name = "org.apache.kafka.connect.transforms.Cast$Key"
    part = Part.KEY
