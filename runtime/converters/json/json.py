"""JsonConverter reads and writes JSON, in envelopes with a schema (`schemas.enable`, the default) or without."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.config.validators import one_of_ignoring_case
from runtime.api.data.columns import MixedBatchError, ValueBatch, value_types
from runtime.api.data.schema import Schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.header import ValueAndHeaderConverter
from runtime.converters.json.columns import values_reader, values_writer, write_maps
from runtime.converters.json.read import InexactError, reader
from runtime.converters.json.schema import read_schema, schema_json
from runtime.converters.json.text import dumps, dumps_plain, dumps_unchanged, in_hash_order, loads, loads_exactly
from runtime.converters.json.write import WriteOptions, writer

# Envelopes: JSON objects with a schema and a payload. Messages of one producer usually share the bytes of the
# schema.
_NO_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_OPENING, _PAYLOAD = b'{"schema":', b',"payload":'
_SCHEMA_KEY, _PAYLOAD_KEY = re.compile(rb'\{\s*"schema"\s*:'), re.compile(rb'"payload"\s*:\s*')
_TRIES = 3  # the schema may contain the word, too
_CLOSING = ord("}")


class Envelopes:
    """Splits envelopes and caches their schemas, so that equal schemas are one object."""

    def __init__(self, size: int, fill: bool) -> None:
        self._size, self._fill = max(size, 1), fill
        self._known: dict[bytes, Schema] = {}
        self._prefixes: dict[bytes, bytes] = {}
        self._prefix, self._length = b"", 0
        self._schema: Schema | None = None

    def split(self, data: bytes) -> tuple[Schema | None, Any] | None:
        """Schema and payload of an envelope that starts like the previous one; otherwise None."""
        if self._length and data.startswith(self._prefix) and data.endswith(b"}"):
            try:
                return self._schema, orjson.loads(data[self._length : -1])
            except orjson.JSONDecodeError:  # more fields after the payload, or invalid JSON
                return None
        return None

    def split_batch(self, data: Sequence[bytes]) -> tuple[Schema, list[Any]] | None:
        """The schema and payloads of envelopes that share the bytes before the payload; None for others. Raises
        JSONDecodeError for invalid JSON."""
        if self.split(data[0]) is None:
            self.read(data[0])
        schema, prefix, length, loads = self._schema, self._prefix, self._length, orjson.loads
        if schema is None or not data[0].startswith(prefix):
            return None
        values = [
            loads(message[length:-1]) for message in data if message.startswith(prefix) and message[-1] == _CLOSING
        ]
        return (schema, values) if len(values) == len(data) else None

    def beginnings(self, data: Sequence[bytes]) -> Sequence[bytes]:
        """The part of each envelope before its payload."""
        return [message[: message.find(b'"payload":')] for message in data]

    def read(self, data: bytes) -> tuple[Schema | None, Any]:
        """Schema and payload of any envelope; DataError if it is invalid."""
        try:
            value, exact = orjson.loads(data), True
        except orjson.JSONDecodeError:
            value, exact = loads(data), False
        if type(value) is not dict or len(value) != 2 or "schema" not in value or "payload" not in value:
            raise DataError(_NO_ENVELOPE)
        if value["schema"] is None:
            return None, value["payload"]
        return (self._known_schema(data, value) if exact else self._new_schema(data, value)), value["payload"]

    def _known_schema(self, data: bytes, value: Any) -> Schema | None:
        key = orjson.dumps(value["schema"])
        schema = self._known.get(key)
        if schema is None:
            if len(self._known) >= self._size:
                self._known.clear()
                self._prefixes.clear()
            try:
                schema = read_schema(value["schema"], self._fill)
            except InexactError:
                return self._new_schema(data, value)
            assert schema is not None
            self._known[key] = schema
        self._remember(data, key, schema)
        return schema

    def _new_schema(self, data: bytes, value: Any) -> Schema | None:
        """Reads a schema that orjson cannot serialize: with an infinite default or a lone surrogate."""
        try:
            return read_schema(value["schema"], self._fill)
        except InexactError:  # a decimal default
            return read_schema(loads_exactly(data)["schema"], self._fill)

    def _remember(self, data: bytes, key: bytes, schema: Schema) -> None:
        """Remembers the bytes before the payload."""
        prefix = self._prefixes.get(key)
        if not prefix or not data.startswith(prefix):
            prefix = self._prefixes[key] = _before_payload(data, key)
        if prefix:
            self._prefix, self._length, self._schema = prefix, len(prefix), schema


def _before_payload(data: bytes, key: bytes) -> bytes:
    """The bytes before the payload, with any spaces between the parts; empty if it is not behind the schema.
    `key`: the schema as orjson writes it."""
    prefix = _OPENING + key + _PAYLOAD
    if data.startswith(prefix):
        return prefix
    if _SCHEMA_KEY.match(data) is None:
        return b""
    for match in islice(_PAYLOAD_KEY.finditer(data), _TRIES):
        prefix = data[: match.end()]
        try:
            envelope = orjson.loads(prefix + b"null}")
        except orjson.JSONDecodeError:
            continue
        if list(envelope) == ["schema", "payload"] and orjson.dumps(envelope["schema"]) == key:
            return prefix
    return b""


def within_64_bits(value: Any, data: bytes, enveloped: bool) -> Any:
    """A value without a schema as Java reads it: whole numbers wrap around at 64 bits, and -0.0 becomes 0.0."""
    if type(value) is float:
        if abs(value) < 2.0**63:
            return value + 0.0
        exact = loads_exactly(data)
        if type(whole := exact["payload"] if enveloped else exact) is not int:
            return value
        value = whole
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        return (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return value


class JsonConverter(ValueAndHeaderConverter):
    """Without schemas, values are int, float, bool, str, dict and list."""

    java_name = "org.apache.kafka.connect.json.JsonConverter"
    config_def = ConfigDef(
        CONVERTER_TYPE,
        *grouped("Schemas", 0,
            ConfigKey("schemas.enable", ConfigType.BOOLEAN, True, Importance.HIGH, "Whether messages are envelopes: "
                 "objects with the fields schema and payload.", width=Width.MEDIUM, display_name="Enable Schemas"),
            ConfigKey("schemas.cache.size", ConfigType.INT, 1000, Importance.HIGH,
                 "Maximum number of schemas in the cache.", width=Width.MEDIUM, display_name="Schema Cache Size"),
            ConfigKey("schema.content", ConfigType.STRING, None, Importance.HIGH, "Schema, in JSON, of messages that "
                 "are plain payloads.", width=Width.MEDIUM, display_name="Schema Content"),
        ),
        *grouped("Serialization", 0,
            ConfigKey("decimal.format", ConfigType.STRING, "BASE64", Importance.LOW, "Format of decimals: BASE64 (the "
                 "unscaled bytes) or NUMERIC (a JSON number).", one_of_ignoring_case("NUMERIC", "BASE64"),
                 width=Width.MEDIUM, display_name="Decimal Format"),
            ConfigKey("replace.null.with.default", ConfigType.BOOLEAN, True, Importance.LOW,
                 "Whether to replace nulls with the default of their schema.", width=Width.MEDIUM,
                 display_name="Replace null with default"),
        ),
    )  # fmt: skip

    def __init__(self) -> None:
        self._apply(self.config_def.parse({"converter.type": "value"}))

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        self._apply(self.config_def.parse({"converter.type": "key" if is_key else "value", **config}))

    def _apply(self, parsed: Mapping[str, Any]) -> None:
        self._schemas: bool = parsed["schemas.enable"]
        fill: bool = parsed["replace.null.with.default"]
        self._in_hash_order = parsed["converter.type"] == "key"
        options = WriteOptions(fill, parsed["decimal.format"].upper() == "NUMERIC", self._in_hash_order)
        self._written = SchemaCache(lambda schema: _Written(schema, options, self._schemas))
        self._read = SchemaCache(lambda schema: reader(schema, fill))
        self._batch_readers = SchemaCache(lambda schema: values_reader(schema, fill))
        self._batch_writers = SchemaCache(lambda schema: self._writer_of_many(schema, options))
        self._envelopes = Envelopes(parsed["schemas.cache.size"], fill)
        content = _content(parsed["schema.content"], fill)
        self._content = content if self._schemas else None

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None:
            if value is None:
                return None
            data = dumps_plain(in_hash_order(value) if self._in_hash_order else value)
            return b'{"schema":null,"payload":' + data + b"}" if self._schemas else data
        written = self._written.get(schema)
        if self._schemas:
            return written.prefix + dumps(written.write(value)) + b"}"
        return dumps(written.write(value))

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        if self._content is not None:
            return self._content, self._payload(self._content, loads(data), data, enveloped=False)
        if not self._schemas:
            value = loads(data)
            return None, value if type(value) is dict or type(value) is str else within_64_bits(value, data, False)
        if (known := self._envelopes.split(data)) is not None:
            schema, payload = known
        else:
            schema, payload = self._envelopes.read(data)
        if schema is None:
            return None, within_64_bits(payload, data, True)
        return schema, self._payload(schema, payload, data, enveloped=True)

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None] | None:
        schema = values.schema
        if schema is not None:
            return self._batch_writers.get(schema)(values)
        prefix, suffix = (b'{"schema":null,"payload":', b"}") if self._schemas else (b"", b"")
        try:
            return write_maps(values, prefix, suffix, self._in_hash_order)
        except MixedBatchError:
            rows = values.rows
        if None in rows:
            return None
        if self._in_hash_order:
            rows = list(map(in_hash_order, rows))
        texts = map(dumps if dumps_unchanged(rows) else dumps_plain, rows)
        return [prefix + text + suffix for text in texts]

    def _writer_of_many(self, schema: Schema, options: WriteOptions) -> Callable[[ValueBatch], list[bytes]]:
        prefix = self._written.get(schema).prefix
        return values_writer(schema, options, prefix, b"}" if self._schemas else b"")

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        if self._content is not None:
            return None
        if not self._schemas:
            rows = list(map(orjson.loads, data))
            return ValueBatch(None, rows) if value_types(rows) <= {dict, str} else None
        if (known := self._envelopes.split_batch(data)) is None:
            return None
        schema, payloads = known
        return self._batch_readers.get(schema)(payloads)

    def schema_keys(self, data: Sequence[bytes]) -> Sequence[bytes] | None:
        return self._envelopes.beginnings(data) if self._schemas and self._content is None else None

    def _payload(self, schema: Schema, payload: Any, data: bytes, enveloped: bool) -> Any:
        read = self._read.get(schema)
        try:
            return read(payload)
        except InexactError:
            exact = loads_exactly(data)
            return read(exact["payload"] if enveloped else exact)


class _Written:
    """Writer and envelope of a schema."""

    __slots__ = ("prefix", "write")

    def __init__(self, schema: Schema, options: WriteOptions, enveloped: bool) -> None:
        self.write = writer(schema, options)
        self.prefix = b'{"schema":' + dumps(schema_json(schema, options)) + b',"payload":' if enveloped else b""


def _content(text: str | None, fill: bool) -> Schema | None:
    if not text:
        return None
    try:
        document = loads(text.encode())
    except DataError as error:
        raise DataError("Failed to parse schema in converter config due to serialization error: ") from error
    try:
        return read_schema(document, fill)
    except InexactError:  # a decimal default
        return read_schema(loads_exactly(text.encode()), fill)
