"""Conversion of Connect's values to the values that fastavro writes, compiled once for each schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from runtime.api.data.logical import DECIMAL, EXACT, logical_name, scale_of
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError
from runtime.converters.avro.names import UNION
from runtime.converters.avro.target import Branch, TargetSchema, by_field, for_value

FromConnect = Callable[[Any], Any]
_PLAIN = frozenset(kind for kind in Type if kind.primitive and kind is not Type.BYTES)


def value_writer(schema: Schema, target: TargetSchema) -> FromConnect | None:
    """A function that converts values of `schema` for the position `target`; None if no conversion is needed."""
    if schema.name == UNION:
        return _nullable(_union(schema, target))
    branches = target.branches()
    if len(branches) < 2:
        return _single(schema, target)
    branch = for_value(schema, branches)
    if branch is None:
        return _nullable(_refused(f"a {schema.name or schema.type}"))
    return _nullable(_wrapping(branch, _single(schema, target.at(branch))))


def is_plain(schema: Schema) -> bool:
    """Whether fastavro accepts rows of a struct as they are, and refuses those that value_writer() refuses."""
    return schema.type is Type.STRUCT and all(
        field.schema.type in _PLAIN and field.schema.name is None and field.schema.default is None
        and not field.schema.parameters
        for field in schema.fields
    )  # fmt: skip


def _single(schema: Schema, target: TargetSchema) -> FromConnect | None:
    if schema.type is Type.STRUCT:
        return _nullable(_struct(schema, target))
    if schema.type is Type.ARRAY:
        return _array(value_writer(schema.element(), target.inside("items")))
    if schema.type is Type.MAP:
        return _map(schema, target)
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return _nullable(float)
    if logical_name(schema) == DECIMAL:
        return _nullable(_decimal(schema, target))
    return _nullable(bytes) if schema.type is Type.BYTES and schema.name is None else None


def _nullable(convert: FromConnect) -> FromConnect:
    return lambda value: None if value is None else convert(value)


def _struct(schema: Schema, target: TargetSchema) -> FromConnect:
    fields = [(f.name, value_writer(f.schema, target.field(f.name)), f.schema) for f in schema.fields]

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


def _decimal(schema: Schema, target: TargetSchema) -> FromConnect:
    """Converts a decimal to the bytes of a decimal of the target's scale."""
    scale, size = target.scale_and_size()
    if target.own:
        scale = scale_of(schema)

    def convert(value: Any) -> bytes:
        if not isinstance(value, Decimal) or not value.is_finite():
            raise DataError(f"Invalid value for Decimal: {value!r}")
        if scale is None:
            raise DataError("The Avro schema has no decimal")
        own = -int(value.as_tuple().exponent)
        if own > scale or (target.own and own != scale):
            raise DataError(f"The Avro schema has decimals of scale {scale}, the value has scale {own}")
        factor: int = 10 ** (scale - own)
        unscaled = int(value.scaleb(own, EXACT)) * factor
        bits = (unscaled if unscaled >= 0 else -1 - unscaled).bit_length()
        if size is not None and bits >= 8 * size:
            raise DataError(f"The decimal {value} does not fit into {size} bytes")
        return unscaled.to_bytes(bits // 8 + 1 if size is None else size, "big", signed=True)

    return convert


def _array(inner: FromConnect | None) -> FromConnect | None:
    return None if inner is None else _nullable(lambda values: [inner(value) for value in values])


def _map(schema: Schema, target: TargetSchema) -> FromConnect | None:
    keys = schema.key()
    if keys.type is Type.STRING and not keys.optional:
        inner = value_writer(schema.element(), target.inside("values"))
        if inner is None:
            return None
        return _nullable(lambda entries: {key: inner(value) for key, value in entries.items()})
    entry = target.inside("items")
    of_key, of_value = value_writer(keys, entry.field("key")), value_writer(schema.element(), entry.field("value"))
    return _nullable(
        lambda entries: [
            {"key": key if of_key is None else of_key(key), "value": value if of_value is None else of_value(value)}
            for key, value in entries.items()
        ]
    )


def _union(schema: Schema, target: TargetSchema) -> FromConnect:
    """Converts a union to its only branch with a value."""
    if not target.branches():
        return lambda struct: None  # the Avro schema does not have this field
    writers = {name: _branch(schema, name, branch, target) for name, branch in by_field(schema, target).items()}

    def convert(struct: Mapping[str, Any]) -> Any:
        if not isinstance(struct, Mapping):
            raise DataError(f"Invalid value of type {type(struct).__name__} for a union, which is a struct in Connect")
        fields = [(name, value) for name, value in struct.items() if value is not None]
        if len(fields) == 1 and fields[0][0] in writers:
            return writers[fields[0][0]](fields[0][1])
        if not fields and schema.optional:
            return None
        has = ", ".join(name for name, _ in fields) or "none"
        raise DataError(
            f"A union needs a value in exactly one of its branches {', '.join(writers)}; this one has values in: {has}"
        )

    return convert


def _branch(schema: Schema, name: str, branch: Branch | None, target: TargetSchema) -> FromConnect:
    own = schema.field(name)
    if branch is None or own is None:
        return _refused(f"the union's {name}")
    return _wrapping(branch, value_writer(own, target.at(branch)))


def _wrapping(branch: Branch, inner: FromConnect | None) -> FromConnect:
    return branch.wrap if inner is None else lambda value: branch.wrap(inner(value))


def _refused(what: str) -> FromConnect:
    def convert(value: Any) -> Any:
        raise DataError(f"The Avro schema has no branch, or several, for {what}")

    return convert
