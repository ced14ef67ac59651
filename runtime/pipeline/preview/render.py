"""Records as readable JSON: plain values, schemas as short text, differences by path."""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import Schema, Type

TEXT = 10_000
"""Maximum number of characters of a text."""

_DEPTH = 40
_INT64 = range(-(2**63), 2**63)
_CHANGES = 100
_KAFKA = "org.apache.kafka.connect.data."


def record_json(record: SourceRecord | SinkRecord) -> dict[str, Any]:
    """All parts of a record."""
    shown: dict[str, Any] = {"topic": plain(record.topic), "partition": plain(record.kafka_partition)}
    if isinstance(record, SinkRecord):
        shown["offset"] = plain(record.kafka_offset)
    shown |= {
        "timestamp": plain(record.timestamp),
        "key": plain(record.key),
        "key_schema": schema_text(record.key_schema),
        "value": plain(record.value),
        "value_schema": schema_text(record.value_schema),
        "headers": {name: plain(value) for name, _, value in record.headers or ()},
    }
    return shown


def plain(value: Any, depth: int = 0) -> Any:
    """Connect's data as JSON; values that JSON does not support as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return value if value in _INT64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _text(f"base64:{base64.b64encode(bytes(value)).decode()}")
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if depth > _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {_text(k if isinstance(k, str) else str(plain(k))): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(element, depth + 1) for element in value]
    return _text(str(value))


def bytes_json(data: bytes | None) -> Any:
    """Bytes as JSON: text if they are UTF-8, otherwise base64."""
    if data is None:
        return None
    try:
        return _text(data.decode())
    except UnicodeDecodeError:
        return plain(data)


def _text(text: str) -> str:
    shown = text if len(text) <= TEXT else f"{text[:TEXT]}… ({len(text)} characters)"
    return shown.encode("utf-8", "backslashreplace").decode()


def schema_text(schema: Schema | None) -> str | None:
    """`struct Order v2 {id: int64, at: int64 Timestamp?}`; None without a schema."""
    if schema is None:
        return None
    schema_text = "".join((schema.type.value, _name(schema), _inside(schema), "?" if schema.optional else ""))
    return schema_text if schema.default is None else f"{schema_text} = {plain(schema.default)}"


def _name(schema: Schema) -> str:
    name = "" if schema.name is None else f" {schema.name.removeprefix(_KAFKA)}"
    version = f" v{schema.version}" if schema.version is not None and not (schema.name or "").startswith(_KAFKA) else ""
    parameters = ", ".join(f"{key}={value}" for key, value in schema.parameters)
    return f"{name}{version}" + (f"({parameters})" if parameters else "")


def _inside(schema: Schema) -> str:
    if schema.type is Type.STRUCT:
        return " {" + ", ".join(f"{field.name}: {schema_text(field.schema)}" for field in schema.fields) + "}"
    if schema.type is Type.ARRAY:
        return f"<{schema_text(schema.values)}>"
    return f"<{schema_text(schema.keys)}, {schema_text(schema.values)}>" if schema.type is Type.MAP else ""


def changes(before: Any, after: Any) -> list[dict[str, Any]]:
    """The differences, as `{"at", "before", "after"}`; a side without a value at that path is omitted."""
    changes: list[dict[str, Any]] = []
    for change in _differences(before, after, ""):
        if len(changes) == _CHANGES:
            break
        changes.append(change)
    return changes


def _differences(before: Any, after: Any, at: str) -> Iterator[dict[str, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(k for k in after if k not in before)]:
            path = f"{at}.{key}" if at else key
            if key not in after:
                yield {"at": path, "before": before[key]}
            elif key not in before:
                yield {"at": path, "after": after[key]}
            else:
                yield from _differences(before[key], after[key], path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, f"{at}[{index}]")
    elif before != after or type(before) is not type(after):
        yield {"at": at, "before": before, "after": after}
