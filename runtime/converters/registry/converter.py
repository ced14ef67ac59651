"""The base of converters with a schema registry: which schema a message has, where its id is, and caches for both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from runtime.api.converter import Converter, RawHeaders
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError, RetriableError
from runtime.converters.registry.client import SchemaRegistryClient
from runtime.converters.registry.formats import Decoder, Encoder, Format, NativeSchema
from runtime.converters.registry.options import DESERIALIZERS, SERIALIZERS, http_client, id_class
from runtime.converters.registry.schemas import RegisteredSchema, SchemaId
from runtime.converters.registry.subjects import Subjects
from runtime.converters.registry.wire import (
    Prefix,
    guid_prefix,
    id_header,
    last_header,
    number_prefix,
    path_bytes,
    read_prefix,
)

T = TypeVar("T")

_UNREGISTERED = SchemaId(0, "00000000-0000-0000-0000-000000000000")  # in previews


class RegistryConverter(Converter):
    """Converts values with schemas of Confluent's registry. A subclass has the format and the options."""

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        part = "key" if is_key else "value"
        parsed = self.config_def.parse({"converter.type": part, **config})
        self._format = self._made_format(parsed)
        self._subjects = Subjects(parsed[f"{part}.subject.name.strategy"], part)
        self._latest, self._fixed = parsed["use.latest.version"], parsed["use.schema.id"]
        self._register = parsed["auto.register.schemas"] and not self._latest and self._fixed < 0
        self._in_headers = id_class(parsed, f"{part}.schema.id.serializer", SERIALIZERS) == SERIALIZERS[1]
        dual = id_class(parsed, f"{part}.schema.id.deserializer", DESERIALIZERS) == DESERIALIZERS[0]
        self._header = id_header(is_key)
        self.uses_headers = self._in_headers
        self.schema_header = self._header if dual else None
        self._http = http_client(config, parsed)
        self._registry = SchemaRegistryClient(self._http, self._format.kind, parsed["normalize.schemas"])
        self._written = SchemaCache(lambda schema: _Written(self._format.native(schema)))
        self._readers: dict[tuple[str, bytes], _Reader] = {}
        self._usual = 5 + len(path_bytes((0,) if self._format.has_path else ()))
        self._registration_disabled = False

    @abstractmethod
    def _made_format(self, parsed: Mapping[str, Any]) -> Format:
        """The format, configured; ConfigError if its library is not installed."""

    def close(self) -> None:
        self._http.close()

    def disable_registration(self) -> None:
        """Stops registering schemas, for previews."""
        self._registration_disabled = True

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_with_headers(topic, [], schema, value)

    def from_connect_with_headers(
        self, topic: str, headers: RawHeaders, schema: Schema | None, value: Any
    ) -> bytes | None:
        if value is None and self._is_null(schema):
            return None
        if schema is None:
            raise DataError(f"{type(self).__name__} cannot convert a record without a schema")

        def write() -> bytes:
            writer = self._writer(topic, schema)
            data = writer.prefix + writer.encoder.write(value)
            if writer.header is not None and last_header(headers, self._header) != writer.header:
                headers.append((self._header, writer.header))
            return data

        return self._attempt(write, self._format.write_error, topic)

    def _is_null(self, schema: Schema | None) -> bool:
        """Whether a null of this schema is a message without a value."""
        return True

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None] | None:
        if values.schema is None or values.all_null is not False:
            return None
        writer = self._writer(topic, values.schema)
        data = writer.encoder.write_batch(values)
        return None if data is None else [writer.prefix + message for message in data]

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None

        def read() -> tuple[Schema, Any]:
            reader = self._reader(topic, data)
            return reader.decoder.schema, reader.decoder.read(data[reader.start :])

        return self._attempt(read, self._format.read_error, topic)

    def to_connect_with_headers(self, topic: str, headers: RawHeaders, data: bytes | None) -> tuple[Schema | None, Any]:
        head = None if self.schema_header is None else last_header(headers, self._header)
        if head is None or data is None:
            return self.to_connect(topic, data)

        def read() -> tuple[Schema, Any]:
            decoder = self._reader(topic, head).decoder
            return decoder.schema, decoder.read(data)

        return self._attempt(read, self._format.read_error, topic)

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        reader = self._reader(topic, data[0])
        start = reader.start
        head = data[0][:start]
        if not all(message.startswith(head) for message in data):
            return None
        return reader.decoder.read_batch([message[start:] for message in data])

    def schema_keys(self, data: Sequence[bytes]) -> Sequence[Hashable] | None:
        if self._format.has_path:
            return [read_prefix(message, True).data for message in data]
        return [message[: self._usual] for message in data]

    @staticmethod
    def _attempt(convert: Callable[[], T], message: str, topic: str) -> T:
        """Converts one value; errors of the format's library become a DataError."""
        try:
            return convert()
        except (DataError, RetriableError):
            raise
        except Exception as error:
            raise DataError(message.format(topic)) from error

    def _writer(self, topic: str, schema: Schema) -> _Writer:
        written = self._written.get(schema)
        writer = written.writers.get(topic)
        if writer is None:
            subject = self._subjects.subject(topic, written.native.name)
            number, target = self._target(subject, written.native)
            encoder = self._format.encoder(schema, written.native, target)
            if self._in_headers:
                writer = _Writer(b"", guid_prefix(number, encoder.path), encoder)
            else:
                writer = _Writer(number_prefix(number, encoder.path), None, encoder)
            written.writers[topic] = writer
        return writer

    def _target(self, subject: str, native: NativeSchema) -> tuple[SchemaId, RegisteredSchema | None]:
        """The id to write with, and the schema if it differs from the native one."""
        if self._fixed >= 0 or self._latest:
            target = self._registry.schema(self._fixed) if self._fixed >= 0 else self._registry.latest(subject)
            return target.id, target
        if not self._register:
            return self._registry.lookup(subject, native.text), None
        if self._registration_disabled:
            return self._registry.lookup(subject, native.text, _UNREGISTERED), None
        return self._registry.register(subject, native.text), None

    def _reader(self, topic: str, data: bytes) -> _Reader:
        reader = self._readers.get((topic, data[: self._usual]))
        if reader is None:
            prefix = self._prefix(topic, data)
            reader = self._readers.get((topic, prefix.data))
            if reader is None:
                reader = self._readers[topic, prefix.data] = self._new_reader(topic, prefix)
        return reader

    def _prefix(self, topic: str, data: bytes) -> Prefix:
        try:
            return read_prefix(data, self._format.has_path)
        except DataError as error:
            raise DataError(self._format.read_error.format(topic) + str(error)) from None

    def _new_reader(self, topic: str, prefix: Prefix) -> _Reader:
        """A schema without a version of its own has that of the registry, as in Confluent's converters."""
        registered = self._registry.schema(prefix.schema)
        decoder = self._format.decoder(registered, prefix.path)
        if decoder.schema.version is None:
            version = self._registry.version(self._subjects.subject(topic, decoder.name), registered)
            decoder.schema = decoder.schema.replace(version=version)
        return _Reader(decoder, len(prefix.data))


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """The native form of a schema, and its writers by topic."""

    native: NativeSchema
    writers: dict[str, _Writer] = field(default_factory=dict)


class _Writer(NamedTuple):
    prefix: bytes
    header: bytes | None
    encoder: Encoder


class _Reader(NamedTuple):
    decoder: Decoder
    start: int
