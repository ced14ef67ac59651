"""Text of values as Java's toString() prints them."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.data.java_text import JavaMap, java_text
from runtime.api.data.schema import Schema, Type
from tests.support.tasks.schemas import LINE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (12345678901234, "12345678901234"), (1000.0, "1000.0"), (1e7, "1.0E7"),
        (9999999.0, "9999999.0"), (1e8, "1.0E8"), (0.001, "0.001"), (1.5e-5, "1.5E-5"), (-0.0, "-0.0"), (0.1, "0.1"),
        (123456.789, "123456.789"), (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (-2.5e300, "-2.5E300"),
        ([1, "a", None], "[1, a, null]"), ({"b": 1, "a": {"c": [1, {"d": None}]}}, "{a={c=[1, {d=null}]}, b=1}"),
        ({"schema": {"type": "string"}, "payload": "p"}, "{schema={type=string}, payload=p}"),
    ],
)  # fmt: skip
def test_java_text(value: Any, text: str) -> None:
    assert java_text(value) == text


def test_java_text_of_typed_values() -> None:
    assert java_text({"line": "a", "n": None}, LINE) == "Struct{line=a}"
    assert java_text(0.1, Schema(Type.FLOAT32)) == "0.1"
    assert java_text(0.10000000149011612, Schema(Type.FLOAT32)) == "0.1"
    assert java_text(16777216.0, Schema(Type.FLOAT32)) == "1.6777216E7"


def test_a_copy_of_an_empty_map_has_the_default_capacity() -> None:
    """As `new HashMap(Map.of())`: its table is created by the first entry."""
    made = JavaMap.copy_of({})
    made.update({"nto": 1, "q": 2})
    assert java_text(made) == "{q=2, nto=1}"
