"""Decodes keys and values for people, as the converters of a connector would, or by the form of the bytes.

The worker's default converters are not known to its clients: where a connector configures none, the form is guessed.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any, NamedTuple
from uuid import UUID

from tui.errors import HeadraceError
from tui.topics import exact_json, registry
from tui.topics.byte_views import ByteView, best_view, indented, plain_bytes, shown
from tui.topics.records import TopicRecord
from tui.topics.registry import RegisteredSchema, RegistryAddress, SchemaRegistry

Json = Any
_WIRE = struct.Struct(">bI")  # Confluent's header: a zero byte, and the number of the schema
_NUMBERS = {"Short": ">h", "Integer": ">i", "Long": ">q", "Float": ">f", "Double": ">d"}
_WITH_SCHEMA = ("AvroConverter", "JsonSchemaConverter", "ProtobufConverter")  # converters that use a registry


class Decoded(NamedTuple):
    """A decoded key or value. `form` names the format; `note` says why the bytes are not decoded as configured."""

    value: Json
    form: str
    note: str = ""

    @property
    def line(self) -> str:
        """The value on one line."""
        if self.value is None:
            return "null"
        return self.value if isinstance(self.value, str) else exact_json.dumps(self.value, ensure_ascii=False)

    @property
    def is_structured(self) -> bool:
        return isinstance(self.value, dict | list)

    @property
    def text(self) -> str:
        """The value on several lines."""
        return indented(self.line) if self.is_structured else self.line


class DecodedRecord(NamedTuple):
    """A record with its decoded parts."""

    record: TopicRecord
    key: Decoded
    value: Decoded
    headers: tuple[tuple[str, Decoded], ...]

    def as_json(self) -> Json:
        """The record as commands print it; headers as pairs, since their names may repeat."""
        notes = {part: decoded.note for part, decoded in (("key", self.key), ("value", self.value)) if decoded.note}
        record = self.record
        return {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": self.key.value,
            "value": self.value.value,
            "headers": [[name, part.value] for name, part in self.headers],
            **({"notes": notes} if notes else {}),
        }

    def contains(self, text: str) -> bool:
        """Whether key, value or a header contain the text; case does not matter."""
        wanted = text.casefold()
        parts = [self.key.line, self.value.line, *(f"{name} {part.line}" for name, part in self.headers)]
        return any(wanted in part.casefold() for part in parts)


Decode = Callable[[bytes], Decoded]
Registries = tuple[SchemaRegistry | None, SchemaRegistry | None]  # of keys and of values


class RecordDecoder:
    """Decodes records. `key` and `value` are converter classes, empty to guess the form."""

    def __init__(self, key: str = "", value: str = "", registries: Registries = (None, None)) -> None:
        self.classes = key, value
        self._key, self._value = _decoder(key, registries[0]), _decoder(value, registries[1])

    def decoded(self, record: TopicRecord) -> DecodedRecord:
        headers = tuple((name, _part(value, _guessed(None))) for name, value in record.headers)
        return DecodedRecord(record, _part(record.key, self._key), _part(record.value, self._value), headers)

    @property
    def name(self) -> str:
        """The converters in a few words: `String`, or `key String, value Avro`; empty if the form is guessed."""
        key, value = (cls.rpartition(".")[2].removesuffix("Converter") or "guessed" for cls in self.classes)
        if not any(self.classes):
            return ""
        return value if key == value else f"key {key}, value {value}"


def decoder(
    config: Mapping[str, str], context_registry: Mapping[str, str], key: str = "", value: str = ""
) -> RecordDecoder:
    """The decoder for the converters of a connector's config, or for `key` and `value`: classes or their short names.
    The registry of the context, with resolved secrets, takes precedence over that of the config."""
    known = registry.of_context(context_registry)
    addresses = {
        part: known or registry.of_converter(_of_prefix(config, f"{part}.converter.")) for part in ("key", "value")
    }
    clients: dict[RegistryAddress, SchemaRegistry] = {
        registry: SchemaRegistry(registry) for registry in addresses.values() if registry
    }
    registries = tuple(clients[address] if (address := addresses[part]) else None for part in ("key", "value"))
    return RecordDecoder(
        key or config.get("key.converter", ""),
        value or config.get("value.converter", ""),
        (registries[0], registries[1]),
    )


def _of_prefix(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}


def _part(data: bytes | None, decode: Decode) -> Decoded:
    return Decoded(None, "null") if data is None else decode(data)


def _decoder(cls: str, schemas: SchemaRegistry | None) -> Decode:
    """The decoder of a converter class; bytes that do not fit are guessed, with the reason as a note."""
    name = cls.rpartition(".")[2].removesuffix("Converter")
    guess = _guessed(schemas)
    decode = _BY_NAME.get(name)
    if f"{name}Converter" in _WITH_SCHEMA:
        decode = _registered(schemas)
    if decode is None:
        return guess

    def decoded(data: bytes) -> Decoded:
        try:
            return decode(data)
        except (ValueError, struct.error, HeadraceError) as error:
            decoded = _guessed(None)(data)
            return decoded._replace(note=f"not decoded by {name}Converter: {error}")

    return decoded


def _guessed(schemas: SchemaRegistry | None) -> Decode:
    """JSON, text or bytes; with a registry, also values that begin with the number of a known schema."""
    registered = _registered(schemas) if schemas is not None else None

    def decode(data: bytes) -> Decoded:
        note = ""
        if registered is not None and len(data) > _WIRE.size and data[0] == 0:
            try:
                return registered(data)
            except (ValueError, HeadraceError) as error:
                note = str(error)
        view = best_view(data)
        if view is ByteView.JSON:
            return Decoded(exact_json.loads(data), "JSON", note)
        if view is ByteView.TEXT:
            return Decoded(data.decode(), "text", note)
        return Decoded(plain_bytes(data), "bytes", note)

    return decode


def _json(data: bytes) -> Decoded:
    """JSON; of an envelope with a schema, the payload."""
    value = exact_json.loads(data)
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        return Decoded(value["payload"], "JSON with schema")
    return Decoded(value, "JSON")


def _string(data: bytes) -> Decoded:
    return Decoded(data.decode(), "text")


def _bytes(data: bytes) -> Decoded:
    return Decoded(plain_bytes(data), "bytes")


def _boolean(data: bytes) -> Decoded:
    if data not in (b"\x00", b"\x01"):
        raise ValueError(f"expected one byte 0 or 1, got {shown(data, ByteView.HEX, 16)}")
    return Decoded(data == b"\x01", "boolean")


def _number(name: str, layout: str) -> Decode:
    return lambda data: Decoded(struct.unpack(layout, data)[0], name.lower())


_BY_NAME: dict[str, Decode] = {
    "Json": _json,
    "String": _string,
    "ByteArray": _bytes,
    "Boolean": _boolean,
    **{name: _number(name, layout) for name, layout in _NUMBERS.items()},
}


def _registered(schemas: SchemaRegistry | None) -> Decode:
    """Values of Confluent's wire format; raises ValueError for other bytes."""
    parsed: dict[int, Any] = {}

    def decode(data: bytes) -> Decoded:
        if len(data) < _WIRE.size or data[0] != 0:
            raise ValueError("the bytes do not begin with a schema id")
        number, rest = _WIRE.unpack(data[: _WIRE.size])[1], data[_WIRE.size :]
        if schemas is None:
            raise HeadraceError(
                f"no schema registry is configured for schema {number}", "set [contexts.NAME.schema-registry] url"
            )
        schema = schemas.schema(number)
        if schema.kind == "JSON":
            return Decoded(exact_json.loads(rest), f"JSON, schema {number}")
        if schema.kind != "AVRO":
            raise ValueError(f"schema {number} is {schema.kind.capitalize()}, which is not decoded")
        if number not in parsed:
            parsed[number] = registry.avro_schema(schema)
        return Decoded(_avro(rest, parsed[number], schema), f"Avro, schema {number}")

    return decode


def _avro(data: bytes, parsed: Any, schema: RegisteredSchema) -> Json:
    from fastavro import schemaless_reader

    stream = BytesIO(data)
    try:
        value = schemaless_reader(stream, parsed, None)
    except Exception as error:  # fastavro raises errors of many types for bytes that do not fit
        raise ValueError(f"the bytes do not fit schema {schema.number}: {error!r}") from error
    if stream.read(1):
        raise ValueError(f"there are extra bytes after the value of schema {schema.number}")
    return as_json(value)


def as_json(value: Any) -> Json:
    """A value of Avro's logical types as JSON: times as text, decimals as text, bytes as in `plain_bytes`."""
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, bytes):
        return value.decode() if value.isascii() and value.decode().isprintable() else {"base64": _b64(value)}
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | UUID) else value


def _b64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")
