"""Maps a Connect schema to the Avro schema that is written: fields, elements and branches of unions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runtime.api.data.logical import DECIMAL
from runtime.api.data.schema import Field, Schema, Type
from runtime.converters.avro.defaults import union_fields
from runtime.converters.avro.names import DEFINED, ENUM, FIXED_SIZE, KINDS, Avro, is_null, kind_of
from runtime.converters.avro.union import full_name, wrapped

_INTS = ("int", "long", "double")
_TAKEN_BY: dict[Type, tuple[str, ...]] = {
    Type.INT8: _INTS, Type.INT16: _INTS, Type.INT32: _INTS, Type.INT64: ("long",), Type.FLOAT32: ("float", "double"),
    Type.FLOAT64: ("double",), Type.BOOLEAN: ("boolean",), Type.STRING: ("string", "enum"),
    Type.BYTES: ("bytes", "fixed"), Type.ARRAY: ("array",), Type.STRUCT: ("record", "error"),
}  # fmt: skip
"""Avro types that hold a Connect type's values without loss, the best match first."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One type that the schema accepts at a position: a branch of a union, or the only type."""

    name: str
    avro: Avro
    kind: str
    full: str | None  # for a defined type
    tag: str | None = None  # selects the branch in fastavro if there are several

    def wrap(self, value: Any) -> Any:
        return value if self.tag is None else (self.tag, {self.name: value})


@dataclass(frozen=True, slots=True)
class TargetSchema:
    """A position in a schema that UnionCodec has parsed. `own`: the schema was converted from the Connect schema."""

    avro: Avro
    named: Mapping[str, Any]
    own: bool = True

    def branches(self) -> list[Branch]:
        """The accepted types other than null; empty if the position does not exist."""
        if records := wrapped(self.avro):
            return [self._branch(r["fields"][0]["name"], r["fields"][0]["type"], r["name"]) for r in records]
        others = [b for b in self.avro if not is_null(b)] if isinstance(self.avro, list) else [self.avro]
        return [self._branch(None, other, None) for other in others if other is not None][:1]

    def at(self, branch: Branch) -> TargetSchema:
        return replace(self, avro=branch.avro)

    def field(self, name: str) -> TargetSchema:
        fields = self._one().get("fields", ())
        return replace(self, avro=next((field["type"] for field in fields if field["name"] == name), None))

    def inside(self, key: str) -> TargetSchema:
        """The position of an array's `items` or a map's `values`."""
        return replace(self, avro=self._one().get(key))

    def scale_and_size(self) -> tuple[int | None, int | None]:
        """The scale of decimals, None for another type, and the number of bytes if it is fixed."""
        document = self._one()
        return document.get("scale"), document.get("size")

    def _one(self) -> Mapping[str, Any]:
        branches = self.branches()
        document = branches[0].avro if branches else None
        return document if isinstance(document, dict) else {}

    def _branch(self, name: str | None, avro: Avro, tag: str | None) -> Branch:
        kind = kind_of(avro)
        definition = avro if kind in KINDS or kind in DEFINED else self.named[kind]
        kind = kind_of(definition)
        full = full_name(definition) if kind in DEFINED else None
        return Branch(name or (full or kind).rpartition(".")[2], definition, kind, full, tag)


def by_field(schema: Schema, target: TargetSchema) -> dict[str, Branch | None]:
    """The branch for each field of Connect's union struct; None if the schema has no such branch."""
    fields, branches = union_fields(schema), target.branches()
    if target.own:
        return {field.name: branch for field, branch in zip(fields, branches, strict=True)}
    return {field.name: _of_field(field, branches) for field in fields}


def _of_field(field: Field, branches: list[Branch]) -> Branch | None:
    """The branch of the schema's name; for a schema without a name, the branch with the field's name."""
    full = _defined(field.schema)
    if full is not None:
        return _called(full, branches)
    kinds = _kinds(field.schema)
    named = (branch for branch in branches if branch.name == field.name and branch.kind in kinds)
    return next(named, None) or _by_kind(kinds, branches)


def for_value(schema: Schema, branches: list[Branch]) -> Branch | None:
    """The branch for a value that is not a union in Connect."""
    full = _defined(schema)
    branch = None if full is None else _called(full, branches)
    if branch is not None or (full is not None and schema.type is Type.STRUCT):
        return branch
    return _by_kind(_kinds(schema), branches)


def _by_kind(kinds: tuple[str, ...], branches: list[Branch]) -> Branch | None:
    """The only branch of the best kind; None if there is none or there are several."""
    for kind in kinds:
        if fitting := [branch for branch in branches if branch.kind == kind]:
            return fitting[0] if len(fitting) == 1 else None
    return None


def _called(full: str, branches: list[Branch]) -> Branch | None:
    return next((branch for branch in branches if branch.full == full), None)


def _kinds(schema: Schema) -> tuple[str, ...]:
    if schema.type is Type.MAP:
        return ("array",) if schema.key().type is not Type.STRING or schema.key().optional else ("map",)
    return _TAKEN_BY[schema.type]


def _defined(schema: Schema) -> str | None:
    """The full name of the defined Avro type for a schema; None for other types."""
    if schema.type is Type.STRUCT:
        return schema.name
    parameters = dict(schema.parameters)
    if schema.type is Type.STRING:
        return parameters.get(ENUM)
    is_fixed = schema.type is Type.BYTES and FIXED_SIZE in parameters
    return schema.name if is_fixed and schema.name != DECIMAL else None  # decimals of all fixed types have one name
