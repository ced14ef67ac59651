"""Names of types, namespaces and union branches in Avro schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from typing import Any

from runtime.api.errors import DataError

Avro = Any
"""An Avro schema as JSON."""

ENUM = "io.confluent.connect.avro.Enum"
UNION = "io.confluent.connect.avro.Union"
FIXED_SIZE = "connect.fixed.size"
RECORD_DOC, FIELD_DOC = "io.confluent.connect.avro.record.doc", "io.confluent.connect.avro.field.doc."
ENUM_DOC, ENUM_DEFAULT = "io.confluent.connect.avro.enum.doc.", "io.confluent.connect.avro.enum.default."
FIELD_DEFAULT = "io.confluent.connect.avro.field.default"
"""Parameters that keep what Connect's schemas do not have: docs of records, fields and enums, the default of an enum,
and whether a default is that of the field, not of its type."""
AVRO_PROPERTY = "avro."
"""The beginning of properties, such as avro.java.string, that are parameters in Connect."""
FIELD_PARAMETERS = "connect.parameters"
"""A property of a field that refers to a defined type: the parameters of the field's own schema."""
DEFINED = ("record", "error", "enum", "fixed")
KINDS = ("boolean", "int", "long", "float", "double", "string", "bytes", "array", "map")


def kind_of(document: Avro) -> str:
    """Avro's name for the kind of a type, or the full name of a type defined elsewhere."""
    return kind_of(document["type"]) if isinstance(document, dict) else str(document)


def is_null(branch: Avro) -> bool:
    """Whether a branch of a union is null."""
    return branch == "null" or (isinstance(branch, dict) and branch["type"] == "null")


def space_of(document: Mapping[str, Any], space: str) -> str:
    """The namespace of a definition, within the namespace `space`."""
    name, given = str(document["name"]), document.get("namespace")
    return name.rpartition(".")[0] if "." in name else space if given is None else str(given)


def referred(name: str, space: str, known: Container[str]) -> str:
    """The full name of the type that a name means: one of the enclosing namespace `space`, or else one without a
    namespace, as in Avro's Java library. `known`: the full names of the types that are defined so far."""
    full = name if "." in name or not space else f"{space}.{name}"
    return name if full not in known and name in known else full


def type_name(document: Avro, space: str = "", known: Container[str] = ()) -> str:
    """The name that identifies a type in a union: the full name of a defined type, or the kind. `known`: as for
    referred()."""
    if isinstance(document, dict):
        if document["type"] in DEFINED:
            inside, simple = space_of(document, space), str(document["name"]).rpartition(".")[2]
            return f"{inside}.{simple}" if inside else simple
        return type_name(document["type"], space, known)
    if isinstance(document, list):
        raise DataError("Avro does not allow a union directly inside a union")
    return document if document in KINDS else referred(document, space, known)


def branch_names(branches: list[Avro], space: str, known: Container[str], enhanced: bool) -> list[str]:
    """The field names of a union, as in Confluent's converter: the kind, or the simple name of a defined type; the full
    name if several branches have the same simple name, or if `enhanced`, the option, is set. `known`: as for
    referred()."""
    full = [type_name(branch, space, known) for branch in branches]
    simple = full if enhanced else [name.rpartition(".")[2] for name in full]
    times = Counter(simple)
    names = [long if times[short] > 1 else short for long, short in zip(full, simple, strict=True)]
    twice = next((name for name, number in Counter(names).items() if number > 1), None)
    if twice is not None:
        raise DataError(f"A union has two branches of type {twice}, which cannot be distinguished")
    return names
