"""The base of converters with a schema registry: which schema a message has, where its id is, and caches for both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from runtime.api.converter import Converter, RawHeaders
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import DataError, RetriableError
from runtime.converters.registry.client import SchemaRegistryClient
from runtime.converters.registry.formats import Decoder, Encoder, Format, NativeSchema
from runtime.converters.registry.options import DESERIALIZERS, SERIALIZERS, Subjects, http_client, id_class
from runtime.converters.registry.schemas import RegisteredSchema, SchemaId
from runtime.converters.registry.wire import ConfluentWire, Prefix, WireFormat, last_header

T = TypeVar("T")

_UNREGISTERED = SchemaId(0, "00000000-0000-0000-0000-000000000000")  # in previews


class SchemaRegistry(Protocol):
    """A client of a registry. DataError if it refuses a request, RetriableError if it is not available."""

    def register(self, subject: str, text: str) -> SchemaId:
        """The id of a schema, after registering it under the subject if necessary."""

    def lookup(self, subject: str, text: str, missing: SchemaId | None = None) -> SchemaId:
        """The id of a registered schema; if it is not registered, `missing`, or DataError."""

    def latest(self, subject: str) -> RegisteredSchema:
        """The subject's latest schema."""

    def schema(self, wanted: int | str) -> RegisteredSchema:
        """The schema of an id."""

    def version(self, subject: str, schema: RegisteredSchema) -> int | None:
        """The version that records have; None for none."""


@dataclass(frozen=True, slots=True)
class RegistrySetup:
    """A configured converter. `fixed`: the id of the schema to write with, -1 for none; `latest`: write with the
    subject's latest one. `dual`: headers are read, too."""

    format: Format
    wire: WireFormat
    registry: SchemaRegistry
    subject: Callable[[str, str | None], str]
    """The subject of a topic and the name of a schema."""
    close: Callable[[], None]
    register: bool
    latest: bool = False
    fixed: int = -1
    in_headers: bool = False
    dual: bool = True


