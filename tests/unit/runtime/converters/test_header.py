"""SimpleHeaderConverter."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.data.schema import Type
from runtime.converters.header import SimpleHeaderConverter


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("17", Type.INT8, 17), ("300", Type.INT16, 300), ("1.50", Type.FLOAT32, 1.5), ("0.1", Type.FLOAT32, 0.1),
        ("true", Type.BOOLEAN, True), ("text", Type.STRING, "text"), ("[x", Type.STRING, "[x"),
    ],
)  # fmt: skip
def test_header_literals(text: str, kind: Type, value: Any) -> None:
    schema, found = SimpleHeaderConverter().to_connect_header("t", "h", text.encode())
    assert schema is not None
    assert (schema.type, found) == (kind, value)


def test_headers_round_trip() -> None:
    converter = SimpleHeaderConverter()
    for value in ("text", 17, True, {"a": 1}, [1, 2], None, 1.5):
        data = converter.from_connect_header("t", "h", None, value)
        assert converter.to_connect_header("t", "h", data)[1] == value
