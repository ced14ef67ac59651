"""Transformations against recorded results of Apache Kafka Connect 4.3.0 (java_answers.jsonl)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.java_text import java_text
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.errors import ConnectError
from runtime.api.literals.literals import header_text, parse_literal
from runtime.converters.json.json import JsonConverter
from tests.support.tasks.transforms import transformation

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("java_answers.jsonl").read_text("utf-8").splitlines()]


def _converter(config: dict[str, str]) -> JsonConverter:
    converter = JsonConverter()
    converter.configure(config, False)
    return converter


def _bytes(value: Any) -> bytes | None:
    return None if value is None else json.dumps(value).encode()


def _record(asked: dict[str, Any], reader: JsonConverter) -> Any:
    """A SinkRecord or a SourceRecord."""
    key_schema, key = reader.to_connect("t", _bytes(asked.get("key")))
    value_schema, value = reader.to_connect("t", _bytes(asked.get("value")))
    timestamp = asked.get("timestamp", 1700000000123)
    headers = [(name, *parse_literal(text)) for name, text in asked.get("headers", [])] or None
    if asked.get("sink", True):
        return SinkRecord("t", 2, key_schema, key, value_schema, value, 42, timestamp, 0, headers)
    return SourceRecord({}, {}, "t", value, value_schema, key, key_schema, None, timestamp, headers)


def _part(record: Any, part: str, writer: JsonConverter) -> dict[str, Any]:
    schema, value = getattr(record, f"{part}_schema"), getattr(record, part)
    found: dict[str, Any] = {}
    try:
        data = writer.from_connect("t", schema, value)
        if data is not None:
            found[part] = data.decode()
    except ConnectError:
        found[f"{part}_error"] = True
    if value is not None and not isinstance(value, bytes):
        found[f"{part}_text"] = java_text(value, schema)
    return found


def _outcome(asked: dict[str, Any]) -> dict[str, Any]:
    config = {"schemas.enable": str(asked.get("schemas", True)).lower(), **asked.get("conv", {})}
    writer = _converter({name: text for name, text in config.items() if name != "schemas.enable"})
    try:
        record = transformation(asked["cls"], asked["config"]).apply(_record(asked, _converter(config)))
    except ConnectError as error:
        return {"error": error.java_name, "message": str(error)}
    assert record is not None
    found = {**_part(record, "key", writer), **_part(record, "value", writer)}
    if record.topic != "t":
        found["topic"] = record.topic
    if record.headers:
        found["headers"] = [[h[0], None if h[2] is None else header_text(h[2], h[1])] for h in record.headers]
    return found


def _comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Maps without schemas have no order in JSON."""
    return {k: json.loads(v) if k in ("key", "value") else v for k, v in answer.items()}


@pytest.mark.parametrize(("asked", "answer"), ANSWERS, ids=[f"{i}-{a['cls']}" for i, (a, _) in enumerate(ANSWERS)])
def test_results_equal_those_of_apache_connect(asked: dict[str, Any], answer: dict[str, Any]) -> None:
    assert _comparable(_outcome(asked)) == _comparable(answer)
