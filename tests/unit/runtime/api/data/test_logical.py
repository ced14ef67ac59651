"""Logical types and the plain values that carry them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from runtime.api.data.logical import decimal_from_bytes, decimal_schema, decimal_text, decimal_to_bytes
from runtime.api.errors import DataError


@pytest.mark.parametrize("text", ["0.00", "1.28", "-1.28", "-1.29", "12345678901234567890.12", "0.01"])
def test_decimals(text: str) -> None:
    schema = decimal_schema(2)
    data = decimal_to_bytes(schema, Decimal(text))
    assert decimal_from_bytes(schema, data) == Decimal(text)
    assert len(data) == (int(Decimal(text).scaleb(2)) ** 2).bit_length() // 16 + 1 or len(data) <= 10
    with pytest.raises(DataError, match="mismatching scale"):
        decimal_to_bytes(schema, Decimal("1.5"))


@pytest.mark.parametrize(
    ("number", "text"),
    [("1E+3", "1000"), ("-1.50E-7", "-0.000000150"), ("1E-2147483647", "1E-2147483647"), ("7E+99999", "7E+99999"),
     ("1" * 2000 + ".5", "1" * 2000 + ".5"), ("NaN", "NaN")],
)  # fmt: skip
def test_texts_of_decimals_do_not_fill_the_memory(number: str, text: str) -> None:
    assert decimal_text(Decimal(number)) == text
