"""Rows of readers as columns: by name or by position."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from runtime.api.errors import ConnectError
from runtime.connectors.data_source.columns import column_pieces

NAMES = ("city", "name")


def rows(*given: Any) -> list[tuple[Any, ...]]:
    return [row for piece in column_pieces(iter(given), NAMES, 2, 0) for row in zip(*piece, strict=True)]


def test_named_rows_and_arrow_columns_are_assigned_by_name() -> None:
    batch = pa.RecordBatch.from_pydict({"name": ["Bob"], "city": ["Oslo"]})
    given = (("Rome", "Ann"), Row(name="Ann", city="Rome"), Row("Rome", "Ann"), ["Rome", "Ann"], batch)
    assert rows(*given) == [("Rome", "Ann")] * 4 + [("Oslo", "Bob")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"city": "Rome", "name": "Ann"}, "returned dict as a row"),
        ("ab", "returned str as a row"),
        (None, "returned NoneType as a row"),
        (("Rome",), "rows with 1 values; the schema has 2"),
        ((), "rows with 0 values; the schema has 2"),
        (Row(name="Ann", town="Rome"), "the columns name, town; the schema has city, name"),
        (pa.RecordBatch.from_pydict({"name": ["Ann"]}), "the columns name; the schema has city, name"),
    ],
)
def test_other_rows_are_errors(row: Any, message: str) -> None:
    with pytest.raises(ConnectError, match=message):
        rows(("Rome", "Ann"), row)
