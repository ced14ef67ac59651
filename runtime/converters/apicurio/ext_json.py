"""Apicurio's ExtJsonConverter: payloads of JsonConverter, whose schemas are in the registry instead of envelopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema
from runtime.api.errors import ConfigError, DataError
from runtime.converters.apicurio.converter import ApicurioConverter
from runtime.converters.apicurio.options import apicurio_options
from runtime.converters.apicurio.wire import PrettyWire
from runtime.converters.json.columns import values_reader, values_writer
from runtime.converters.json.read import InexactError, reader
from runtime.converters.json.schema import read_schema, schema_json
from runtime.converters.json.text import dumps, loads, loads_exactly
from runtime.converters.json.write import WriteOptions, writer
from runtime.converters.registry.formats import Format, NativeSchema
from runtime.converters.registry.schemas import RegisteredSchema


def _url(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(f"Invalid value {value} for configuration {name}: set the URL of a registry")


class ConnectJsonFormat(Format):
    """Connect's own JSON form of schemas."""

    kind = "KCONNECT"
    write_error = "Converting Kafka Connect data to byte[] failed due to serialization error of topic {}: "
    read_error = "Converting byte[] to Kafka Connect data failed due to serialization error of topic {}: "

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def native(self, schema: Schema) -> NativeSchema:
        document = schema_json(schema, self._options)
        return NativeSchema(dumps(document).decode(), schema.name, document)

    def encoder(self, schema: Schema, native: NativeSchema, target: RegisteredSchema | None) -> ConnectJsonEncoder:
        return ConnectJsonEncoder(schema, self._options)

    def decoder(self, schema: RegisteredSchema, path: Sequence[int]) -> ConnectJsonDecoder:
        connect = read_schema(loads(schema.text.encode()))
        if connect is None:
            raise DataError(f"The artifact with the id {schema.id.number} has no schema")
        return ConnectJsonDecoder(connect)


class ExtJsonConverter(ApicurioConverter):
    """Messages are objects with `schemaId` and `payload`."""

    java_name = "io.apicurio.registry.utils.converter.ExtJsonConverter"
    config_def = apicurio_options(_url)
    kind = "KCONNECT"

    def _has_headers(self) -> bool:
        return False

    def _is_null(self, schema: Schema | None) -> bool:
        return schema is None

    def _made_format(self, parsed: Mapping[str, Any], is_key: bool) -> ConnectJsonFormat:
        return ConnectJsonFormat(WriteOptions(in_hash_order=is_key))

    def _made_wire(self, parsed: Mapping[str, Any], is_key: bool) -> PrettyWire:
        return PrettyWire()


class ConnectJsonEncoder:
    """Writes values of one schema."""

    path: Sequence[int] = ()

    def __init__(self, schema: Schema, options: WriteOptions) -> None:
        self._write, self._write_batch = writer(schema, options), values_writer(schema, options, b"", b"")

    def write(self, value: Any) -> bytes:
        return dumps(self._write(value))

    def write_batch(self, values: ValueBatch) -> list[bytes]:
        return self._write_batch(values)


class ConnectJsonDecoder:
    """Reads values of one registered schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.name: str | None = schema.name
        self._read, self._read_batch = reader(schema, True), values_reader(schema, True)

    def read(self, data: bytes) -> Any:
        try:
            return self._read(loads(data))
        except InexactError:
            return self._read(loads_exactly(data))

    def read_batch(self, data: Sequence[bytes]) -> ValueBatch:
        return self._read_batch(list(map(orjson.loads, data)))
