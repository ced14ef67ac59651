"""Converters of numbers, booleans and bytes."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.converter import Converter
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import DataError
from runtime.converters.bytes import ByteArrayConverter
from runtime.converters.numeric import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)


@pytest.mark.parametrize(
    ("converter", "value", "data"),
    [
        (ShortConverter(), 258, "0102"), (IntegerConverter(), 258, "00000102"),
        (LongConverter(), -2, "fffffffffffffffe"),
        (FloatConverter(), 1.5, "3fc00000"), (DoubleConverter(), 1.5, "3ff8000000000000"),
        (BooleanConverter(), True, "01"),
        (ByteArrayConverter(), b"\x00\xff", "00ff"),
    ],
)  # fmt: skip
def test_values_of_fixed_width_round_trip(converter: Converter, value: Any, data: str) -> None:
    raw = bytes.fromhex(data)
    assert converter.from_connect("t", None, value) == raw
    schema, back = converter.to_connect("t", raw)
    assert back == value
    assert converter.from_connect("t", schema, value) == raw
    assert converter.from_connect("t", schema, None) is None
    assert converter.to_connect("t", None) == (schema, None)
    with pytest.raises(DataError):
        converter.from_connect("t", STRING_SCHEMA, "x")
    with pytest.raises(DataError):
        converter.from_connect("t", None, "x")


def test_values_of_another_width_are_refused() -> None:
    for converter, data in ((LongConverter(), b"\x00"), (BooleanConverter(), b"\x02"), (ShortConverter(), b"\0\0\0")):
        with pytest.raises(DataError):
            converter.to_connect("t", data)
    with pytest.raises(DataError):
        ShortConverter().from_connect("t", None, 1 << 20)