class RegistryConverter(Converter):
    """Converts values with schemas of a registry. A subclass has the format and the options."""

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        parsed = self.config_def.parse({"converter.type": "key" if is_key else "value", **config})
        self._setup = setup = self._configured(config, parsed, is_key)
        self._registry, self._format, self._wire = setup.registry, setup.format, setup.wire
        self.uses_headers = setup.in_headers
        self.schema_header = setup.wire.header if setup.dual else None
        self._written = SchemaCache(lambda schema: _Written(self._format.native(schema)))
        self._readers: dict[tuple[str, bytes], _Reader] = {}
        self._registration_disabled = False

    @abstractmethod
    def _configured(self, given: Mapping[str, str], parsed: Mapping[str, Any], is_key: bool) -> RegistrySetup:
        """What the options say; ConfigError if they are invalid, or the format's library is not installed."""

    def close(self) -> None:
        self._setup.close()

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
            data = writer.prefix + writer.encoder.write(value) + writer.suffix
            headers.extend(header for header in writer.headers if last_header(headers, header[0]) != header[1])
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
        if data is None:
            return None
        prefix, suffix = writer.prefix, writer.suffix
        return [prefix + message + suffix for message in data] if suffix else [prefix + message for message in data]

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None

        def read() -> tuple[Schema, Any]:
            reader = self._reader(topic, data)
            return reader.decoder.schema, reader.decoder.read(data[reader.start : reader.end])

        return self._attempt(read, self._format.read_error, topic)

    def to_connect_with_headers(self, topic: str, headers: RawHeaders, data: bytes | None) -> tuple[Schema | None, Any]:
        head = None if self.schema_header is None else last_header(headers, self._wire.header)
        if head is None or data is None:
            return self.to_connect(topic, data)

        def read() -> tuple[Schema, Any]:
            decoder = self._of_prefix(topic, self._prefix(topic, head, self._wire.read_header)).decoder
            return decoder.schema, decoder.read(data)

        return self._attempt(read, self._format.read_error, topic)

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        reader = self._reader(topic, data[0])
        start, end = reader.start, reader.end
        head = data[0][:start]
        if not all(message.startswith(head) for message in data):
            return None
        return reader.decoder.read_batch([message[start:end] for message in data])

    def schema_keys(self, data: Sequence[bytes]) -> Sequence[Hashable] | None:
        if self._format.has_path or not self._wire.usual:
            return [self._wire.read(message).data for message in data]
        return [message[: self._wire.usual] for message in data]

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
            number, target = self._target(self._setup.subject(topic, written.native.name), written.native)
            encoder = self._format.encoder(schema, written.native, target)
            if self._setup.in_headers:
                writer = _Writer(b"", b"", self._wire.headers(number, encoder.path), encoder)
            else:
                writer = _Writer(self._wire.prefix(number, encoder.path), self._wire.suffix, [], encoder)
            written.writers[topic] = writer
        return writer

    def _target(self, subject: str, native: NativeSchema) -> tuple[SchemaId, RegisteredSchema | None]:
        """The id to write with, and the schema if it differs from the native one. As in Confluent's converters, a
        schema that may be registered is."""
        setup, registry = self._setup, self._registry
        if setup.register and self._registration_disabled:
            return registry.lookup(subject, native.text, _UNREGISTERED), None
        if setup.register:
            return registry.register(subject, native.text), None
        if setup.fixed >= 0 or setup.latest:
            target = registry.schema(setup.fixed) if setup.fixed >= 0 else registry.latest(subject)
            return target.id, target
        return registry.lookup(subject, native.text), None

    def _reader(self, topic: str, data: bytes) -> _Reader:
        reader = self._readers.get((topic, data[: self._wire.usual]))
        if reader is None:
            reader = self._of_prefix(topic, self._prefix(topic, data, self._wire.read))
        return reader

    def _prefix(self, topic: str, data: bytes, read: Callable[[bytes], Prefix]) -> Prefix:
        try:
            return read(data)
        except DataError as error:
            raise DataError(self._format.read_error.format(topic) + str(error)) from None

    def _of_prefix(self, topic: str, prefix: Prefix) -> _Reader:
        """A schema without a version of its own has that of the registry, as in Confluent's converters."""
        reader = self._readers.get((topic, prefix.data))
        if reader is None:
            registered = self._registry.schema(prefix.schema)
            decoder = self._format.decoder(registered, prefix.path)
            if decoder.schema.version is None:
                version = self._registry.version(self._setup.subject(topic, decoder.name), registered)
                decoder.schema = decoder.schema.replace(version=version)
            reader = _Reader(decoder, len(prefix.data), -len(self._wire.suffix) or None)
            self._readers[topic, prefix.data] = reader
        return reader


class ConfluentConverter(RegistryConverter):
    """A converter with Confluent's registry and options (registry_options())."""

    def _configured(self, given: Mapping[str, str], parsed: Mapping[str, Any], is_key: bool) -> RegistrySetup:
        part = "key" if is_key else "value"
        form, http = self._made_format(parsed), http_client(given, parsed)
        latest, fixed = parsed["use.latest.version"], parsed["use.schema.id"]
        return RegistrySetup(
            form,
            ConfluentWire(is_key, form.has_path),
            SchemaRegistryClient(http, form.kind, parsed["normalize.schemas"]),
            Subjects(parsed[f"{part}.subject.name.strategy"], part).subject,
            http.close,
            register=parsed["auto.register.schemas"],
            latest=latest,
            fixed=fixed,
            in_headers=id_class(parsed, f"{part}.schema.id.serializer", SERIALIZERS) == SERIALIZERS[1],
            dual=id_class(parsed, f"{part}.schema.id.deserializer", DESERIALIZERS) == DESERIALIZERS[0],
        )

    @abstractmethod
    def _made_format(self, parsed: Mapping[str, Any]) -> Format:
        """The format, configured."""


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """The native form of a schema, and its writers by topic."""

    native: NativeSchema
    writers: dict[str, _Writer] = field(default_factory=dict)


class _Writer(NamedTuple):
    prefix: bytes
    suffix: bytes
    headers: RawHeaders
    encoder: Encoder


class _Reader(NamedTuple):
    decoder: Decoder
    start: int
    end: int | None
