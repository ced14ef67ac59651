"""Makes fastavro report the branch of a union that it has read, and write the branch that it is given.

Avro encodes a record as its fields in sequence. Each branch of a union is therefore declared to fastavro as a record
with the branch as its only field: the bytes are the same, and a value is read with its branch: `{"long": 5}`. Unions of
one type and null are unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.converters.avro.defaults import default_branch
from runtime.converters.avro.names import (
    DEFINED,
    KINDS,
    Avro,
    branch_names,
    is_null,
    kind_of,
    referred,
    space_of,
    type_name,
)
from runtime.converters.avro.schema import DECIMAL_TYPE, LOGICAL

_WRAPPER = "headrace_branch_"
_NO_SPACE = "headrace_no_namespace."
_KEPT = {None, *LOGICAL.values()} - {DECIMAL_TYPE}
_FLOATS, _OTHERS = frozenset({"float", "double"}), frozenset({"int", "long", "string"})
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


class UnionCodec:
    """Parses a schema, and the schemas that it references, for fastavro.

    Decimals are bytes for fastavro, which would round those that have more digits than their schema's precision."""

    def __init__(self, enhanced: bool = False, defaults: bool = True) -> None:
        """`enhanced`: as for branch_names(). `defaults`: keep those of fields, which only a writer needs. fastavro
        refuses a schema for an invalid one."""
        self.named: dict[str, Any] = {}
        self._known: set[str] = set()
        self._enhanced, self._defaults = enhanced, defaults
        self._wrapped = 0

    def parse(self, document: Avro) -> Avro:
        """The schema for fastavro; parse referenced schemas first."""
        from fastavro import parse_schema

        return parse_schema(self._type(document, ""), self.named)

    def _type(self, document: Avro, space: str) -> Avro:
        """The type without decimals, and without logical types unknown to Connect, whose values then stay plain. Only a
        decimal keeps its scale."""
        if isinstance(document, list):
            return self._union(document, space)
        if not isinstance(document, dict):
            return self._reference(document, space)
        if isinstance(document["type"], dict | list):
            return self._type(document["type"], space)
        if document["type"] not in (*KINDS, *DEFINED, "null"):
            return self._reference(document["type"], space)
        inside = space
        kept = {key: value for key, value in document.items() if not key.startswith("connect.")}
        if document["type"] in DEFINED:
            full, inside = type_name(document, space), space_of(document, space)
            self._known.add(full)
            kept["name"] = _qualified(full)
        scale = kept.pop("scale", None) or 0
        if kept.get("logicalType") == DECIMAL_TYPE:
            kept["scale"] = int(scale)
        if kept.get("logicalType") not in _KEPT:
            del kept["logicalType"]
        for key in kept.keys() & {"items", "values"}:
            kept[key] = self._type(kept[key], inside)
        if "fields" in kept:
            kept["fields"] = [self._field(field, inside) for field in kept["fields"]]
        return kept

    def _reference(self, name: str, space: str) -> str:
        return name if name in (*KINDS, "null") else _qualified(referred(name, space, self._known))

    def _field(self, field: Mapping[str, Any], space: str) -> dict[str, Any]:
        made = {**field, "type": self._type(field["type"], space)}
        if not self._defaults:
            made.pop("default", None)
        default = made.get("default")
        if type(default) is int or default in _NOT_FINITE:
            made["default"] = _fitting(field["type"], default)
        if default is not None and (branches := wrapped(made["type"])):
            inside = [branch["fields"][0] for branch in branches]
            kinds = [(branch["name"], kind_of(branch["type"])) for branch in inside]
            made["default"] = {default_branch(kinds, default): default}
        return {key: value for key, value in made.items() if not key.startswith("connect.")}

    def _union(self, branches: list[Avro], space: str) -> list[Avro]:
        others = [branch for branch in branches if not is_null(branch)]
        if len(others) < 2:
            return [self._type(branch, space) for branch in branches]
        names = iter(branch_names(others, space, self._known, self._enhanced))
        return ["null" if is_null(b) else self._wrapper(next(names), self._type(b, space)) for b in branches]

    def _wrapper(self, name: str, branch: Avro) -> dict[str, Any]:
        """The name is unique in every namespace."""
        self._wrapped += 1
        return {"type": "record", "name": f"{_WRAPPER}{self._wrapped}", "fields": [{"name": name, "type": branch}]}


def _qualified(full: str) -> str:
    """The name of a defined type for fastavro, which takes a name without a dot for one of the enclosing namespace."""
    return full if "." in full else _NO_SPACE + full


def full_name(parsed: Mapping[str, Any]) -> str:
    """The full name of a type that UnionCodec has parsed."""
    return str(parsed["name"]).removeprefix(_NO_SPACE)


def _fitting(document: Avro, default: int | str) -> int | float | str:
    """A default that is a whole number, or not finite, as fastavro accepts it for a type."""
    kinds = {kind_of(branch) for branch in (document if isinstance(document, list) else [document])}
    return float(default) if kinds & _FLOATS and not kinds & _OTHERS else default


def wrapped(parsed: Avro) -> list[dict[str, Any]]:
    """The records that wrap the branches of a union; empty for other types and unions of one type and null."""
    if not isinstance(parsed, list):
        return []
    return [b for b in parsed if isinstance(b, dict) and b.get("name", "").rpartition(".")[2].startswith(_WRAPPER)]
