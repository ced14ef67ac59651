"""Records as the columns of a table: types, casts, new fields."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from runtime.api import ValueBatch
from runtime.api.data.logical import TIME_SCHEMA, TIMESTAMP_SCHEMA
from runtime.api.data.schema import INT64_SCHEMA, STRING_SCHEMA, Schema, struct_schema
from runtime.connectors.spark.sink.columns import TableColumns, stored_schema
from runtime.connectors.spark.sink.definition import Evolution
from runtime.connectors.spark.sink.spark_batch import arrow_columns


def rows(columns: TableColumns, *values: Any) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows of these values, and the indices of those that do not fit."""
    refused: list[int] = []
    found = columns.convert(ValueBatch(None, list(values)), lambda index, error: refused.append(index))
    return [row for _, batch in found for row in batch.to_pylist()], refused


def test_new_fields_become_columns_and_types_stay() -> None:
    columns = TableColumns(Evolution.ADD)
    assert rows(columns, {"n": 1}) == ([{"n": 1}], [])
    assert rows(columns, {"n": 2.0, "s": {"a": "x"}}) == ([{"n": 2, "s": {"a": "x"}}], [])
    assert rows(columns, {"s": {"b": 5}}) == ([{"n": None, "s": {"a": None, "b": 5}}], [])
    assert rows(columns, {"n": 1.5}, {"n": "text"}, {"n": 3}) == ([{"n": 3, "s": None}], [0, 1])
    assert columns.schema.names == ["n", "s"]


def test_a_record_that_does_not_fit_adds_no_column() -> None:
    columns = TableColumns(Evolution.ADD)
    rows(columns, {"n": 1})
    assert rows(columns, {"n": "text", "new": 1}) == ([], [0])
    assert columns.schema.names == ["n"]


def test_values_that_were_all_null_get_their_type_later() -> None:
    columns = TableColumns(Evolution.ADD)
    rows(columns, {"n": 1, "later": None, "inner": {"x": None}})
    assert stored_schema(columns.schema).names == ["n"]
    rows(columns, {"n": 1, "later": "text", "inner": {"x": 2}})
    assert stored_schema(columns.schema) == pa.schema(
        {"n": pa.int64(), "later": pa.string(), "inner": pa.struct({"x": pa.int64()})}
    )


def test_frozen_columns_make_records_with_other_fields_errors() -> None:
    columns = TableColumns(Evolution.FREEZE)
    columns.know(pa.schema({"n": pa.int32(), "s": pa.struct({"a": pa.string()})}))
    assert rows(columns, {"n": 1}, {"n": 2, "m": 1}, {"s": {"b": 1}}) == ([{"n": 1, "s": None}], [1, 2])


def test_each_batch_has_its_own_columns_if_any_are_allowed() -> None:
    columns = TableColumns(Evolution.ANY)
    rows(columns, {"n": 1})
    assert rows(columns, {"n": 1.5}) == ([{"n": 1.5}], [])
    columns.forget()
    assert rows(columns, {"n": "text"}) == ([{"n": "text"}], [])
    assert rows(columns, {"n": 1}) == ([], [0])  # within a batch


def test_given_columns_are_the_only_ones() -> None:
    columns = TableColumns(Evolution.ADD, arrow_columns("n INT NOT NULL, at TIMESTAMP, price DECIMAL(8,2)"), fixed=True)
    found, refused = rows(columns, {"n": 1, "at": "2026-01-02T03:04:05Z", "more": True}, {"n": 1 << 40})
    assert refused == [1]
    assert found == [{"n": 1, "at": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "price": None}]


@pytest.mark.parametrize(
    ("schema", "value", "kind"),
    [
        (TIME_SCHEMA, dt.time(0, 0, 1), pa.int32()),
        (TIMESTAMP_SCHEMA, dt.datetime(2026, 1, 2, tzinfo=dt.UTC), pa.timestamp("us", "UTC")),
        (INT64_SCHEMA, 5, pa.int64()),
    ],
)
def test_types_of_connect_schemas(schema: Any, value: Any, kind: Any) -> None:
    columns = TableColumns(Evolution.ADD)
    values = ValueBatch(struct_schema({"v": schema}), [{"v": value}])
    [(_, batch)] = columns.convert(values, lambda index, error: pytest.fail(str(error)))
    assert batch.schema.field("v").type == kind
    assert batch.schema.field("v").nullable


