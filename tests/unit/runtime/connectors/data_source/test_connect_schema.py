"""Spark's types as Connect schemas, and the conversion of their values."""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import types as t

from runtime.api.data.logical import decimal_schema
from runtime.connectors.data_source.connect_schema import connect_type


def test_decimals_have_all_digits_of_spark() -> None:
    """Python's default context has 28 digits, Spark 38."""
    schema, convert = connect_type(t.DecimalType(38, 18), False, "d")
    assert schema == decimal_schema(18) and convert is not None
    assert str(convert(Decimal("12345678901234567890.5"))) == "12345678901234567890.500000000000000000"
