"""Projection: a value written with one schema, as a reader with another one wants it."""

from __future__ import annotations

from typing import Any

from runtime.api.errors import DataError
from runtime.api.schema import Schema, Type

_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


class ProjectionError(DataError):
    """The two schemas do not fit together."""

    java_name = "org.apache.kafka.connect.errors.SchemaProjectorException"


def project(source: Schema, value: Any, target: Schema) -> Any:
    """The value for `target`: fields it does not have go, missing ones take their default, numbers only grow."""
    if source.optional and not target.optional:
        if target.default is None:
            raise ProjectionError("Writer schema is optional, however, target schema does not provide a default value.")
        return target.default if value is None else _project_required(source, value, target)
    return None if value is None else _project_required(source, value, target)


def _project_required(source: Schema, value: Any, target: Schema) -> Any:
    _check_same(source, target)
    if source.type is Type.STRUCT:
        return _project_struct(source, value, target)
    if source.type is Type.ARRAY:
        return [project(source.element(), item, target.element()) for item in value]
    if source.type is Type.MAP:
        keys, values = (source.key(), target.key()), (source.element(), target.element())
        return {project(keys[0], k, keys[1]): project(values[0], v, values[1]) for k, v in value.items()}
    if target.type in (Type.FLOAT32, Type.FLOAT64) and target.type is not source.type:
        return float(value)
    return value


def _check_same(source: Schema, target: Schema) -> None:
    if source.type is not target.type and not _promotable(source.type, target.type):
        raise ProjectionError(f"Schema type mismatch. source type: {source.type} and target type: {target.type}")
    if source.name != target.name:
        raise ProjectionError(f"Schema name mismatch. source name: {source.name} and target name: {target.name}")
    if source.parameters != target.parameters:
        raise ProjectionError(
            f"Schema parameters not equal. source parameters: {dict(source.parameters)} "
            f"and target parameters: {dict(target.parameters)}"
        )


def _promotable(source: Type, target: Type) -> bool:
    return source in _NUMBERS and target in _NUMBERS and _NUMBERS.index(source) <= _NUMBERS.index(target)


def _project_struct(source: Schema, value: Any, target: Schema) -> dict[str, Any]:
    projected: dict[str, Any] = {}
    for field in target.fields:
        known = source.field(field.name)
        if known is not None:
            projected[field.name] = project(known, value.get(field.name), field.schema)
        elif field.schema.optional:
            continue
        elif field.schema.default is not None:
            projected[field.name] = field.schema.default
        else:
            raise ProjectionError(f"Required field `{field.name}` is missing from source schema: {source.name}")
    return projected
