"""Records of Kafka from the rows of a stream: topic, keys, schemas, and fields of the parents."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import ConnectError
from runtime.connectors.http.json_values import JsonPointer
from runtime.connectors.http.source.config import KEY, PARENT_FIELDS, TOPIC
from runtime.connectors.http.source.inference import Inference
from runtime.connectors.http.source.stream import parent_value
from runtime.connectors.http.source.walk import Rows
from runtime.connectors.http.templates import as_text


class StreamRecords:
    """Makes the records of one stream."""

    def __init__(self, settings: Mapping[str, Any], inference: Inference | None) -> None:
        """`settings`: the typed values of the configuration; `inference` gives values their schema."""
        self._topic: str = settings[TOPIC]
        self._keys = [JsonPointer(text.strip()) for text in (settings[KEY] or "").split(",")] if settings[KEY] else []
        self._inference = inference
        self._fields = [_field(text) for text in settings[PARENT_FIELDS]]
        fields = tuple(Field(pointer.name, OPTIONAL_STRING_SCHEMA) for pointer in self._keys)
        self._key_schema = OPTIONAL_STRING_SCHEMA if len(fields) == 1 else Schema(Type.STRUCT, fields=fields)

    def batch(self, rows: Rows) -> SourceBatch:
        """The records of these rows."""
        positions, values = rows.positions, self._with_parents(rows)
        batch = SourceBatch(
            rows.partition,
            lambda n: positions[n].offset(),
            self._topic,
            ValueBatch(None, values) if self._inference is None else self._inference.convert(values),
            int(time.time() * 1000),
        )
        if self._keys:
            batch.keys = ValueBatch(self._key_schema, [self._key(row) for row in values])
        return batch

    def _with_parents(self, rows: Rows) -> list[Any]:
        if not self._fields:
            return rows.rows
        added = {name: parent_value(path, rows.parents) for name, path in self._fields}
        return [{**row, **added} if isinstance(row, dict) else row for row in rows.rows]

    def _key(self, row: Any) -> Any:
        texts = [_text_at(pointer, row) for pointer in self._keys]
        return texts[0] if len(texts) == 1 else dict(zip((p.name for p in self._keys), texts, strict=True))


def _field(text: str) -> Sequence[str]:
    """The name of a field in the records, and its path in the parent."""
    name, _, path = text.strip().rpartition("=")
    return name or path.rpartition(".")[2], path


def _text_at(pointer: JsonPointer, row: Any) -> str | None:
    value = pointer.get(row)
    if isinstance(value, dict | list):
        raise ConnectError(f"{KEY} does not point to a text or number in a record")
    return None if value is None else as_text(value)
