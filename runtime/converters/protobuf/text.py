"""Writes the files that schema.py builds as .proto text, in the order of Confluent's registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.converters.protobuf.parse import SCALARS, Params, ParsedFile

_NAMES = {number: name for name, number in SCALARS.items()}
_REPEATED = 3


def proto_text(parsed: ParsedFile) -> str:
    """The text of a file with messages of proto3, without map fields, options other than `confluent.field_meta` and
    services."""
    proto = parsed.proto
    lines = ['syntax = "proto3";']
    lines += [f"package {proto.package};"] if proto.package else []
    lines += ["", *(f'import "{name}";' for name in proto.dependency)] if proto.dependency else []
    lines.append("")
    for message in proto.message_type:
        lines += _message(message, f"{proto.package}.{message.name}".lstrip("."), parsed.params)
    return "\n".join(lines) + "\n"


def _message(message: Any, full: str, params: Params) -> Iterator[str]:
    yield f"message {message.name} {{"
    members: dict[int, list[str]] = {n: [] for n in range(len(message.oneof_decl))}
    for field in message.field:
        line = _field(field, params.get(f"{full}.{field.name}", {}))
        if field.HasField("oneof_index") and not field.proto3_optional:
            members[field.oneof_index].append(line)
        else:
            yield f"  {line}"
    for index, oneof in enumerate(message.oneof_decl):
        if members[index]:
            yield ""
            yield f"  oneof {oneof.name} {{"
            yield from (f"    {line}" for line in members[index])
            yield "  }"
    for nested in message.nested_type:
        yield ""
        lines = _message(nested, f"{full}.{nested.name}", params)
        yield from (f"  {line}" if line else "" for line in lines)
    for enum in message.enum_type:
        yield f"  enum {enum.name} {{"
        yield from (f"    {value.name} = {value.number};" for value in enum.value)
        yield "  }"
    yield "}"


def _field(field: Any, params: dict[str, str]) -> str:
    label = "repeated " if field.label == _REPEATED else "optional " if field.proto3_optional else ""
    kind = field.type_name or _NAMES[field.type]
    entries = ", ".join(f'{{ key: "{key}", value: "{value}" }}' for key, value in params.items())
    meta = f" [(confluent.field_meta) = {{ params: [{entries}] }}]" if params else ""
    return f"{label}{kind} {field.name} = {field.number}{meta};"
