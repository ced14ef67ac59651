"""AvroConverter in Confluent's wire format: a zero byte, the schema's id in four bytes, and the value in Avro's binary
encoding.

It needs fastavro: `pip install 'headrace[avro]'`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import orjson

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.converter import Converter
from runtime.api.data.schema import Schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import ConfigError, DataError, RetriableError
from runtime.converters.avro.read import ToConnect, connect_schema
from runtime.converters.avro.registry import STORES, TLS, SchemaRegistryClient, registry_client
from runtime.converters.avro.schema import AvroSchemas
from runtime.converters.avro.target import TargetSchema
from runtime.converters.avro.union import UnionCodec
from runtime.converters.avro.write import FromConnect, value_writer
from runtime.converters.definitions import CONVERTER_TYPE

MAGIC = b"\x00"
_STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
_PACKAGE = "io.confluent.kafka.serializers.subject."
MISSING = "AvroConverter needs fastavro, which is not installed: pip install 'headrace[avro]'"


def _installed(name: str, value: Any) -> None:
    """Validator that reports a missing fastavro, or an empty list of registries."""
    if find_spec("fastavro") is None:
        raise ConfigError(MISSING)
    if not value:
        raise ConfigError(f"Invalid value {value} for configuration {name}: set the URL of a schema registry")


def _optional(name: str, type_: ConfigType, default: Any, doc: str) -> ConfigKey:
    return ConfigKey(name, type_, default, Importance.LOW, doc)


class AvroConverter(Converter):
    """Converts Connect's schemas to Avro's; `connect.*` properties keep metadata that Avro cannot express."""

    java_name = "io.confluent.connect.avro.AvroConverter"
    config_def = ConfigDef(
        CONVERTER_TYPE,
        ConfigKey("schema.registry.url", ConfigType.LIST, doc="URLs of schema registries, tried in order.",
             validator=_installed),
        _optional("auto.register.schemas", ConfigType.BOOLEAN, True, "Whether to register new schemas."),
        _optional(
            "use.latest.version", ConfigType.BOOLEAN, False, "Whether to write with the subject's latest schema."
        ),
        _optional(
            "key.subject.name.strategy", ConfigType.STRING, _STRATEGIES[0], "Strategy for the subjects of key schemas."
        ),
        _optional(
            "value.subject.name.strategy",
            ConfigType.STRING,
            _STRATEGIES[0],
            "Strategy for the subjects of value schemas.",
        ),
        _optional("basic.auth.credentials.source", ConfigType.STRING, "URL", "URL or USER_INFO."),
        _optional("basic.auth.user.info", ConfigType.PASSWORD, "", "user:password, if the source is USER_INFO."),
        _optional("bearer.auth.token", ConfigType.PASSWORD, "", "Token for bearer authentication."),
        *(_optional(f"{TLS}{name}", type_, default, doc) for name, type_, default, doc in STORES),
        _optional("schemas.cache.config", ConfigType.INT, 1000, "Ignored: all schemas in use are cached."),
        _optional("connect.meta.data", ConfigType.BOOLEAN, True, "Whether to write and read connect.* properties."),
        _optional("enhanced.avro.schema.support", ConfigType.BOOLEAN, False, "Whether to write enums as Avro enums."),
    )  # fmt: skip

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        if find_spec("fastavro") is None:
            raise ConfigError(MISSING)
        parsed = self.config_def.parse({"converter.type": "key" if is_key else "value", **config})
        part = "key" if is_key else "value"
        self._suffix, self._latest = part, parsed["use.latest.version"]
        self._strategy = _strategy(parsed[f"{part}.subject.name.strategy"])
        self._register = parsed["auto.register.schemas"] and not self._latest
        self._meta, self._enhanced = parsed["connect.meta.data"], parsed["enhanced.avro.schema.support"]
        self._registry: SchemaRegistryClient = registry_client(config, parsed)
        self._written = SchemaCache(self._written_as)
        self._read: dict[int, _Reader] = {}
        self._registration_disabled = False

    def disable_registration(self) -> None:
        """Stops registering schemas, for previews."""
        self._registration_disabled = True

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if schema is None:
            raise DataError("AvroConverter cannot convert a record without a schema")
        try:
            written = self._written.get(schema)
            return self._writer(topic, schema, written).write(value)
        except (DataError, RetriableError):
            raise
        except Exception as error:  # fastavro raises errors of many types
            raise DataError(f"Failed to serialize Avro data from topic {topic} :") from error

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        if len(data) < 5 or data[:1] != MAGIC:
            raise DataError(f"Failed to deserialize data for topic {topic} to Avro: Unknown magic byte!")
        try:
            number = int.from_bytes(data[1:5], "big")
            reader = self._read.get(number)
            if reader is None:
                reader = self._read[number] = self._reader(number)
            return reader.schema, reader.read(data)
        except (DataError, RetriableError):
            raise
        except Exception as error:  # fastavro raises errors of many types
            raise DataError(f"Failed to deserialize data for topic {topic} to Avro: ") from error

    def _written_as(self, schema: Schema) -> _Written:
        return _Written(AvroSchemas(self._meta, self._enhanced).avro(schema))

    def _writer(self, topic: str, schema: Schema, written: _Written) -> _Writer:
        subject = self._subject(topic, schema)
        writer = written.writers.get(subject)
        if writer is None:
            number, latest = self._number(subject, orjson.dumps(written.avro).decode())
            codec = UnionCodec()
            parsed = codec.parse(latest or written.avro)
            convert = value_writer(schema, TargetSchema(parsed, codec.named, own=not latest))
            writer = written.writers[subject] = _Writer(number, parsed, convert)
        return writer

    def _number(self, subject: str, text: str) -> tuple[int, Any]:
        """The id to write with, and the schema if it differs from the converted one."""
        if self._latest:
            return self._registry.latest(subject)
        if not self._register:
            return self._registry.lookup(subject, text), None
        if self._registration_disabled:
            return self._registry.lookup(subject, text, missing=0), None
        return self._registry.register(subject, text), None

    def _subject(self, topic: str, schema: Schema) -> str:
        if self._strategy == "TopicNameStrategy":
            return f"{topic}-{self._suffix}"
        if schema.name is None:
            raise DataError(f"{self._strategy} needs a schema name, which the {self._suffix} of topic {topic} lacks")
        return schema.name if self._strategy == "RecordNameStrategy" else f"{topic}-{schema.name}"

    def _reader(self, number: int) -> _Reader:
        document, named = self._registry.schema(number)
        schema, convert = connect_schema(document, named, self._meta)
        codec = UnionCodec()
        for other in named:
            codec.parse(other)
        return _Reader(schema, convert, codec.parse(document))


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """The Avro schema of a Connect schema, and its writers by subject."""

    avro: Any
    writers: dict[str, _Writer] = field(default_factory=dict)


class _Writer:
    """Writes the wire format for one schema id."""

    def __init__(self, number: int, parsed: Any, convert: FromConnect | None) -> None:
        from fastavro import schemaless_writer

        self._convert = convert
        self._head, self._parsed, self._write = MAGIC + number.to_bytes(4, "big"), parsed, schemaless_writer

    def write(self, value: Any) -> bytes:
        out = io.BytesIO()
        out.write(self._head)
        self._write(out, self._parsed, value if self._convert is None else self._convert(value))
        return out.getvalue()


class _Reader:
    """Reads the values of one registered schema."""

    def __init__(self, schema: Schema, convert: ToConnect | None, parsed: Any) -> None:
        from fastavro import schemaless_reader

        self.schema = schema
        self._convert, self._parsed, self._read = convert, parsed, schemaless_reader

    def read(self, data: bytes) -> Any:
        value = self._read(io.BytesIO(data[5:]), self._parsed, None)
        return value if self._convert is None else self._convert(value)


def _strategy(name: str) -> str:
    short = name.removeprefix(_PACKAGE)
    if short not in _STRATEGIES:
        raise ConfigError(f"Unknown subject name strategy {name}: use one of {', '.join(_STRATEGIES)}")
    return short
