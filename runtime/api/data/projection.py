"""Conversion of values from a writer's schema to a compatible reader's schema (Java: SchemaProjector)."""

from __future__ import annotations

from typing import Any

from runtime.api.data.java_text import single_of_whole, widened
from runtime.api.data.schema import Schema, Type
from runtime.api.data.struct import field_value
from runtime.api.data.validate import BOUNDS, validate_value
from runtime.api.errors import DataError

_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


class ProjectionError(DataError):
    """The two schemas are not compatible."""

    java_name = "org.apache.kafka.connect.errors.SchemaProjectorException"


def project(source: Schema, value: Any, target: Schema) -> Any:
    """The value for `target`: removes its unknown fields, fills in defaults of missing fields, widens numbers.

    Raises ProjectionError if the schemas are not compatible."""
    _check_compatible(source, target)
    if source.optional and not target.optional:
        if target.default is None:
            raise ProjectionError("Writer schema is optional, however, target schema does not provide a default value.")
        if value is None:
            return target.default
    return None if value is None else _project_required(source, value, target)


def _project_required(source: Schema, value: Any, target: Schema) -> Any:
    if source.type is Type.STRUCT:
        return _project_struct(source, value, target)
    if source.type is Type.ARRAY:
        return [project(source.element(), item, target.element()) for item in value]
    if source.type is Type.MAP:
        keys, values = (source.key(), target.key()), (source.element(), target.element())
        return {project(keys[0], k, keys[1]): project(values[0], v, values[1]) for k, v in value.items()}
    return _project_number(source, value, target) if source.type in _NUMBERS else value


def _project_number(source: Schema, value: Any, target: Schema) -> Any:
    if not isinstance(value, int | float):  # a date, time or decimal
        return value
    if source.type is Type.FLOAT32 and target.type is Type.FLOAT64:
        return widened(value)
    if source.type is target.type or target.type in BOUNDS:
        return value
    return single_of_whole(int(value)) if target.type is Type.FLOAT32 else float(value)


def _check_compatible(source: Schema, target: Schema) -> None:
    if source.type is not target.type and not _promotable(source.type, target.type):
        raise ProjectionError(
            f"Schema type mismatch. source type: {source.type.name} and target type: {target.type.name}"
        )
    if source.name != target.name:
        raise ProjectionError(f"Schema name mismatch. source name: {_named(source)} and target name: {_named(target)}")
    if dict(source.parameters) != dict(target.parameters):
        raise ProjectionError(
            f"Schema parameters not equal. source parameters: {_shown(source)} and target parameters: {_shown(target)}"
        )


def _named(schema: Schema) -> str:
    return "null" if schema.name is None else schema.name


def _shown(schema: Schema) -> str:
    pairs = ", ".join(f"{name}={value}" for name, value in schema.parameters)
    return f"{{{pairs}}}" if pairs else "null"


def _promotable(source: Type, target: Type) -> bool:
    return source in _NUMBERS and target in _NUMBERS and _NUMBERS.index(source) <= _NUMBERS.index(target)


def _project_struct(source: Schema, value: Any, target: Schema) -> dict[str, Any]:
    """Validates each field, as Java's Struct does."""
    projected: dict[str, Any] = {}
    for field in target.fields:
        target_value: Any
        known = source.field(field.name)
        if known is not None:
            target_value = field_value(source, value, field.name)
            try:
                target_value = project(known, target_value, field.schema)
            except ProjectionError as error:
                raise ProjectionError(f"Error projecting {field.name}") from error
        elif field.schema.optional:
            continue
        elif (target_value := field.schema.default) is None:
            named = f"{source.name}:" if source.name is not None else ""
            raise ProjectionError(
                f"Required field `{field.name}` is missing from source schema: Schema{{{named}{source.type.name}}}"
            )
        validate_value(field.schema, target_value, field.name)
        projected[field.name] = target_value
    return projected
