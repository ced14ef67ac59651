"""Conversion of Connect's schemas to Protobuf's (proto3), as in Confluent's converter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote_plus

from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError
from runtime.converters.protobuf.known import (
    CONNECT_TYPE,
    DATE_TYPE,
    DECIMAL_TYPE,
    ENUM,
    FILES,
    GENERAL_ENUM,
    GENERAL_UNION,
    PRECISION,
    TAG,
    TIME_TYPE,
    TIMESTAMP_TYPE,
    TYPE,
    UNION,
    WRAPPER,
    WRAPPERS_FILE,
    wrapper,
)
from runtime.converters.protobuf.options import ProtobufOptions
from runtime.converters.protobuf.parse import SCALARS, ParsedFile

_OPTIONAL, _REPEATED = 1, 3
LOGICAL = {DECIMAL: DECIMAL_TYPE, DATE: DATE_TYPE, TIME: TIME_TYPE, TIMESTAMP: TIMESTAMP_TYPE}
_SCALAR = {
    Type.INT8: "int32", Type.INT16: "int32", Type.INT32: "int32", Type.INT64: "int64", Type.FLOAT32: "float",
    Type.FLOAT64: "double", Type.BOOLEAN: "bool", Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_WIDER = {"fixed32": "uint32", "fixed64": "uint64"}  # with the same wrapper


def is_union(schema: Schema) -> bool:
    if schema.type is not Type.STRUCT:
        return False
    return (schema.name or "").startswith(UNION) or schema.parameter(GENERAL_UNION) is not None


def enum_parameter(schema: Schema, general: bool) -> str | None:
    """The name of the parameters that describe an enum; None for other schemas."""
    given = dict(schema.parameters)
    if schema.type is Type.STRING and (GENERAL_ENUM in given or ENUM in given):
        return GENERAL_ENUM if general else ENUM
    return ENUM if schema.type is Type.INT32 and ENUM in given else None


def is_wrapped(schema: Schema, options: ProtobufOptions, in_union: bool) -> bool:
    """Whether a field is written as a wrapper message. Members of a oneof are optional anyway: a parameter of those
    that were read from a wrapper says so."""
    if not (options.wrapper_for_nullables and schema.optional):
        return False
    return not in_union or schema.parameter(WRAPPER) == "true"


def scalar_type(schema: Schema) -> str:
    """Protobuf's scalar type of a schema, which a parameter may name."""
    given = schema.parameter(TYPE) if schema.type in (Type.INT32, Type.INT64) else None
    return given or _SCALAR[schema.type]


def wrapper_type(schema: Schema) -> str:
    """The wrapper of a scalar."""
    if schema.type is not Type.INT64:
        return wrapper(_SCALAR[schema.type])
    kind = scalar_type(schema)
    kind = _WIDER.get(kind, kind)
    return wrapper(kind if kind.startswith("uint") else "int64")


