"""Messages as columns are the messages that the client takes one by one."""

from __future__ import annotations

from runtime.api.data.columns import ConstantColumn
from runtime.pipeline.produce.message_columns import MessageColumns


def test_columns_as_messages() -> None:
    columns = MessageColumns([b"a", None, b"c"], [b"k", None, None], [5, None, 7])
    expected = [{"value": b"a", "key": b"k", "timestamp": 5}, {"value": None}, {"value": b"c", "timestamp": 7}]
    assert list(columns) == expected
    assert list(columns[1:]) == expected[1:]
    assert list(columns.arguments()) == [(b"a", b"k", 5, None), (None, None, 0, None), (b"c", None, 7, None)]
    same = MessageColumns([b"a", b"b"], None, ConstantColumn(9, 2))
    assert list(same) == [{"value": b"a", "timestamp": 9}, {"value": b"b", "timestamp": 9}]


def test_headers() -> None:
    headers = [("origin", b"test"), ("empty", None)]
    same = MessageColumns([b"a", b"b"], None, None, ConstantColumn(headers, 2))
    assert list(same) == [{"value": b"a", "headers": headers}, {"value": b"b", "headers": headers}]
    assert list(same.arguments()) == [(b"a", None, 0, headers), (b"b", None, 0, headers)]
    some = MessageColumns([b"a", b"b"], None, [1, 2], [headers, None])
    assert list(some) == [{"value": b"a", "timestamp": 1, "headers": headers}, {"value": b"b", "timestamp": 2}]
