"""Converters between Connect's data and the bytes of keys, values and headers in Kafka."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema

RawHeaders = list[tuple[str, bytes | None]]
"""Names and bytes of the headers of one record."""


class Converter(ABC):
    """Converts keys or values to bytes and back (Java: Converter)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()
    uses_headers: bool = False
    """Whether the worker calls the methods with headers, record by record, instead of the others (KIP-440)."""
    schema_header: str | None = None
    """The name of a header: records that have it are read with to_connect_with_headers(), even if `uses_headers` is
    False."""

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:  # noqa: B027 - optional hook
        """Called once, with the settings under `key.converter.` or `value.converter.`; ConfigError for invalid ones."""

    @abstractmethod
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes for Kafka, None for a null record key or value; DataError if the value cannot be converted."""

    @abstractmethod
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """The schema (or None) and value in bytes from Kafka; DataError if the bytes are malformed."""

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None] | None:
        """Like from_connect(), for a batch of values that share a schema: one result for each value.

        If this method returns None or raises, the worker calls from_connect() for each value."""
        return None

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        """Like to_connect(), for a batch of records whose values share a schema.

        If this method returns None or raises, the worker calls to_connect() for each record."""
        return None

    def schema_keys(self, data: Sequence[bytes]) -> Sequence[Hashable] | None:
        """One key for each record, equal for records that share a schema, so that the worker can split a batch that
        to_connect_batch() did not accept. None if the bytes do not show their schema."""
        return None

    def from_connect_with_headers(
        self, topic: str, headers: RawHeaders, schema: Schema | None, value: Any
    ) -> bytes | None:
        """Like from_connect(); may change `headers`, which are those of the message."""
        return self.from_connect(topic, schema, value)

    def to_connect_with_headers(self, topic: str, headers: RawHeaders, data: bytes | None) -> tuple[Schema | None, Any]:
        """Like to_connect(), with the headers of the message."""
        return self.to_connect(topic, data)

    def close(self) -> None:  # noqa: B027 - optional hook
        """Release the resources that configure() acquired. Called once, when the task has ended."""


class HeaderConverter(ABC):
    """Converts header values to bytes and back (Java: HeaderConverter)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional hook
        """Called once, with the settings under `header.converter.`; ConfigError if they are invalid."""

    @abstractmethod
    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of the header `key`; DataError if the value cannot be converted."""

    @abstractmethod
    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Schema and value of the header `key`; DataError if the bytes are malformed."""

    def close(self) -> None:  # noqa: B027 - optional hook
        """Release the resources that configure() acquired. Called once, when the task has ended."""
