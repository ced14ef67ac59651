"""Conversion of Protobuf's message types to Connect's schemas, and of messages to values, as in Confluent's
converter."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from operator import attrgetter
from typing import Any, NamedTuple

from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, datetime_of, decimal_of, decimal_schema
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.protobuf import known
from runtime.converters.protobuf.options import ProtobufOptions
from runtime.converters.protobuf.parse import Params

Get = Callable[[Any], Any]
ToConnect = Callable[[Any], Any]

_SIGNED = {17: "sint32", 15: "sfixed32"}
_LONG = {13: "uint32", 7: "fixed32", 3: "int64", 4: "uint64", 18: "sint64", 6: "fixed64", 16: "sfixed64"}
_INT32, _ENUM, _MESSAGE = 5, 14, 11
_PLAIN = {2: Type.FLOAT32, 1: Type.FLOAT64, 8: Type.BOOLEAN, 9: Type.STRING, 12: Type.BYTES}
_UNSIGNED_64 = (4, 6)
_WRAPPED = {
    known.wrapper(kind): made
    for kind, made in (
        ("double", Type.FLOAT64), ("float", Type.FLOAT32), ("int64", Type.INT64), ("uint64", Type.INT64),
        ("int32", Type.INT32), ("uint32", Type.INT64), ("bool", Type.BOOLEAN), ("string", Type.STRING),
        ("bytes", Type.BYTES),
    )
}  # fmt: skip


class MessageField(NamedTuple):
    """A field of a struct: its schema, and a function that gets its value from a message. `is_plain`: its value is that
    of the message's field, null only if a field with presence is not set."""

    name: str
    schema: Schema
    get: Get
    is_plain: bool = False


class _Part(NamedTuple):
    """The schema of single values, and a function that converts them; None: no conversion needed."""

    schema: Schema
    convert: ToConnect | None = None


