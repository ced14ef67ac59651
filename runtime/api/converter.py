"""Converters between Connect's data and the bytes in Kafka."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema


class Converter(ABC):
    """Turns keys or values into bytes and back (Connect: Converter)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:  # noqa: B027 - optional hook
        """Called once, with the keys behind `key.converter.` or `value.converter.`."""

    @abstractmethod
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Bytes for Kafka; DataError when the value cannot be converted."""

    @abstractmethod
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Schema and value of bytes from Kafka; DataError when they are malformed."""

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None] | None:
        """The same for many values at once. None, or any exception: they are converted one by one instead."""
        return None

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        """The same for many records at once, all of one schema. None, or any exception: one by one instead."""
        return None

    def schema_keys(self, data: Sequence[bytes]) -> Sequence[Hashable] | None:
        """Of records that cannot be taken at once: what tells those of different schemas apart. None: nothing does."""
        return None


class HeaderConverter(ABC):
    """Turns header values into bytes and back (Connect: HeaderConverter)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional hook
        """Called once, with the keys behind `header.converter.`."""

    @abstractmethod
    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None: ...

    @abstractmethod
    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]: ...
