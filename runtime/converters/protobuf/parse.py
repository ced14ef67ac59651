"""Parses .proto files to descriptors: what matters for messages. Services, extensions and most options are skipped.

Libraries exist (proto-schema-parser, grpcio-tools), but the former is an ANTLR grammar that takes ten times as long as
this module, and needs a conversion to descriptors of about its size, and the latter is a compiler of 30 MB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runtime.converters.protobuf.tokens import Tokens

Params = dict[str, dict[str, str]]
"""Parameters of Confluent's option `confluent.field_meta`, by the full name of the field."""

_META = ("(confluent.field_meta)", "(.confluent.field_meta)")
_LABELS = {"optional": 1, "required": 2, "repeated": 3}
SCALARS = {
    name: number
    for number, name in enumerate(
        ("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string"), 1
    )
} | {"bytes": 12, "uint32": 13, "sfixed32": 15, "sfixed64": 16, "sint32": 17, "sint64": 18}
_MESSAGE = 11


@dataclass(slots=True)
class ParsedFile:
    """`proto`: a FileDescriptorProto; types of fields may be relative names."""

    proto: Any
    params: Params = field(default_factory=dict)


def parse(text: str, name: str) -> ParsedFile:
    """The descriptor of a file; DataError, with the line, for invalid text."""
    return _Parser(text, name).file()


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        from google.protobuf.descriptor_pb2 import FileDescriptorProto

        self._tokens = Tokens(text)
        self._file = ParsedFile(FileDescriptorProto(name=name, syntax="proto2"))

    def file(self) -> ParsedFile:
        tokens, proto = self._tokens, self._file.proto
        while tokens.next:
            match tokens.next:
                case "syntax":
                    tokens.take()
                    tokens.expect("=")
                    proto.syntax = tokens.text()
                    tokens.expect(";")
                case "edition":
                    raise tokens.error("editions are not supported: use proto3")
                case "package":
                    tokens.take()
                    proto.package = tokens.name()
                    tokens.expect(";")
                case "import":
                    tokens.take()
                    self._import()
                case "message":
                    tokens.take()
                    self._message(proto.message_type.add(), proto.package)
                case "enum":
                    tokens.take()
                    self._enum(proto.enum_type.add())
                case ";":
                    tokens.take()
                case "option" | "service" | "extend":
                    tokens.skip_statement()
                case other:
                    raise tokens.error(f"unexpected {other!r}")
        return self._file

    def _import(self) -> None:
        proto = self._file.proto
        if self._tokens.accept("public"):
            proto.public_dependency.append(len(proto.dependency))
        else:
            self._tokens.accept("weak")
        proto.dependency.append(self._tokens.text())
        self._tokens.expect(";")

    def _message(self, message: Any, scope: str) -> None:
        tokens = self._tokens
        message.name = tokens.name()
        full = f"{scope}.{message.name}" if scope else message.name
        tokens.expect("{")
        optionals: list[Any] = []
        while not tokens.accept("}"):
            match tokens.next:
                case "message":
                    tokens.take()
                    self._message(message.nested_type.add(), full)
                case "enum":
                    tokens.take()
                    self._enum(message.enum_type.add())
                case "oneof":
                    tokens.take()
                    self._oneof(message, full)
                case ";":
                    tokens.take()
                case "option" | "extensions" | "reserved" | "extend":
                    tokens.skip_statement()
                case _:
                    made = self._field(message, full)
                    optionals += [made] if made.proto3_optional else []
        for made in optionals:  # after the declared ones, as protoc numbers them
            made.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{made.name}")

    def _oneof(self, message: Any, full: str) -> None:
        tokens, index = self._tokens, len(message.oneof_decl)
        message.oneof_decl.add(name=tokens.name())
        tokens.expect("{")
        while not tokens.accept("}"):
            if tokens.next == "option":
                tokens.skip_statement()
            elif not tokens.accept(";"):
                self._field(message, full).oneof_index = index

    def _field(self, message: Any, full: str) -> Any:
        tokens = self._tokens
        made = message.field.add(label=_LABELS["optional"])
        label = tokens.take() if tokens.next in _LABELS else None
        if label is not None:
            made.label = _LABELS[label]
            made.proto3_optional = label == "optional" and self._file.proto.syntax == "proto3"
        kind = tokens.name()
        if kind == "group":
            raise tokens.error("groups are not supported")
        entry = self._map_types() if kind == "map" and tokens.next == "<" else None
        made.name = tokens.name()
        if entry is not None:
            self._map(message, made, full, *entry)
        else:
            _typed(made, kind)
        tokens.expect("=")
        made.number = tokens.integer()
        if tokens.accept("["):
            self._options(made, f"{full}.{made.name}")
        tokens.expect(";")
        return made

    def _map_types(self) -> tuple[str, str]:
        tokens = self._tokens
        tokens.expect("<")
        key = tokens.name()
        tokens.expect(",")
        value = tokens.name()
        tokens.expect(">")
        return key, value

    def _map(self, message: Any, made: Any, full: str, key: str, value: str) -> None:
        entry = message.nested_type.add(name=map_entry(made.name))
        entry.options.map_entry = True
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            _typed(entry.field.add(name=name, number=number, label=_LABELS["optional"]), kind)
        made.label, made.type, made.type_name = _LABELS["repeated"], _MESSAGE, f".{full}.{entry.name}"

    def _options(self, made: Any, full: str) -> None:
        tokens = self._tokens
        while not tokens.accept("]"):
            name = self._option_name()
            tokens.expect("=")
            value = tokens.value()
            if name == "default":
                made.default_value = str(value)
            elif name == "packed":
                made.options.packed = value == "true"
            elif name.startswith(_META):
                self._file.params.setdefault(full, {}).update(_params(name, value))
            tokens.accept(",")

    def _option_name(self) -> str:
        parts = []
        while self._tokens.next != "=":
            parts.append(self._tokens.take())
        return "".join(parts)

    def _enum(self, enum: Any) -> None:
        tokens = self._tokens
        enum.name = tokens.name()
        tokens.expect("{")
        while not tokens.accept("}"):
            if tokens.next == "option":
                tokens.take()
                name = self._option_name()
                tokens.expect("=")
                if tokens.value() == "true" and name == "allow_alias":
                    enum.options.allow_alias = True
                tokens.expect(";")
            elif tokens.next == "reserved":
                tokens.skip_statement()
            elif not tokens.accept(";"):
                symbol = tokens.name()
                tokens.expect("=")
                enum.value.add(name=symbol, number=tokens.integer())
                if tokens.accept("["):
                    while not tokens.accept("]"):
                        tokens.take()
                tokens.expect(";")


def _typed(made: Any, kind: str) -> None:
    if kind in SCALARS:
        made.type = SCALARS[kind]
    else:
        made.type_name = kind


def map_entry(field_name: str) -> str:
    """The name of the message type of a map's entries, as protoc forms it."""
    return "".join(part[:1].upper() + part[1:] for part in field_name.split("_")) + "Entry"


def _params(name: str, value: Any) -> dict[str, str]:
    """The entries of `params` in a value of the option, or of the option's own field `.params`."""
    given = [value] if name.endswith(".params") else [item for key, item in value if key == "params"]
    entries = [entry for item in given for entry in (item if item and isinstance(item[0], list) else [item])]
    return {pairs["key"]: pairs.get("value", "") for pairs in map(dict, entries) if "key" in pairs}
