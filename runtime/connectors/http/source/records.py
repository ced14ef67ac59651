"""Records of Kafka from the rows of a stream: topic, keys and schemas."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import ConnectError
from runtime.connectors.http.json_values import JsonPointer
from runtime.connectors.http.source.config import KEY, TOPIC
from runtime.connectors.http.source.inference import Inference
from runtime.connectors.http.source.walk import StreamRows
from runtime.connectors.http.templates import as_text


class StreamRecords:
    """Makes the records of one stream."""

    def __init__(self, settings: Mapping[str, Any], inference: Inference | None) -> None:
        """`settings`: the typed values of the configuration; `inference` gives values their schema."""
        self._topic: str = settings[TOPIC]
        self._keys = [JsonPointer(text.strip()) for text in (settings[KEY] or "").split(",")] if settings[KEY] else []
        self._inference = inference
        fields = tuple(Field(pointer.name, OPTIONAL_STRING_SCHEMA) for pointer in self._keys)
        self._key_schema = OPTIONAL_STRING_SCHEMA if len(fields) == 1 else Schema(Type.STRUCT, fields=fields)

    def batch(self, rows: StreamRows) -> SourceBatch:
        """The records of these rows."""
        positions = rows.positions
        batch = SourceBatch(
            rows.partition,
            lambda n: positions[n].offset(),
            self._topic,
            ValueBatch(None, rows.rows) if self._inference is None else self._inference.convert(rows.rows),
            int(time.time() * 1000),
        )
        if self._keys:
            batch.keys = ValueBatch(self._key_schema, [self._key(row) for row in rows.rows])
        return batch

    def _key(self, row: Any) -> Any:
        texts = [_text_at(pointer, row) for pointer in self._keys]
        return texts[0] if len(texts) == 1 else dict(zip((p.name for p in self._keys), texts, strict=True))


def _text_at(pointer: JsonPointer, row: Any) -> str | None:
    value = pointer.get(row)
    if isinstance(value, dict | list):
        raise ConnectError(f"{KEY} does not point to a text or number in a record")
    return None if value is None else as_text(value)
