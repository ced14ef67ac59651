"""Names of types, namespaces and union branches in Avro schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
    name = str(document["name"])
    return name.rpartition(".")[0] if "." in name else str(document.get("namespace", space) or "")


def type_name(document: Avro, space: str = "") -> str:
    """The name that identifies a type in a union: the full name of a defined type, or the kind."""
    if isinstance(document, dict):
        if document["type"] in DEFINED:
            inside, simple = space_of(document, space), str(document["name"]).rpartition(".")[2]
            return f"{inside}.{simple}" if inside else simple
        return type_name(document["type"], space)
    if isinstance(document, list):
        raise DataError("Avro does not allow a union directly inside a union")
    return document if document in KINDS or "." in document or not space else f"{space}.{document}"


def branch_names(branches: list[Avro], space: str, enhanced: bool = False) -> list[str]:
    """The field names of a union, as in Confluent's converter: the kind, or the simple name of a defined type; the full
    name if several branches have the same simple name, or if `enhanced`, the option, is set."""
    full = [type_name(branch, space) for branch in branches]
    simple = full if enhanced else [name.rpartition(".")[2] for name in full]
    times = Counter(simple)
    names = [long if times[short] > 1 else short for long, short in zip(full, simple, strict=True)]
    twice = next((name for name, number in Counter(names).items() if number > 1), None)
    if twice is not None:
        raise DataError(f"A union has two branches of type {twice}, which cannot be distinguished")
    return names