class MessageReader:
    """Reads messages of the types of one schema."""

    def __init__(self, options: ProtobufOptions, params: Params) -> None:
        self._options, self._params = options, params
        self._known: dict[str, _Part] = {}
        self._open: set[str] = set()

    def root(self, descriptor: Any) -> tuple[Schema, list[MessageField] | Get]:
        """The schema of a message type, with its fields; a function instead of fields for a wrapper."""
        if self._options.wrapper_for_raw_primitives and descriptor.full_name in _WRAPPED:
            part = self._unwrapped(descriptor)
            return part.schema, part.convert or attrgetter("value")
        return self._struct(descriptor)

    def _struct(self, descriptor: Any) -> tuple[Schema, list[MessageField]]:
        if descriptor.full_name in self._open:
            raise DataError(f"The Protobuf message {descriptor.full_name} is recursive, which Connect does not support")
        self._open.add(descriptor.full_name)
        try:
            fields = [*self._oneofs(descriptor), *self._fields(descriptor)]
        finally:
            self._open.discard(descriptor.full_name)
        named = tuple(Field(field.name, field.schema) for field in fields)
        return Schema(Type.STRUCT, name=self._name(descriptor), fields=named), fields

    def _oneofs(self, descriptor: Any) -> list[MessageField]:
        made: list[MessageField] = []
        for oneof in descriptor.oneofs:
            members = [self._field(field, True) for field in oneof.fields]
            if is_synthetic(oneof):
                continue
            made += members if self._options.flatten_unions else [self._union(oneof, members)]
        return made

    def _fields(self, descriptor: Any) -> list[MessageField]:
        """The fields that are not members of a oneof."""
        return [
            self._field(field)
            for field in descriptor.fields
            if field.containing_oneof is None or is_synthetic(field.containing_oneof)
        ]

    def _union(self, oneof: Any, members: Sequence[MessageField]) -> MessageField:
        name = str(oneof.name)
        if self._options.generalized_sum_type_support:
            schema = Schema(Type.STRUCT, True, name=name, parameters=((known.GENERAL_UNION, name),))
        else:
            schema = Schema(Type.STRUCT, True, name=f"{known.UNION}.{self._name(oneof)}")
        schema = schema.replace(fields=tuple(Field(member.name, member.schema) for member in members))
        gets = {member.name: member.get for member in members}

        def get(message: Any) -> dict[str, Any] | None:
            chosen = message.WhichOneof(name)
            return None if chosen is None else {chosen: gets[chosen](message)}

        return MessageField(f"{name}_{oneof.index}" if self._options.generate_index_for_unions else name, schema, get)

    def _field(self, field: Any, in_union: bool = False) -> MessageField:
        part = self._part(field)
        is_plain = part.convert is None and field.type != _MESSAGE
        is_map = part.schema.type is Type.MAP
        if field.is_repeated and not is_map:
            part = _array(part)
        schema = part.schema
        if in_union:
            schema = schema.replace(optional=True)
            if self._options.wrapper_for_nullables and field.type == _MESSAGE:
                schema = _with(schema, known.WRAPPER, "true") if field.message_type.full_name in _WRAPPED else schema
        elif self._options.optional_for_nullables:
            schema = schema.replace(optional=schema.optional or _has_keyword(field))
        elif not self._options.wrapper_for_nullables:
            schema = schema.replace(optional=True)
        schema = _with(schema, known.TAG, str(field.number))
        if field.type == _MESSAGE and not field.is_repeated and schema.type is Type.STRUCT:
            name = field.message_type.full_name
            if name in self._known and self._known[name].schema.parameters == ():
                self._known[name] = part._replace(schema=schema)  # as Confluent's converter, whose builder keeps it
        is_plain &= field.is_repeated or self._always_has_value(field) != field.has_presence
        return MessageField(str(field.name), schema, self._get(field, part.convert), is_plain)

    def _get(self, field: Any, convert: ToConnect | None) -> Get:
        name = str(field.name)
        value = attrgetter(name)
        if field.is_repeated:
            return value if convert is None else lambda message: convert(value(message))
        if self._always_has_value(field):
            return value if convert is None else lambda message: convert(value(message))
        if convert is None:
            return lambda message: value(message) if message.HasField(name) else None
        return lambda message: convert(value(message)) if message.HasField(name) else None

    def _always_has_value(self, field: Any) -> bool:
        return self._options.generate_struct_for_nulls or (field.type != _MESSAGE and not self._is_optional(field))

    def _is_optional(self, field: Any) -> bool:
        if field.containing_oneof is not None:
            return True  # of a oneof, or optional in proto3
        return self._options.optional_for_proto2 and _has_keyword(field)

    def _part(self, field: Any) -> _Part:
        kind = field.type
        if kind == _INT32 or kind in _SIGNED:
            return self._int32(field)
        if kind in _LONG:
            parameters = () if _LONG[kind] == "int64" else ((known.TYPE, _LONG[kind]),)
            return _Part(Schema(Type.INT64, parameters=parameters), _signed if kind in _UNSIGNED_64 else None)
        if kind == _ENUM:
            return self._enum(field.enum_type)
        if kind == _MESSAGE:
            return self._message(field)
        if kind not in _PLAIN:
            raise DataError(f"The field {field.full_name} has a type that Connect does not support")
        return _Part(Schema(_PLAIN[kind]))

    def _int32(self, field: Any) -> _Part:
        given = self._params.get(str(field.full_name), {}).get(known.CONNECT_TYPE)
        if given == "int8":
            return _Part(Schema(Type.INT8), _byte)
        if given == "int16":
            return _Part(Schema(Type.INT16), _short)
        parameters = ((known.TYPE, _SIGNED[field.type]),) if field.type in _SIGNED else ()
        return _Part(Schema(Type.INT32, parameters=parameters))

    def _enum(self, enum: Any) -> _Part:
        parameter = known.GENERAL_ENUM if self._options.generalized_sum_type_support else known.ENUM
        symbols = ((f"{parameter}.{value.name}", str(value.number)) for value in enum.values)
        kind = Type.INT32 if self._options.int_for_enums else Type.STRING
        schema = Schema(kind, True, name=self._name(enum), parameters=((parameter, enum.name), *symbols))
        if self._options.int_for_enums:
            return _Part(schema)
        names = {value.number: value.name for value in reversed(enum.values)}
        unknown = f"UNKNOWN_ENUM_VALUE_{enum.name}_"
        return _Part(schema, lambda number: names.get(number) or f"{unknown}{number}")

    def _message(self, field: Any) -> _Part:
        descriptor = field.message_type
        name = str(descriptor.full_name)
        if name == known.DECIMAL_TYPE:
            return self._decimal(field)
        if name in _LOGICAL:
            schema, convert = _LOGICAL[name]
            return _Part(schema.replace(optional=True), convert)
        if name in _WRAPPED and (self._options.wrapper_for_nullables or self._options.wrapper_for_raw_primitives):
            part = self._unwrapped(descriptor)
            return _Part(part.schema.replace(optional=True), part.convert or attrgetter("value"))
        if _is_map(field):
            return self._map(descriptor)
        if name not in self._known:
            schema, fields = self._struct(descriptor)
            self._known[name] = _Part(schema.replace(optional=True), struct_reader(fields))
        return self._known[name]

    def _decimal(self, field: Any) -> _Part:
        params = self._params.get(str(field.full_name), {})
        schema = decimal_schema(_int(params.get("scale")) or 0).replace(optional=True)
        precision = _int(params.get("precision"))
        return _Part(schema if precision is None else _with(schema, known.PRECISION, str(precision)), _to_decimal)

    def _unwrapped(self, descriptor: Any) -> _Part:
        signed = descriptor.full_name == known.wrapper("uint64")
        convert = (lambda message: _signed(message.value)) if signed else None
        return _Part(Schema(_WRAPPED[descriptor.full_name]), convert)

    def _map(self, descriptor: Any) -> _Part:
        key, value = (self._field(descriptor.fields_by_name[name]) for name in ("key", "value"))
        simple = str(self._name(descriptor))
        package, _, last = simple.rpartition(".")
        name = _underscored(last.removesuffix("Entry"))
        schema = Schema(
            Type.MAP, True, name=f"{package}.{name}" if package else name, keys=key.schema, values=value.schema
        )
        if not descriptor.GetOptions().map_entry:
            return _Part(schema, lambda entries: {key.get(entry): value.get(entry) for entry in entries})
        of_key, of_value = (self._part(descriptor.fields_by_name[name]).convert for name in ("key", "value"))
        return _Part(schema, lambda entries: {
            (k if of_key is None else of_key(k)): (v if of_value is None else of_value(v)) for k, v in entries.items()
        })  # fmt: skip

    def _name(self, descriptor: Any) -> str:
        return str(descriptor.full_name if self._options.enhanced_protobuf_schema_support else descriptor.name)


