"""StringConverter: text as bytes; anything else as Java's toString() of it."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.columns import Constant, Values, kinds
from runtime.api.config import ConfigDef, ConfigKey, Importance, Type, Width
from runtime.api.converter import Converter, HeaderConverter
from runtime.api.errors import ConfigError, DataError
from runtime.api.java_text import java_text
from runtime.api.java_texts import java_texts
from runtime.api.schema import OPTIONAL_STRING_SCHEMA, Schema
from runtime.converters.definitions import CONVERTER_TYPE


class StringConverter(Converter, HeaderConverter):
    """Bytes that are not valid in the encoding survive both ways (as surrogate escapes)."""

    java_name = "org.apache.kafka.connect.storage.StringConverter"
    config_def = ConfigDef(
        CONVERTER_TYPE,
        ConfigKey(
            "converter.encoding",
            Type.STRING,
            "UTF-8",
            Importance.HIGH,
            "The character encoding of the bytes in Kafka, by its usual name.",
            width=Width.MEDIUM,
            display_name="Encoding",
        ),
    )

    def __init__(self) -> None:
        self._encoding = "utf-8"

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        which = "key" if is_key else "value"
        encoding = config.get(f"{which}.converter.encoding") or config.get("converter.encoding") or "utf-8"
        try:
            self._encoding = codecs.lookup(encoding).name
        except LookupError as error:
            raise ConfigError(
                f"Invalid value {encoding} for configuration converter.encoding: no such encoding"
            ) from error

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if type(value) is not str:
            value = java_text(value, schema)
        try:
            return value.encode(self._encoding, "surrogateescape")  # type: ignore[no-any-return]
        except UnicodeError as error:
            raise DataError(f"Failed to serialize to a string: {error}") from error

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return OPTIONAL_STRING_SCHEMA, None
        return OPTIONAL_STRING_SCHEMA, data.decode(self._encoding, "surrogateescape")

    def from_connect_together(self, topic: str, values: Values) -> Sequence[bytes | None] | None:
        if self._encoding != "utf-8" or (null := values.null) is None:
            return None
        if null:
            return Constant(None, values.count)
        texts = java_texts(values) if kinds(values.rows) != {str} else values.rows
        try:
            return list(map(str.encode, texts))
        except UnicodeEncodeError:
            return [text.encode("utf-8", "surrogateescape") for text in texts]

    def to_connect_together(self, topic: str, data: Sequence[bytes]) -> Values | None:
        """Decoded in one go, with line feeds between those that have none themselves."""
        if self._encoding != "utf-8":
            return None
        texts = b"\n".join(data).decode("utf-8", "surrogateescape").split("\n")
        if len(texts) != len(data):
            texts = [one.decode("utf-8", "surrogateescape") for one in data]
        return Values(OPTIONAL_STRING_SCHEMA, texts)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return self.to_connect(topic, data)
