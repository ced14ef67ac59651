"""JsonConverter reads and writes JSON, in envelopes with a schema (`schemas.enable`, the default) or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.config.validators import one_of_ignoring_case
from runtime.api.converter import Converter, HeaderConverter
from runtime.api.data.columns import MixedBatchError, ValueBatch, value_types
from runtime.api.data.schema import Schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.json.columns import values_reader, values_writer, write_maps
from runtime.converters.json.envelope import Envelopes, within_64_bits
from runtime.converters.json.read import InexactError, reader
from runtime.converters.json.schema import read_schema, schema_json
from runtime.converters.json.text import dumps, dumps_plain, dumps_unchanged, in_hash_order, loads, loads_exactly
from runtime.converters.json.write import WriteOptions, writer


class JsonConverter(Converter, HeaderConverter):
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
        found = map(dumps if dumps_unchanged(rows) else dumps_plain, rows)
        return [prefix + one + suffix for one in found]

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

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return self.to_connect(topic, data)


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
        found = loads(text.encode())
    except DataError as error:
        raise DataError("Failed to parse schema in converter config due to serialization error: ") from error
    return read_schema(found, fill)
