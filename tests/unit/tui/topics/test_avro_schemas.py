"""Avro schemas that fastavro refuses, but Java's readers accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui.topics.decoding import _avro
from tui.topics.registry import RegisteredSchema, avro_schema


def _decoded(kind: Any, data: bytes, **more: Any) -> Any:
    document = {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind, **more}]}
    schema = RegisteredSchema(1, "AVRO", json.dumps(document))
    decoded = _avro(data, avro_schema(schema), schema)
    assert isinstance(decoded, dict)
    return decoded["f"]


@pytest.mark.parametrize(
    ("kind", "data"), [({"type": "double"}, bytes(7) + b"@"), (["double", "null"], bytes(8) + b"@")]
)
def test_a_default_of_another_type(kind: Any, data: bytes) -> None:
    assert _decoded(kind, data, default=0) == 2.0


@pytest.mark.parametrize("precision", [2, 0])
def test_decimals_with_more_digits_than_their_precision(precision: int) -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 1}
    assert _decoded(kind, b"\x04\x30\x39") == "1234.5"
