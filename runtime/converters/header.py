"""SimpleHeaderConverter, and the base of converters that convert headers as they convert values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from runtime.api.converter import Converter, HeaderConverter
from runtime.api.data.schema import Schema
from runtime.api.literals.literals import header_text, parse_literal
from runtime.converters.charset import charset

_UTF8 = charset("utf-8")


class SimpleHeaderConverter(HeaderConverter):
    """Writes strings unchanged and other values as literals. Parses numbers, booleans, dates, arrays and maps; any
    other text is a string."""

    java_name = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

    def configure(self, config: Mapping[str, str]) -> None:
        """Does nothing: this converter has no settings."""

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else _UTF8.encode(header_text(value, schema))

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return (None, None) if data is None else parse_literal(_UTF8.decode(data))


class ValueAndHeaderConverter(Converter, HeaderConverter):
    """A header is converted as a value is."""

    @abstractmethod
    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None: ...

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return self.to_connect(topic, data)
