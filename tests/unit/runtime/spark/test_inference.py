"""Schemas that are inferred from JSON, and rows with these schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from runtime.api.errors import ConfigError, ConnectError
from runtime.spark.options import SparkOptions
from runtime.spark.source.batch_reader import HeadraceReader, inferred_schema

ROWS = [
    {"id": 1, "price": 2, "tags": ["a"], "at": {"x": 1}},
    {"id": 2, "price": 2.5, "tags": [], "extra": None, "at": {"x": None, "y": "b"}},
    {"id": 3, "code": 7},
    {"id": 4, "code": "seven"},
]


def options_of(path: Path, rows: list[Any], **more: str) -> SparkOptions:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    names = {name.replace("_", "."): text for name, text in more.items()}
    infers = {} if "inferSchema" in names else {"value.schema": "infer"}
    own = {"connector.class": "FileStreamSource", "file": str(path), "topic": "t", "headrace.idle.ms": "1"}
    return SparkOptions.of({**own, **infers, **names})


def types(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def read(options: SparkOptions, schema: StructType) -> list[dict[str, Any]]:
    reader = HeadraceReader(options, schema)
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("more", [{}, {"inferSchema": "true"}])
def test_fields_of_json_texts_are_columns(tmp_path: Path, more: dict[str, str]) -> None:
    options = options_of(tmp_path / "lines", ROWS, **more)
    schema = inferred_schema(options)
    assert types(schema) == {
        "id": "bigint", "price": "double", "tags": "array<string>", "at": "struct<x:bigint,y:string>",
        "extra": "string", "code": "string",
    }  # fmt: skip
    empty = dict.fromkeys(("price", "tags", "at", "extra", "code"))
    assert read(options, schema) == [
        {**empty, "id": 1, "price": 2.0, "tags": ["a"], "at": {"x": 1, "y": None}},
        {**empty, "id": 2, "price": 2.5, "tags": [], "at": {"x": None, "y": "b"}},
        {**empty, "id": 3, "code": "7"},
        {**empty, "id": 4, "code": "seven"},
    ]


def test_only_the_first_records_decide(tmp_path: Path) -> None:
    options = options_of(tmp_path / "lines", ROWS, headrace_infer_records="1")
    assert list(types(inferred_schema(options))) == ["id", "price", "tags", "at"]


def test_texts_that_are_not_json_are_errors_of_their_records(tmp_path: Path) -> None:
    rows = [{"id": 1}, "no JSON", "[1]", {"id": 2}]
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        inferred_schema(options_of(tmp_path / "lines", rows))
    options = options_of(tmp_path / "lines", rows, errors_tolerance="all")
    schema = inferred_schema(options)
    assert types(schema) == {"id": "bigint"}
    assert read(options, schema) == [{"id": 1}, {"id": 2}]


def test_fields_that_cannot_be_one_column_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"The field at has values of the types struct.*give the schema"):
        inferred_schema(options_of(tmp_path / "lines", [*ROWS, {"at": 5}]))


def test_values_with_a_schema_keep_it(tmp_path: Path) -> None:
    options = SparkOptions.of({
        "connector.class": "Datagen", "topic": "t", "template": "orders", "count": "5", "rate": "0",
        "headrace.idle.ms": "1",
    })  # fmt: skip
    inferring = SparkOptions.of({
        "connector.class": "Datagen", "topic": "t", "template": "orders", "count": "5", "rate": "0",
        "headrace.idle.ms": "1", "value.schema": "infer",
    })  # fmt: skip
    assert types(inferred_schema(inferring)) == types(inferred_schema(options))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"value_schema": "guess"}, "Option value.schema=guess: expected infer"),
        ({"inferSchema": "maybe"}, "Option inferSchema=maybe: expected true or false"),
        ({"headrace_columns": "record"}, "value.schema=infer and headrace.columns=record"),
    ],
)
def test_options_are_checked(tmp_path: Path, more: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        options_of(tmp_path / "lines", [], **more)