class ProtobufSchemas:
    """Builds the file of one message type, which has its parts as nested types."""

    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._unnamed = 0
        self._imports: dict[str, None] = {}

    def file(self, schema: Schema) -> ParsedFile:
        """The file for a struct; DataError if Protobuf cannot express the schema."""
        from google.protobuf.descriptor_pb2 import FileDescriptorProto

        package, _, name = self._name(schema.name).rpartition(".")
        parsed = ParsedFile(FileDescriptorProto(name="headrace/schema.proto", syntax="proto3"))
        parsed.proto.package = ".".join(map(self._scrubbed, package.split("."))) if package else ""
        self._params = parsed.params
        message = parsed.proto.message_type.add(name=self._scrubbed(name))
        self._message(message, schema, f"{parsed.proto.package}.{message.name}".lstrip("."))
        parsed.proto.dependency.extend(self._imports)
        return parsed

    def _message(self, message: Any, schema: Schema, full: str) -> None:
        nested: set[str] = {message.name}
        tag = 1
        optionals = []
        for field in schema.fields:
            number, tag = self._tag(field.schema, tag)
            name = self._scrubbed(field.name)
            if is_union(field.schema):
                self._oneof(message, field.schema, full, nested)
                continue
            made = self._field(message, field.schema, name, number, full, nested)
            if made.label == _OPTIONAL and self._options.optional_for_nullables and field.schema.optional:
                made.proto3_optional = True
                optionals.append(made)
        for made in optionals:
            made.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{made.name}")

    @staticmethod
    def _tag(schema: Schema, following: int) -> tuple[int, int]:
        """The number of a field, and the next one for a field without a number of its own."""
        given = schema.parameter(TAG)
        return (following, following + 1) if given is None else (int(given), following)

    def _oneof(self, message: Any, schema: Schema, full: str, nested: set[str]) -> None:
        general = self._options.generalized_sum_type_support
        name = str(schema.parameter(GENERAL_UNION)) if general else str(schema.name).removeprefix(f"{UNION}.")
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=name if general else self._simple(name))
        for field in schema.fields:
            given = field.schema.parameter(TAG)
            if given is None:
                raise DataError(f"The member {field.name} of the union {name} needs a number: parameter {TAG}")
            made = self._field(message, field.schema, self._scrubbed(field.name), int(given), full, nested, True)
            made.oneof_index = index

    def _field(
        self, message: Any, schema: Schema, name: str, number: int, full: str, nested: set[str], in_union: bool = False
    ) -> Any:
        label = _REPEATED if schema.type in (Type.ARRAY, Type.MAP) else _OPTIONAL
        inner = schema.element() if schema.type is Type.ARRAY else schema
        if inner is not schema and inner.type in (Type.ARRAY, Type.MAP):
            raise DataError(f"The array {name} has elements of type {inner.type}, which Protobuf does not support")
        made = message.field.add(name=name, number=number, label=label)
        self._type(message, made, inner, full, nested, in_union)
        return made

    def _type(self, message: Any, made: Any, schema: Schema, full: str, nested: set[str], in_union: bool) -> None:
        """Sets the type of a field, and adds the types that it needs."""
        enum = enum_parameter(schema, self._options.generalized_sum_type_support)
        if schema.name in LOGICAL:
            made.type_name = LOGICAL[schema.name]
            self._imports[FILES[made.type_name]] = None
            if schema.name == DECIMAL:
                self._remember(full, made, precision=schema.parameter(PRECISION), scale=schema.parameter("scale"))
        elif schema.type is Type.STRUCT:
            kind = self._simple(schema.name)
            made.type_name = kind + "Message" if kind == made.name else kind
            if made.type_name not in nested:
                nested.add(made.type_name)
                self._message(message.nested_type.add(name=made.type_name), schema, f"{full}.{made.type_name}")
        elif schema.type is Type.MAP:
            made.type_name = _entry_name(self._simple(schema.name))
            self._entry(message.nested_type.add(name=made.type_name), schema, f"{full}.{made.type_name}")
        elif enum is not None:
            made.type_name = str(schema.parameter(enum))
            self._enum(message, schema, enum)
        elif is_wrapped(schema, self._options, in_union):
            made.type_name = wrapper_type(schema)
            self._imports[WRAPPERS_FILE] = None
        else:
            made.type = _number(scalar_type(schema))
        if schema.type in (Type.INT8, Type.INT16):
            self._remember(full, made, **{CONNECT_TYPE: schema.type.value})

    def _entry(self, entry: Any, schema: Schema, full: str) -> None:
        nested = {entry.name}
        for number, (name, part) in enumerate((("key", schema.key()), ("value", schema.element())), 1):
            self._field(entry, part, name, number, full, nested)

    def _enum(self, message: Any, schema: Schema, parameter: str) -> None:
        name = self._simple(schema.name)
        if any(known.name == name for known in message.enum_type):
            return
        made = message.enum_type.add(name=name)
        for key, number in schema.parameters:
            if key.startswith(f"{parameter}."):
                made.value.add(name=key[len(parameter) + 1 :], number=int(number))

    def _remember(self, full: str, made: Any, **params: str | None) -> None:
        given = {key: value for key, value in params.items() if value is not None}
        if given:
            self._params.setdefault(f"{full}.{made.name}", {}).update(given)
            self._imports["confluent/meta.proto"] = None

    def _name(self, name: str | None) -> str:
        if name:
            return name
        self._unnamed += 1
        return f"ConnectDefault{self._unnamed}"

    def _simple(self, name: str | None) -> str:
        """The name without its namespace."""
        return self._scrubbed(self._name(name).rpartition(".")[2])

    def _scrubbed(self, name: str) -> str:
        return scrubbed(name) if self._options.scrub_invalid_names else name


def scrubbed(name: str) -> str:
    """The name with invalid characters replaced, as Confluent's converter does."""
    if not name or (_valid(name) and not name[0].isdigit() and name[0] != "_"):
        return name
    encoded = quote_plus(name, safe="*")
    if encoded[0].isdigit() or encoded[0] == "_":
        encoded = f"x{encoded}"
    return "".join(char if _valid(char) else "_" for char in encoded)


def _valid(characters: Iterable[str]) -> bool:
    return all(char.isascii() and (char.isalnum() or char == "_") for char in characters)


def _entry_name(name: str) -> str:
    if "_" in name:
        name = "".join(part[:1].upper() + part[1:].lower() for part in name.split("_"))
    return f"{name}Entry"


def _number(scalar: str) -> int:
    if scalar not in SCALARS:
        raise DataError(f"Unknown type {scalar} in the parameter {TYPE}")
    return SCALARS[scalar]
