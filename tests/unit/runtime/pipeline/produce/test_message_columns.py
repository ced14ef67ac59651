"""Messages as columns are the messages that the client takes one by one."""

from __future__ import annotations

from itertools import islice, repeat
from typing import Any

from runtime.api.data.columns import ConstantColumn
from runtime.pipeline.produce.message_columns import MessageColumns


def called(columns: MessageColumns) -> list[tuple[object, ...]]:
    """The arguments of produce() for each message, without a callback."""
    return list(zip(*columns.arguments(iter(columns.values), repeat(None)), strict=False))


def test_columns_as_messages() -> None:
    columns = MessageColumns([b"a", None, b"c"], [b"k", None, None], [5, None, 7])
    expected = [{"value": b"a", "key": b"k", "timestamp": 5}, {"value": None}, {"value": b"c", "timestamp": 7}]
    assert list(columns) == expected
    assert list(columns[1:]) == expected[1:]
    assert called(columns) == [
        (b"a", b"k", -1, None, None, 5, None), (None, None, -1, None, None, 0, None),
        (b"c", None, -1, None, None, 7, None),
    ]  # fmt: skip
    same = MessageColumns([b"a", b"b"], None, ConstantColumn(9, 2))
    assert list(same) == [{"value": b"a", "timestamp": 9}, {"value": b"b", "timestamp": 9}]


def test_equal_messages_end() -> None:
    """A null for each record is a constant column, and so are all others."""
    columns = MessageColumns(ConstantColumn(None, 2), None, None)
    assert list(islice(iter(columns), 9)) == [{"value": None}] * 2
    assert [len(columns[-1]), len(columns[1:])] == [1, 1]


def test_headers() -> None:
    headers = [("origin", b"test"), ("empty", None)]
    same = MessageColumns([b"a", b"b"], None, None, ConstantColumn(headers, 2))
    assert list(same) == [{"value": b"a", "headers": headers}, {"value": b"b", "headers": headers}]
    assert called(same) == [(value, None, -1, None, None, 0, headers) for value in (b"a", b"b")]
    assert called(MessageColumns([b"a"], ConstantColumn(b"k", 1), None)) == [(b"a", b"k", -1, None)]
    some = MessageColumns([b"a", b"b"], None, [1, 2], [headers, None])
    assert list(some) == [{"value": b"a", "timestamp": 1, "headers": headers}, {"value": b"b", "timestamp": 2}]


def test_messages_as_columns() -> None:
    headers = [("origin", b"test")]
    messages: list[dict[str, Any]] = [
        {"value": b"a", "partition": 3},
        {"value": None, "key": b"k", "timestamp": 5},
        {"value": b"c", "headers": headers},
    ]
    columns = MessageColumns.of(messages)
    assert list(columns) == [messages[0], messages[1], messages[2]]
    assert called(columns) == [
        (b"a", None, 3, None, None, 0, None), (None, b"k", -1, None, None, 5, None),
        (b"c", None, -1, None, None, 0, headers),
    ]  # fmt: skip
    assert called(MessageColumns.of([{"value": b"a"}])) == [(b"a", None, -1, None)]
