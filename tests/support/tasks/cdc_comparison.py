"""Events of PostgresCdcSource and of Debezium in a form that can be compared, and what Debezium has written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Event = tuple[Any, Any, list[Any]]
"""Key, value and headers of a record, of the first two with their schemas."""

MODES: dict[str, dict[str, str]] = {
    "defaults": {"publication.autocreate.mode": "all_tables"},
    "connect": {
        "publication.autocreate.mode": "filtered", "table.include.list": "public.*", "decimal.handling.mode": "string",
        "time.precision.mode": "connect", "interval.handling.mode": "string", "hstore.handling.mode": "map",
        "skipped.operations": "none",
    },
    "micros": {
        "publication.autocreate.mode": "all_tables", "decimal.handling.mode": "double",
        "time.precision.mode": "adaptive_time_microseconds", "binary.handling.mode": "hex",
        "tombstones.on.delete": "false",
    },
}  # fmt: skip
"""Options with which both are compared."""

_RECORDED = Path(__file__).with_suffix(".json")
_OF_TIME = ("ts_ms", "ts_us", "ts_ns")
_OF_SOURCE = ("version", "db", "txId", "lsn", "sequence", *_OF_TIME)
_LONG = 100  # characters, or elements


def comparable(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes]], prefix: str) -> Event:
    """A record without what differs in every run."""
    key, value = (data and data.replace(prefix.encode(), b"PREFIX") for data in (key, value))
    event = json.loads(value) if value else None
    if event is not None:
        event["payload"] |= dict.fromkeys(_OF_TIME)
        event["payload"]["source"] |= dict.fromkeys(_OF_SOURCE)
        for row in (event["payload"]["before"], event["payload"]["after"]):
            if row and isinstance(row.get("h"), str):  # the pairs of an hstore are in the order of a HashMap
                row["h"] = json.loads(row["h"])
    others = [
        [name, json.loads(data.replace(prefix.encode(), b"PREFIX"))]
        for name, data in headers
        if not name.startswith("__debezium.context")
    ]
    return json.loads(key) if key else None, event, others


def _short(value: Any) -> Any:
    """With digests instead of long values."""
    if isinstance(value, Mapping):
        value = {name: _short(item) for name, item in value.items()}
    if isinstance(value, str | list | dict) and len(value) > _LONG:
        return f"digest {hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]}"
    return value


def _payloads(event: Event) -> list[Any]:
    """Of key, value and headers."""
    key, value, headers = event
    shown = [part and _short(part["payload"]) for part in (key, value)]
    return [*shown, headers]


def shortened(tables: Mapping[str, list[Event]]) -> dict[str, Any]:
    """The events by table: payloads, and the schemas in the order of their first use."""
    return {
        table: {"schemas": _schemas(events), "events": list(map(_payloads, events))}
        for table, events in sorted(tables.items())
    }


def _schemas(events: Iterable[Event]) -> list[Any]:
    schemas: list[Any] = []
    for key, value, _ in events:
        for schema in [_short_schema(part["schema"]) for part in (key, value) if part]:
            if schema not in schemas:
                schemas.append(schema)
    return schemas


def _short_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """With a digest of what the envelopes of all tables have in common."""
    rows = [field for field in schema["fields"] if field["field"] == "after"]
    if not rows:
        return schema
    row = {**rows[0], "field": "before"}
    others = [field for field in schema["fields"] if field not in (rows[0], row)]
    return {**schema, "fields": [rows[0], _short(json.dumps(others, sort_keys=True))]}


def recorded(mode: str) -> Any:
    """What Debezium has written, shortened."""
    return json.loads(_RECORDED.read_text("utf-8"))[mode]


def record(mode: str, tables: Mapping[str, list[Event]]) -> None:
    """Keeps what Debezium has written."""
    document = json.loads(_RECORDED.read_text("utf-8")) if _RECORDED.exists() else {}
    document[mode] = shortened(tables)
    text = json.dumps(document, sort_keys=False, ensure_ascii=False, separators=(",", ":"))
    _RECORDED.write_text(text.replace("[[{", "[\n[{").replace("]],[", "]],\n[") + "\n", "utf-8")
