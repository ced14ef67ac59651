"""Names of tables and the filter of a source."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError
from runtime.connectors.jdbc.tables import TableFilter, TableId, like, parse_table, quoted

ORDERS, ITEMS, LOG = TableId("shop", "orders"), TableId("shop", "order items"), TableId(None, "log")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders", TableId(None, "orders")),
        ("shop.orders", TableId("shop", "orders")),
        ("db.shop.orders", TableId("shop", "orders")),
        ('"a.b"."c""d"', TableId("a.b", 'c"d')),
        ("`my table`", TableId(None, "my table")),
    ],
)
def test_names(text: str, expected: TableId) -> None:
    assert parse_table(text) == expected


@pytest.mark.parametrize("text", ["", "a..b", "a.b.c.d", '"open', "a.", '"a"b'])
def test_texts_that_are_not_names(text: str) -> None:
    with pytest.raises(ConfigError, match="not the name of a table"):
        parse_table(text)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (TableFilter(), [LOG, ITEMS, ORDERS]),
        (TableFilter(whitelist=("orders",)), [ORDERS]),
        (TableFilter(whitelist=("shop.orders", "log")), [LOG, ORDERS]),
        (TableFilter(whitelist=('shop."order items"',)), [ITEMS]),
        (TableFilter(blacklist=("log",)), [ITEMS, ORDERS]),
        (TableFilter(include=("shop\\..*",)), [ITEMS, ORDERS]),
        (TableFilter(include=("order.*",), exclude=(".* .*",)), [ORDERS]),
        (TableFilter(include=("ord",)), []),
    ],
)
def test_selection(selection: TableFilter, expected: list[TableId]) -> None:
    assert selection.selected([ORDERS, ITEMS, LOG]) == expected


def test_names_that_no_table_has() -> None:
    assert TableFilter(whitelist=("orders", "other")).missing([ORDERS]) == ["other"]


def test_patterns_of_jdbc() -> None:
    assert like(None, "anything")
    assert like("sh%", "shop") and not like("sh%", "crash")
    assert like("s_op", "shop") and not like("s.op", "shop")
    assert like("", "") and not like("", "shop")


def test_quotes_are_doubled() -> None:
    assert quoted('a"b') == '"a""b"'
