"""What a format of schemas and values (Avro, Protobuf, JSON Schema) implements for converters with a registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema
from runtime.converters.registry.schemas import RegisteredSchema


class NativeSchema(NamedTuple):
    """A schema in the format's terms: as text for the registry, its full name (if it has one), and parsed."""

    text: str
    name: str | None
    parsed: Any


class Encoder(Protocol):
    """Writes values of one schema. `path`: of the message type within the schema, for Protobuf."""

    path: Sequence[int]

    def write(self, value: Any) -> bytes:
        """The value without the prefix of the wire format."""

    def write_batch(self, values: ValueBatch) -> Sequence[bytes] | None:
        """As write(), for a batch; None if the values must be written one by one."""


class Decoder(Protocol):
    """Reads values of one schema. `name`: the full name of the schema, if it has one."""

    name: str | None
    schema: Schema

    def read(self, data: bytes) -> Any:
        """The value in a message without its prefix."""

    def read_batch(self, data: Sequence[bytes]) -> ValueBatch | None:
        """As read(), for a batch; None if the messages must be read one by one."""


class Format(ABC):
    """`kind`: the name in the registry; `has_path`: whether messages name their type within the schema. `write_error`
    and `read_error`: Confluent's messages, with the topic."""

    kind: ClassVar[str]
    has_path: ClassVar[bool] = False
    write_error: ClassVar[str]
    read_error: ClassVar[str]

    @abstractmethod
    def native(self, schema: Schema) -> NativeSchema:
        """The schema in the format's terms; DataError if the format cannot express it."""

    @abstractmethod
    def encoder(self, schema: Schema, native: NativeSchema, target: RegisteredSchema | None) -> Encoder:
        """`target`: the registered schema to write with; None: the native one."""

    @abstractmethod
    def decoder(self, schema: RegisteredSchema, path: Sequence[int]) -> Decoder:
        """The decoder for messages of the registered schema."""
