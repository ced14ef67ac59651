"""Spark's schemas as text, compared with the JSON of Spark's own types."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from runtime.api.errors import ConfigError
from runtime.connectors.data_source.ddl import parse_ddl


def test_types() -> None:
    found = parse_ddl(
        "id BIGINT NOT NULL, `a b` decimal(10, 2), d DECIMAL, tags array<string>, m MAP<STRING, ARRAY<INT>>, "
        "s STRUCT<x: DOUBLE NOT NULL, y: TIMESTAMP_NTZ>, v VARCHAR(10) COMMENT 'its \\' text', at timestamp"
    )
    assert found == t.StructType([
        t.StructField("id", t.LongType(), False),
        t.StructField("a b", t.DecimalType(10, 2)),
        t.StructField("d", t.DecimalType(10, 0)),
        t.StructField("tags", t.ArrayType(t.StringType())),
        t.StructField("m", t.MapType(t.StringType(), t.ArrayType(t.IntegerType()))),
        t.StructField("s", t.StructType([
            t.StructField("x", t.DoubleType(), False), t.StructField("y", t.TimestampNTZType()),
        ])),
        t.StructField("v", t.StringType()),
        t.StructField("at", t.TimestampType()),
    ])  # fmt: skip
    assert parse_ddl(found["s"].dataType.simpleString())["y"].dataType == t.TimestampNTZType()


@pytest.mark.parametrize(
    "text", ["", "a", "a int,", "a array<int", "a int b", "a int NOT 5", "a ;", "a decimal(x)", "a struct<>"]
)
def test_malformed_schemas(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_ddl(text)
