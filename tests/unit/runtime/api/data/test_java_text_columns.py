"""java_text() for batches: the same text as value by value."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.api.data.columns import ConstantColumn, ValueBatch
from runtime.api.data.java_text import java_text
from runtime.api.data.java_text_columns import java_texts

COLUMNS = {
    "whole": st.integers(-(2**70), 2**70),
    "float": st.floats() | st.floats(-1e8, 1e8) | st.sampled_from((0.0, -0.0, 1e-3, 1e7, 0.00099)),
    "named": st.sampled_from((True, False, None)),
    "text": st.text() | st.none(),
    "mixed": st.integers() | st.booleans() | st.none() | st.lists(st.floats()),
}


@given(st.data())
def test_maps_have_the_same_text_in_a_batch_and_alone(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.fixed_dictionaries(COLUMNS), min_size=1, max_size=8))
    assert list(java_texts(ValueBatch(None, rows))) == [java_text(row) for row in rows]


@pytest.mark.parametrize(
    "column",
    [[1.5, math.nan, 2.5], [0.0, -0.0], [1e7, 1.0], [0.001, 999999.5], [math.inf, 1.0], [2**63, 2**64], [True, None]],
)
def test_columns_at_the_limits_of_their_types(column: list[Any]) -> None:
    rows = [{"a": value} for value in column]
    assert list(java_texts(ValueBatch(None, rows))) == [java_text(row) for row in rows]


def test_constants_are_part_of_the_common_text() -> None:
    columns = {"b": ConstantColumn(1.0, 2), "a": ConstantColumn(None, 2)}
    assert java_texts(ValueBatch.maps(columns, 2)) == ["{a=null, b=1.0}"] * 2
    assert java_texts(ValueBatch.maps({**columns, "c": [1, 2]}, 2)) == ["{a=null, b=1.0, c=1}", "{a=null, b=1.0, c=2}"]
