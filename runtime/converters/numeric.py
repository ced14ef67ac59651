"""Converters of numbers and booleans to big-endian bytes of fixed width."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, ClassVar

from runtime.api.config.definition import ConfigDef
from runtime.api.data.class_names import java_class
from runtime.api.data.java_text import single_value
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.header import ValueAndHeaderConverter


class _FixedWidth(ValueAndHeaderConverter):
    """Converts values of one type. Nulls are unchanged."""

    config_def = ConfigDef(CONVERTER_TYPE)
    _type: ClassVar[Type]
    _name: ClassVar[str]
    _format: ClassVar[struct.Struct]
    _python: ClassVar[type]

    def __init__(self) -> None:
        self._schema = Schema(self._type, optional=True)

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        """Does nothing: this converter has no settings."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if type(value) is not self._python or (schema is not None and schema.type is not self._type):
            raise self._unsuitable(schema, value)
        if value != value:
            return self._nan(value)
        try:
            return self._format.pack(value)
        except (struct.error, OverflowError) as error:
            raise self._unsuitable(schema, value) from error

    def _unsuitable(self, schema: Schema | None, value: Any) -> DataError:
        return DataError(f"Failed to serialize to {self._name} (was class {java_class(value, schema)}): ")

    def _nan(self, value: Any) -> bytes:
        return self._format.pack(value)

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return self._schema, None
        try:
            return self._schema, self._format.unpack(data)[0]
        except struct.error as error:
            raise DataError(
                f"Failed to deserialize {self._name}: {self._format.size} bytes expected, found {len(data)}"
            ) from error


class ShortConverter(_FixedWidth):
    """Converts int16 to two bytes."""

    java_name = "org.apache.kafka.connect.converters.ShortConverter"
    _type, _name, _format, _python = Type.INT16, "short", struct.Struct(">h"), int


class IntegerConverter(_FixedWidth):
    """Converts int32 to four bytes."""

    java_name = "org.apache.kafka.connect.converters.IntegerConverter"
    _type, _name, _format, _python = Type.INT32, "integer", struct.Struct(">i"), int


class LongConverter(_FixedWidth):
    """Converts int64 to eight bytes."""

    java_name = "org.apache.kafka.connect.converters.LongConverter"
    _type, _name, _format, _python = Type.INT64, "long", struct.Struct(">q"), int


class FloatConverter(_FixedWidth):
    """Converts 32-bit floats to four bytes."""

    java_name = "org.apache.kafka.connect.converters.FloatConverter"
    _type, _name, _format, _python = Type.FLOAT32, "float", struct.Struct(">f"), float

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        schema, value = super().to_connect(topic, data)
        return schema, None if value is None else single_value(value)


class DoubleConverter(_FixedWidth):
    """Converts 64-bit floats to eight bytes. All NaNs have the same bytes, as in Java."""

    java_name = "org.apache.kafka.connect.converters.DoubleConverter"
    _type, _name, _format, _python = Type.FLOAT64, "double", struct.Struct(">d"), float

    def _nan(self, value: Any) -> bytes:
        return b"\x7f\xf8" + bytes(6)


class BooleanConverter(_FixedWidth):
    """Converts booleans to one byte, 1 or 0."""

    java_name = "org.apache.kafka.connect.converters.BooleanConverter"
    _type, _name, _format, _python = Type.BOOLEAN, "boolean", struct.Struct(">?"), bool

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not self._type:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        return super().from_connect(topic, schema, value)

    def _unsuitable(self, schema: Schema | None, value: Any) -> DataError:
        return DataError(f"BooleanConverter is not compatible with objects of type class {java_class(value)}")

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is not None and data not in (b"\x00", b"\x01"):
            raise DataError("Failed to deserialize boolean: one byte, 0 or 1, expected")
        return super().to_connect(topic, data)
