"""StringConverter writes strings as bytes, and other values as Java's toString() prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width
from runtime.api.data.columns import ConstantColumn, ValueBatch, value_types
from runtime.api.data.java_text import java_text
from runtime.api.data.java_text_columns import java_texts
from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA, Schema
from runtime.converters.charset import charset
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.header import ValueAndHeaderConverter


class StringConverter(ValueAndHeaderConverter):
    """Preserves bytes that are not valid UTF-8, as surrogate escapes."""

    java_name = "org.apache.kafka.connect.storage.StringConverter"
    config_def = ConfigDef(
        CONVERTER_TYPE,
        ConfigKey("converter.encoding", ConfigType.STRING, "UTF-8", Importance.HIGH,
             "Character encoding of the bytes in Kafka.", width=Width.MEDIUM, display_name="Encoding"),
    )  # fmt: skip

    def __init__(self) -> None:
        self._written = self._read = charset("utf-8")

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        which = "key" if is_key else "value"
        encoding = self.config_def.parse({"converter.type": which, **config})["converter.encoding"]
        self._written = charset(config.get(f"{which}.serializer.encoding") or encoding)
        self._read = charset(config.get(f"{which}.deserializer.encoding") or encoding)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        return self._written.encode(value if type(value) is str else java_text(value, schema))

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return OPTIONAL_STRING_SCHEMA, None if data is None else self._read.decode(data)

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None] | None:
        if self._written.name != "utf-8" or (null := values.all_null) is None:
            return None
        if values.utf8 is not None:
            return values.utf8
        if null:
            return ConstantColumn(None, values.count)
        texts = java_texts(values) if value_types(values.rows) != {str} else values.rows
        try:
            return list(map(str.encode, texts))
        except UnicodeEncodeError:
            return [text.encode("utf-8", "surrogateescape") for text in texts]

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        return ValueBatch.texts(OPTIONAL_STRING_SCHEMA, data) if self._read.name == "utf-8" else None
