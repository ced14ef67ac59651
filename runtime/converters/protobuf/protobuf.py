"""ProtobufConverter: values as Protobuf messages, with schemas of Confluent's registry.

It needs Google's protobuf: `pip install 'headrace[protobuf]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.api.data.arrow_column import MIN_RECORDS
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError
from runtime.converters.charset import well_formed
from runtime.converters.protobuf.columns import column_reader
from runtime.converters.protobuf.descriptors import Descriptors, message_class
from runtime.converters.protobuf.known import WRAPPERS_FILE
from runtime.converters.protobuf.options import OPTIONS, ProtobufOptions, protobuf_options
from runtime.converters.protobuf.parse import parse
from runtime.converters.protobuf.read import Get, MessageField, MessageReader, has_required, struct_reader
from runtime.converters.protobuf.schema import LOGICAL, ProtobufSchemas, wrapper_type
from runtime.converters.protobuf.text import proto_text
from runtime.converters.protobuf.write import ValueWriter
from runtime.converters.registry.converter import ConfluentConverter
from runtime.converters.registry.formats import Format, NativeSchema
from runtime.converters.registry.options import installed, missing, registry_options, require
from runtime.converters.registry.schemas import RegisteredSchema

PACKAGE = ("ProtobufConverter", "protobuf", "google.protobuf", "protobuf")
MISSING = missing(*PACKAGE[:2], PACKAGE[3])
_WRAPPERS = 'syntax = "proto3";\npackage google.protobuf;\n\n' + "".join(
    f"message {name}Value {{\n  {kind} value = 1;\n}}\n"
    for name, kind in (
        ("Double", "double"), ("Float", "float"), ("Int64", "int64"), ("UInt64", "uint64"), ("Int32", "int32"),
        ("UInt32", "uint32"), ("Bool", "bool"), ("String", "string"), ("Bytes", "bytes"),
    )
)  # fmt: skip
"""The types of WRAPPERS_FILE, which is the schema of values that are not structs."""


class ProtobufFormat(Format):
    """The schema of a struct is a file with one message type; other values are wrapped."""

    kind = "PROTOBUF"
    has_path = True
    write_error = "Failed to serialize Protobuf data from topic {}:"
    read_error = "Failed to deserialize data for topic {} to Protobuf:"

    def __init__(self, options: ProtobufOptions) -> None:
        require(*PACKAGE)
        self._options = options

    def native(self, schema: Schema) -> NativeSchema:
        if schema.type in (Type.ARRAY, Type.MAP) or schema.name in LOGICAL:
            raise DataError(f"Unsupported root schema of type {schema.name or schema.type.name}: use a struct")
        if schema.type is not Type.STRUCT:
            return NativeSchema(_WRAPPERS, wrapper_type(schema), Descriptors(parse(_WRAPPERS, WRAPPERS_FILE), {}))
        parsed = ProtobufSchemas(self._options).file(schema)
        message = parsed.proto.message_type[0].name
        name = f"{parsed.proto.package}.{message}" if parsed.proto.package else message
        text = proto_text(parsed)
        return NativeSchema(text, name, Descriptors(parsed, {}))

    def encoder(self, schema: Schema, native: NativeSchema, target: RegisteredSchema | None) -> ProtobufEncoder:
        path = native.parsed.path(str(native.name))
        message = native.parsed.message(path)
        if target is not None:
            latest = Descriptors(target.text, target.references)
            path = latest.path(str(native.name))
            _check_compatible(message, latest.message(path), set())
        convert, unchanged = _writer(schema, self._options)
        return ProtobufEncoder(message_class(message), path, convert, unchanged)

    def decoder(self, schema: RegisteredSchema, path: Sequence[int]) -> ProtobufDecoder:
        descriptors = Descriptors(schema.text, schema.references)
        return ProtobufDecoder(descriptors.message(path), MessageReader(self._options, descriptors.params))


class ProtobufConverter(ConfluentConverter):
    """Converts Connect's schemas to Protobuf's."""

    java_name = "io.confluent.connect.protobuf.ProtobufConverter"
    config_def = registry_options(installed(*PACKAGE), *OPTIONS)

    def _made_format(self, parsed: Mapping[str, Any]) -> ProtobufFormat:
        return ProtobufFormat(protobuf_options(parsed))


class ProtobufEncoder:
    """Writes values of one schema."""

    def __init__(
        self, message: Any, path: Sequence[int], convert: Callable[[Any], dict[str, Any]], unchanged: bool
    ) -> None:
        """`convert` gives the arguments of the message class; `unchanged`: structs are such arguments already."""
        self.path = path
        self._message, self._convert, self._unchanged = message, convert, unchanged

    def write(self, value: Any) -> bytes:
        return self._written(self._convert(value))

    def _written(self, arguments: Any) -> bytes:
        try:
            data: bytes = self._message(**arguments).SerializeToString()
        except UnicodeEncodeError:
            data = self._message(**well_formed(arguments)).SerializeToString()
        return data

    def write_batch(self, values: ValueBatch) -> list[bytes]:
        try:
            return self._written_batch(values)
        except UnicodeEncodeError:
            return list(map(self.write, values.rows))

    def _written_batch(self, values: ValueBatch) -> list[bytes]:
        message = self._message
        if self._unchanged:
            return [message(**row).SerializeToString() for row in values.rows]
        convert = self._convert
        return [message(**convert(row)).SerializeToString() for row in values.rows]


class ProtobufDecoder:
    """Reads messages of one type."""

    def __init__(self, descriptor: Any, reader: MessageReader) -> None:
        self.name: str | None = str(descriptor.full_name)
        self._parse = message_class(descriptor).FromString
        requires = has_required(descriptor)
        if requires:
            self._parse = _complete(self._parse)
        self.schema, fields = reader.root(descriptor)
        self._fields: list[MessageField] = [] if callable(fields) else fields
        self._read: Get = fields if callable(fields) else struct_reader(fields)
        self._columns = None if requires else column_reader(descriptor, self._fields)

    def read(self, data: bytes) -> Any:
        return self._read(self._parse(data))

    def read_batch(self, data: Sequence[bytes]) -> ValueBatch:
        if self._columns is not None and len(data) >= MIN_RECORDS:
            return ValueBatch.struct(self.schema, self._columns.read(data), len(data))
        messages = list(map(self._parse, data))
        if not self._fields:
            return ValueBatch(self.schema, list(map(self._read, messages)))
        columns = {field.name: list(map(field.get, messages)) for field in self._fields}
        return ValueBatch.struct(self.schema, columns, len(messages))


def _writer(schema: Schema, options: ProtobufOptions) -> tuple[Callable[[Any], dict[str, Any]], bool]:
    writer = ValueWriter(options)
    if schema.type is Type.STRUCT:
        return writer.struct(schema)
    convert = writer.value(schema.replace(optional=False))
    return (lambda value: {"value": value if convert is None else convert(value)}), False


def _check_compatible(own: Any, target: Any, seen: set[str]) -> None:
    """DataError if a reader with the target's schema would read other fields than those that are written."""
    if own.full_name in seen:
        return
    seen.add(own.full_name)
    for field in own.fields:
        other = target.fields_by_number.get(field.number)
        if other is None or other.type != field.type or other.is_repeated != field.is_repeated:
            raise DataError(
                f"The field {field.name} = {field.number} of {own.full_name} does not fit the schema in the registry: "
                "register a compatible schema, or write without use.latest.version and use.schema.id"
            )
        if field.message_type is not None:
            _check_compatible(field.message_type, other.message_type, seen)


def _complete(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """As `parse`, but DataError for a message without its required fields, as in Java."""

    def read(data: bytes) -> Any:
        message = parse(data)
        if not message.IsInitialized():
            raise DataError(f"Message missing required fields: {', '.join(message.FindInitializationErrors())}")
        return message

    return read
