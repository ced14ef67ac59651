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


def test_a_value_that_is_too_long_for_the_name_of_its_folder_is_an_error_of_its_record() -> None:
    columns = TableColumns(Evolution.ADD, folders=["c", "absent"])
    longest = {"c": "x" * 253}
    too_long = ({"c": "x" * 254}, {"c": "\u6771" * 85}, {"c": "x" * 247 + "/[" + "\x01"})
    assert rows(columns, longest, *too_long, {"c": None}, {"c": ""}) == ([longest, {"c": None}, {"c": ""}], [1, 2, 3])
    assert rows(columns, {"c": 1}) == ([{"c": "1"}], [])
    assert rows(TableColumns(Evolution.ADD), too_long[0]) == ([too_long[0]], [])


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


_NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("TINYINT", [128, 1.5, "128", Decimal("7.5"), float("nan")]),
        ("INT", [1 << 31, 2.0**31, "2147483648", "x"]),
        ("BIGINT", [1 << 63, 2.0**63, _NOON, float("nan")]),
        ("FLOAT", [1e39, -1e39, 1e-50, "1e39", Decimal("1e38") * 9, (1 << 24) + 1]),
        ("DOUBLE", ["1e400", (1 << 53) + 1]),
        ("DECIMAL(5,2)", [1000, 123.456, 1e-3, "1.234", Decimal("1000"), Decimal("NaN"), float("nan"), float("inf")]),
        ("BOOLEAN", [2, -1, 0.5, "yes"]),
        ("DATE", [_NOON, 1 << 31, "2026-13-01", "2026-01-02T12:00:00Z"]),
        ("TIMESTAMP", [1767355200, 1767355200000, 1.5, "2026-01-02 12:00:00", "2026-01-02T12:00:00.1234567Z"]),
        ("TIMESTAMP_NTZ", [1767355200000, "2026-01-02T12:00:00Z"]),
        ("STRING", [b"\xff", "\ud800"]),
        ("ARRAY<TIMESTAMP>", [[1767355200000]]),
        ("MAP<STRING, INT>", [{"k": 1.5}, {"k": 1 << 31}, {None: 1}]),
        ("STRUCT<x: ARRAY<STRUCT<y: FLOAT>>>", [{"x": [{"y": 1.0}, None, {"y": 1e39}]}]),
    ],
)
def test_a_value_that_would_change_is_refused(kind: str, wrong: list[Any]) -> None:
    for value in wrong:
        columns = TableColumns(Evolution.ADD, arrow_columns(f"a {kind}"), True)
        assert rows(columns, {"a": None}, {"a": value}) == ([{"a": None}], [1]), value


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        ("FLOAT", 0.5, 0.5),
        ("FLOAT", float("inf"), float("inf")),
        ("FLOAT", "-Infinity", float("-inf")),
        ("DECIMAL(5,2)", 999, Decimal("999.00")),
        ("DECIMAL(5,2)", 3 * 19.99, Decimal("59.97")),
        ("DECIMAL(38,10)", 1234567.1, Decimal("1234567.1")),
        ("BOOLEAN", 1, True),
        ("DATE", 20455, dt.date(2026, 1, 2)),
        ("DATE", dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.date(2026, 1, 2)),
        ("TIMESTAMP", "2026-01-02T14:00:00+02:00", _NOON),
        ("TIMESTAMP", _NOON, _NOON),
        ("STRUCT<x: STRUCT<y: FLOAT>>", {"x": {"y": None}}, {"x": {"y": None}}),
    ],
)
def test_a_value_of_another_type_is_stored_if_nothing_is_lost(kind: str, value: Any, stored: Any) -> None:
    columns = TableColumns(Evolution.ADD, arrow_columns(f"a {kind}"), True)
    assert rows(columns, {"a": value}, {"a": None}) == ([{"a": stored}, {"a": None}], [])


def test_a_map_has_only_the_keys_of_its_own_record() -> None:
    kind = "a MAP<STRING, INT>, b ARRAY<STRUCT<m: MAP<STRING, STRING>>>"
    columns = TableColumns(Evolution.ADD, arrow_columns(kind), True)
    found, refused = rows(
        columns,
        {"a": {"x": 1}, "b": [{"m": {"p": "q"}}, {"m": {}}]},
        {"a": {"y": None}, "b": None},
        {"a": {}, "b": [{"m": None}, None]},
    )
    assert not refused
    assert found == [
        {"a": [("x", 1)], "b": [{"m": [("p", "q")]}, {"m": []}]},
        {"a": [("y", None)], "b": None},
        {"a": [], "b": [{"m": None}, None]},
    ]
