"""Sample records: messages as a consumer returns them, and records as a source task polls them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from runtime.api.data.record import Headers, SourceRecord, stamp_of
from runtime.api.data.schema import BOOLEAN_SCHEMA, FLOAT64_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema
from runtime.pipeline.load import Converters


@dataclass(frozen=True, slots=True)
class SampleMessage:
    """The methods of a client's message that the pipeline uses."""

    _topic: str
    _partition: int
    _offset: int
    _timestamp: int | None
    _key: bytes | None
    _value: bytes | None
    _headers: list[tuple[str, bytes | None]] = field(default_factory=list)

    @classmethod
    def of(cls, sample: Mapping[str, Any]) -> SampleMessage:
        """A message from JSON with bytes in base64."""
        headers = [(name, _bytes(data)) for name, data in sample["headers"]]
        place = sample["topic"], sample["partition"], sample["offset"], sample["timestamp"]
        return cls(*place, _bytes(sample["key"]), _bytes(sample["value"]), headers)

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return (0, -1) if self._timestamp is None else (1, self._timestamp)

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes | None]]:
        return self._headers

    def error(self) -> None:
        return None


def source_record(sample: Mapping[str, Any]) -> SourceRecord:
    """A record as a task returns it. Text becomes a string with schema, `{"schema", "payload"}` is an envelope of
    JsonConverter, all other values have no schema."""
    key_schema, key = _data(sample["key"])
    value_schema, value = _data(sample["value"])
    headers: Headers = [(name, *_header(data)) for name, data in sample["headers"]]
    return SourceRecord(
        sample["source_partition"], sample["source_offset"], sample["topic"], value, value_schema, key, key_schema,
        timestamp=sample["timestamp"], headers=headers or None,
    )  # fmt: skip


def produced_record(message: SampleMessage, converters: Converters) -> SourceRecord:
    """The record of a message that the connector has produced, read with its converters."""
    topic = message.topic()
    key_schema, key = converters.key.to_connect(topic, message.key())
    value_schema, value = converters.value.to_connect(topic, message.value())
    convert = converters.header.to_connect_header
    headers: Headers = [(name, *convert(topic, name, data)) for name, data in message.headers()]
    stamp = stamp_of(message.timestamp()[1])
    return SourceRecord(
        None, None, topic, value, value_schema, key, key_schema, timestamp=stamp, headers=headers or None
    )


def _bytes(data: str | None) -> bytes | None:
    return None if data is None else base64.b64decode(data)


def _data(value: Any) -> tuple[Schema | None, Any]:
    if isinstance(value, str):
        return STRING_SCHEMA, value
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        from runtime.converters.json.json import JsonConverter

        converter = JsonConverter()
        converter.configure({"schemas.enable": "true"}, False)
        return converter.to_connect("", orjson.dumps(value))
    return None, value


def _header(value: Any) -> tuple[Schema | None, Any]:
    kinds: dict[type, Schema] = {
        str: STRING_SCHEMA, bool: BOOLEAN_SCHEMA, int: INT64_SCHEMA, float: FLOAT64_SCHEMA,
    }  # fmt: skip
    return kinds.get(type(value)), value