def struct_reader(fields: Sequence[MessageField]) -> ToConnect:
    plan = [(field.name, field.get) for field in fields]
    return lambda message: {name: get(message) for name, get in plan}


def has_required(descriptor: Any) -> bool:
    """Whether a message, or one in its fields, has required fields (proto2)."""
    waiting, known = [descriptor], {descriptor.full_name}
    while waiting:
        for field in waiting.pop().fields:
            if field.is_required:
                return True
            inner = field.message_type
            if inner is not None and inner.full_name not in known:
                known.add(inner.full_name)
                waiting.append(inner)
    return False


def is_synthetic(oneof: Any) -> bool:
    """Whether the oneof stands for an optional field of proto3."""
    from google.protobuf.descriptor_pb2 import DescriptorProto

    if len(oneof.fields) > 1 or not oneof.name.startswith("_"):
        return False
    proto = DescriptorProto()
    oneof.containing_type.CopyToProto(proto)
    return any(field.proto3_optional for field in proto.field if field.name == oneof.fields[0].name)


def _has_keyword(field: Any) -> bool:
    """Whether the field has the label `optional`: it may have none in proto3, where the label is not written."""
    if field.is_repeated or field.is_required:
        return False
    if field.containing_oneof is not None:
        return is_synthetic(field.containing_oneof)
    return bool(field.has_presence) and field.type != _MESSAGE


def _is_map(field: Any) -> bool:
    descriptor = field.message_type
    names = [part.name for part in descriptor.fields]
    plain = not any(part.is_repeated for part in descriptor.fields)
    return bool(field.is_repeated) and descriptor.name.endswith("Entry") and names == ["key", "value"] and plain


def _array(part: _Part) -> _Part:
    schema = Schema(Type.ARRAY, True, values=part.schema.replace(optional=True))
    convert = part.convert
    return _Part(schema, list if convert is None else lambda values: [convert(value) for value in values])


def _with(schema: Schema, parameter: str, value: str) -> Schema:
    return schema.replace(parameters=tuple({**dict(schema.parameters), parameter: value}.items()))


def _underscored(name: str) -> str:
    """`ByName` gives `by_name`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _int(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _byte(value: int) -> int:
    return (value + 128) % 256 - 128


def _short(value: int) -> int:
    return (value + 32768) % 65536 - 32768


def _to_decimal(message: Any) -> Decimal:
    made = decimal_of(int.from_bytes(message.value, "big", signed=True), message.scale)
    if message.precision and len(made.as_tuple().digits) > message.precision:
        return Context(prec=message.precision, rounding="ROUND_HALF_UP").plus(made)
    return made


def _to_date(message: Any) -> dt.date:
    try:
        return dt.date(message.year, message.month, message.day)
    except ValueError as error:
        raise DataError(f"Invalid date {message.year}-{message.month}-{message.day}: {error}") from None


def _to_time(message: Any) -> dt.time:
    try:
        return dt.time(message.hours, message.minutes, message.seconds, message.nanos // 1_000_000 * 1000)
    except ValueError as error:
        raise DataError(f"Invalid time {message.hours}:{message.minutes}:{message.seconds}: {error}") from None


def _to_timestamp(message: Any) -> dt.datetime:
    return datetime_of(message.seconds * 1000 + message.nanos // 1_000_000)


_LOGICAL: dict[str, tuple[Schema, ToConnect]] = {
    known.DATE_TYPE: (DATE_SCHEMA, _to_date),
    known.TIME_TYPE: (TIME_SCHEMA, _to_time),
    known.TIMESTAMP_TYPE: (TIMESTAMP_SCHEMA, _to_timestamp),
}
