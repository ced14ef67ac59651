"""The order of rows by the texts of a column."""

from __future__ import annotations

import pytest

from tui.widgets.columns import Column
from tui.widgets.sorting import ColumnOrder, natural, number

NAME, LAG = Column("name", "NAME", 10), Column("lag", "LAG", 8, right=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234", 1234),
        ("12.3k", 12_300),
        ("2M behind", 2e6),
        ("-5", -5),
        ("5 min", 300),
        ("3/7", 3),
        ("-", None),
        ("…", None),
    ],
)
def test_numbers(text: str, expected: float | None) -> None:
    assert number(text) == expected


def test_names_with_numbers_are_in_their_order() -> None:
    names = ["orders-10", "Orders-2", "a", "10", "9", "-"]
    assert sorted(filter(natural, names), key=lambda name: natural(name) or ()) == [
        "9",
        "10",
        "a",
        "Orders-2",
        "orders-10",
    ]


def test_unknown_values_are_last_in_both_directions() -> None:
    texts = {"a": "5", "b": "-", "c": "1.2k", "d": "5"}
    down, up = ColumnOrder("lag", True), ColumnOrder("lag", False)
    assert down.sorted(list(texts), texts.__getitem__, is_number=True) == ["c", "a", "d", "b"]
    assert up.sorted(list(texts), texts.__getitem__, is_number=True) == ["a", "d", "c", "b"]
    assert ColumnOrder().sorted(["b", "a"], texts.__getitem__, is_number=True) == ["b", "a"]


def test_clicks_and_keys_go_through_the_orders() -> None:
    order, clicks = ColumnOrder(), []
    for column in (LAG, LAG, LAG, NAME, LAG):
        order = order.then(column)
        clicks.append((order.column, order.arrow if order.column else ""))
    assert clicks == [("lag", "↓"), ("lag", "↑"), ("", ""), ("name", "↑"), ("lag", "↓")]
    order, keys = ColumnOrder(), []
    for _ in range(6):
        order = order.following([NAME, LAG])
        keys.append((order.column, order.arrow if order.column else ""))
    assert keys == [("name", "↑"), ("name", "↓"), ("lag", "↓"), ("lag", "↑"), ("", ""), ("name", "↑")]