@pytest.mark.parametrize("value", [5, 1.5, "text", True, [1], [{"n": 1}], [], "null"])
@pytest.mark.parametrize("schema", [None, STRING_SCHEMA])
def test_a_value_that_is_not_an_object_does_not_become_a_row_of_nulls(value: Any, schema: Schema | None) -> None:
    columns = TableColumns(Evolution.ADD, arrow_columns("n BIGINT, s STRING"), True)
    if schema is None:
        assert rows(columns, {"n": 1}, value, {"n": 2}) == ([{"n": 1, "s": None}, {"n": 2, "s": None}], [1])
    refused: list[int] = []
    assert not list(columns.convert(ValueBatch(schema, [str(value)]), lambda index, error: refused.append(index)))
    assert refused == [0]


def test_a_value_that_is_not_an_object_is_stored_in_the_column_value_if_there_is_one() -> None:
    columns = TableColumns(Evolution.ADD, arrow_columns("value BIGINT"), True)
    assert rows(columns, 5, {"value": 6}, {"other": 7}) == ([{"value": 5}, {"value": 6}, {"value": None}], [])


@pytest.mark.parametrize(
    ("ddl", "wrong"),
    [
        ("a STRUCT<x: BIGINT>", [5, "text", [1], []]),
        ("a ARRAY<STRUCT<x: BIGINT>>", [5, "text", [5], {"x": 1}]),
        ("a ARRAY<BIGINT>", [5, "text", {"x": 1}]),
        ("a MAP<STRING, STRUCT<x: BIGINT>>", [5, "text", [5], {"x": 5}]),
        ("a STRING", [{"x": 1}, [1]]),
    ],
)
def test_a_field_of_another_kind_is_refused(ddl: str, wrong: list[Any]) -> None:
    for value in wrong:
        columns = TableColumns(Evolution.ADD, arrow_columns(ddl), True)
        assert rows(columns, {"a": None}, {"a": value}) == ([{"a": None}], [1]), value


def test_other_fields_are_discarded() -> None:
    columns = TableColumns(Evolution.DISCARD)
    assert rows(columns, {"n": 1, "s": {"a": 1}}) == ([{"n": 1, "s": {"a": 1}}], [])
    assert rows(columns, {"n": 2, "m": 1, "s": {"b": 1}}, {"n": "text"}) == ([{"n": 2, "s": {"a": None}}], [1])
    assert columns.schema == pa.schema({"n": pa.int64(), "s": pa.struct({"a": pa.int64()})})


def test_evolving_columns_become_wider_for_numbers_that_do_not_fit() -> None:
    columns = TableColumns(Evolution.EVOLVE)
    columns.know(pa.schema({"n": pa.int32(), "f": pa.float32(), "s": pa.struct({"d": pa.decimal128(4, 2)})}))
    assert rows(columns, {"n": 1}) == ([{"n": 1, "f": None, "s": None}], [])
    assert columns.schema.field("n").type == pa.int32()
    assert rows(columns, {"n": 1 << 40, "f": 0.1, "s": {"d": Decimal("123.45")}, "new": "x"}) == (
        [{"n": 1 << 40, "f": 0.1, "s": {"d": Decimal("123.45")}, "new": "x"}], []
    )  # fmt: skip
    assert columns.schema == pa.schema(
        {"n": pa.int64(), "f": pa.float64(), "s": pa.struct({"d": pa.decimal128(5, 2)}), "new": pa.string()}
    )
    assert rows(columns, {"n": "text"}, {"n": 1.5}, {"s": {"d": Decimal("0.123")}}) == ([], [0, 1, 2])


def test_fields_that_differ_only_in_case_do_not_fit_after_spark_has_refused_them() -> None:
    columns = TableColumns(Evolution.ADD)
    assert rows(columns, {"id": 1, "s": {"a": 1, "A": 2}}, {"ID": 2})[1] == []
    assert columns.fold_case() and not columns.fold_case()
    assert rows(columns, {"id": 1, "s": {"a": 1}}, {"ID": 2}, {"id": 3, "s": {"A": 2}}, {"id": 4}) == (
        [{"id": 1, "s": {"a": 1}}, {"id": 4, "s": None}], [1, 2]
    )  # fmt: skip
