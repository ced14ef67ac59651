"""Connect's values as fastavro takes them: compiled once for each schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.api.errors import DataError
from runtime.api.schema import Schema, Type
from runtime.converters.avro_schema import UNION

FromConnect = Callable[[Any], Any]


def value_writer(schema: Schema) -> FromConnect | None:
    """None where values go as they are."""
    if schema.name == UNION:
        return _nullable(_union(schema))
    if schema.type is Type.STRUCT:
        return _nullable(_struct(schema))
    if schema.type is Type.ARRAY:
        return _array(value_writer(schema.element()))
    if schema.type is Type.MAP:
        return _map(schema)
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return _nullable(float)
    return _nullable(bytes) if schema.type is Type.BYTES and schema.name is None else None


def _nullable(convert: FromConnect) -> FromConnect:
    return lambda value: None if value is None else convert(value)


def _struct(schema: Schema) -> FromConnect:
    fields = [(f.name, value_writer(f.schema), f.schema) for f in schema.fields]

    def convert(struct: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(struct, Mapping):
            raise DataError(f"Invalid value of type {type(struct).__name__} for a struct {schema.name or ''}")
        made = {}
        for name, inner, own in fields:
            value = struct.get(name)
            if value is None:
                if own.default is not None:
                    value = own.default
                elif not own.optional:
                    raise DataError(f"Invalid value: null used for required field: {name}")
            made[name] = value if inner is None else inner(value)
        return made

    return convert


def _array(inner: FromConnect | None) -> FromConnect | None:
    return None if inner is None else _nullable(lambda values: [inner(value) for value in values])


def _map(schema: Schema) -> FromConnect | None:
    keys, inner = schema.key(), value_writer(schema.element())
    if keys.type is Type.STRING and not keys.optional:
        if inner is None:
            return None
        return _nullable(lambda found: {key: inner(value) for key, value in found.items()})
    own = value_writer(keys)
    return _nullable(
        lambda found: [
            {"key": key if own is None else own(key), "value": value if inner is None else inner(value)}
            for key, value in found.items()
        ]
    )


def _union(schema: Schema) -> FromConnect:
    """The one branch that has a value."""
    branches = [(field.name, value_writer(field.schema)) for field in schema.fields]

    def convert(struct: Mapping[str, Any]) -> Any:
        for name, inner in branches:
            if (value := struct.get(name)) is not None:
                return value if inner is None else inner(value)
        return None

    return convert
