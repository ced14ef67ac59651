"""ByteArrayConverter passes bytes through unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.data.class_names import java_class
from runtime.api.data.schema import OPTIONAL_BYTES_SCHEMA, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.header import ValueAndHeaderConverter


class ByteArrayConverter(ValueAndHeaderConverter):
    """Passes bytes through; DataError for other values."""

    java_name = "org.apache.kafka.connect.converters.ByteArrayConverter"
    config_def = ConfigDef(CONVERTER_TYPE)

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        """Does nothing: this converter has no settings."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is not None and not isinstance(value, bytes | bytearray | memoryview):
            raise DataError(f"ByteArrayConverter is not compatible with objects of type class {java_class(value)}")
        return None if value is None else bytes(value)

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return OPTIONAL_BYTES_SCHEMA, data
