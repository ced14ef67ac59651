"""Schemas, values and records as JSON documents that Referee.java reads and writes too.

A value is null, a boolean, a string, or an object of one key: `i` (an integer in decimal), `f` (the bits of a double in
hexadecimal), `b` (bytes in base64), `dec` (unscaled value and scale), `date` (milliseconds), `a` (array), `m` (map, as
pairs), `st` (struct, as pairs). A schema is null or an object; attributes that are not set are omitted.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.api.data import logical
from runtime.api.data.java_text import single_value
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import Field, Schema, Type

Json = Any
_SCHEMAS: dict[str, Schema] = {}
_ATTRIBUTES = ("name", "version", "doc")


def read_schema(node: Json) -> Schema | None:
    """The schema of a document; equal documents give the same object, as in a stream of records."""
    if node is None:
        return None
    text = json.dumps(node)
    found = _SCHEMAS.get(text)
    if found is None:
        found = _SCHEMAS[text] = _schema(node)
    return found


def _schema(node: Json) -> Schema:
    bare = Schema(
        Type[node["type"]],
        optional="optional" in node,
        keys=read_schema(node.get("keys")),
        values=read_schema(node.get("values")),
        fields=tuple(Field(name, read_schema(of)) for name, of in node.get("fields", ())),  # type: ignore[arg-type]
        parameters=tuple((name, value) for name, value in node.get("parameters", ())),
        **{name: node[name] for name in _ATTRIBUTES if name in node},
    )
    return bare.replace(default=read_value(bare, node["default"])) if "default" in node else bare


def read_value(schema: Schema | None, node: Json) -> Any:
    if not isinstance(node, dict):
        return node
    [(kind, held)] = node.items()
    if kind == "i":
        return int(held)
    if kind == "f":
        [number] = struct.unpack(">d", bytes.fromhex(held))
        return single_value(number) if schema is not None and schema.type is Type.FLOAT32 else number
    if kind == "b":
        return base64.b64decode(held)
    if kind == "dec":
        return logical.decimal_of(int(held[0]), held[1])
    if kind == "date":
        return _date(schema, held)
    if kind == "a":
        return [read_value(schema.values if schema is not None else None, item) for item in held]
    if kind == "m":
        keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
        return {read_value(keys, key): read_value(values, value) for key, value in held}
    assert schema is not None
    return {name: read_value(schema.field(name), value) for name, value in held}


def _date(schema: Schema | None, ms: int) -> Any:
    name = schema.name if schema is not None else None
    if name == logical.DATE and ms % 86_400_000 == 0:
        return logical.date_of(ms // 86_400_000)
    return logical.time_of(ms) if name == logical.TIME and 0 <= ms < 86_400_000 else logical.datetime_of(ms)


def write_schema(schema: Schema | None) -> Json:
    if schema is None:
        return None
    made: dict[str, Json] = {"type": schema.type.name}
    if schema.optional:
        made["optional"] = True
    made |= {name: found for name in _ATTRIBUTES if (found := getattr(schema, name)) is not None}
    if schema.parameters:
        made["parameters"] = [list(pair) for pair in schema.parameters]
    if schema.default is not None:
        made["default"] = write_value(schema, schema.default)
    if schema.type is Type.MAP:
        made["keys"] = write_schema(schema.keys)
    if schema.type in (Type.MAP, Type.ARRAY):
        made["values"] = write_schema(schema.values)
    if schema.type is Type.STRUCT:
        made["fields"] = [[field.name, write_schema(field.schema)] for field in schema.fields]
    return made


def write_value(schema: Schema | None, value: Any) -> Json:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"i": str(value)}
    if isinstance(value, float):
        return {"f": struct.pack(">d", value).hex()}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"b": base64.b64encode(value).decode()}
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        unscaled = int("".join(map(str, digits)) or "0")
        return {"dec": [str(-unscaled if sign else unscaled), -int(exponent)]}
    if isinstance(value, dt.date | dt.time):
        return {"date": logical.millis(logical.instant(value))}
    if isinstance(value, list | tuple):
        return {"a": [write_value(schema.values if schema is not None else None, item) for item in value]}
    if isinstance(value, Mapping):
        return _write_mapping(schema, value)
    return {"other": type(value).__qualname__}


def _write_mapping(schema: Schema | None, value: Mapping[Any, Any]) -> Json:
    if schema is not None and schema.type is Type.STRUCT:
        found = [(field, value.get(field.name)) for field in schema.fields]
        return {"st": [[field.name, write_value(field.schema, held)] for field, held in found if held is not None]}
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    return {"m": [[write_value(keys, key), write_value(values, held)] for key, held in value.items()]}


def read_record(node: Json) -> SinkRecord | SourceRecord:
    key_schema, schema = read_schema(node["key"][0]), read_schema(node["value"][0])
    key, value = read_value(key_schema, node["key"][1]), read_value(schema, node["value"][1])
    headers = [
        (name, of, read_value(of, held)) for name, found, held in node["headers"] for of in (read_schema(found),)
    ]
    topic, partition, timestamp = node["topic"], node["partition"], node["timestamp"]
    if node["sink"]:
        return SinkRecord(topic, partition, key_schema, key, schema, value, node["offset"], timestamp, 0, headers)
    return SourceRecord({}, {}, topic, value, schema, key, key_schema, partition, timestamp, headers)


def write_record(record: SinkRecord | SourceRecord | None) -> Json:
    if record is None:
        return None
    return {
        "topic": record.topic,
        "partition": record.kafka_partition,
        "timestamp": record.timestamp,
        "key": write_pair(record.key_schema, record.key),
        "value": write_pair(record.value_schema, record.value),
        "headers": [[name, *write_pair(schema, value)] for name, schema, value in record.headers or ()],
    }


def write_pair(schema: Schema | None, value: Any) -> Json:
    return [write_schema(schema), write_value(schema, value)]
