"""Differences of two records, from their decoded parts."""

from __future__ import annotations

from typing import Any

import pytest

from tui.topics.decoding import RecordDecoder
from tui.topics.record_diff import ABSENT, EXCERPT, differences, lines
from tui.topics.records import TopicRecord


def record(value: bytes | None, key: bytes | None = None, *headers: tuple[str, bytes | None]) -> Any:
    return RecordDecoder().decoded(TopicRecord("t", 0, 0, 0, key, value, headers))


def found(before: bytes | None, after: bytes | None) -> list[tuple[str, str, str]]:
    return [(each.field, *each.texts) for each in differences(record(before), record(after))]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (b'{"a": 1, "b": {"c": 2}}', b'{"b": {"c": 3}, "a": 1.0}', [("value.b.c", "2", "3")]),
        (b'{"a": 1}', b'{"b": null}', [("value.a", "1", ABSENT), ("value.b", ABSENT, "null")]),
        (b'{"a": true}', b'{"a": 1}', [("value.a", "true", "1")]),
        (b"[1, 2, 3]", b"[0, 1, 2, 3]", [("value[0]", ABSENT, "0")]),
        (b"[1, 2, 3]", b"[1, 3]", [("value[1]", "2", ABSENT)]),
        (b'[{"a": 1}, {"a": 2}]', b'[{"a": 1}, {"a": 5}]', [("value[1].a", "2", "5")]),
        (b"text", b"test", [("value", '"text"', '"test"')]),
        (b"text", None, [("value", '"text"', "null")]),
        (b'{"a": 1}', b"text", [("value", '{"a": 1}', '"text"')]),
        (b"\xff\x00", b"\xff\x01", [("value", "ff 00", "ff 01")]),
        (b"\xff" * 17 + b"\x00", b"\xff" * 18, [("value", "at 16: ff 00", "at 16: ff ff")]),
        (b"same", b"same", []),
    ],
)
def test_fields_that_differ(before: bytes, after: bytes, expected: list[tuple[str, str, str]]) -> None:
    assert found(before, after) == expected


def test_long_texts_are_shown_from_their_first_difference_on() -> None:
    ((_, before, after),) = found(b"x" * 5000 + b"a" + b"y" * 5000, b"x" * 5000 + b"b" + b"y" * 5000)
    assert max(len(before), len(after)) <= EXCERPT + 1
    assert before.startswith("…xxx") and "xay" in before and "xby" in after and before.endswith("…")


def test_keys_and_headers() -> None:
    first = record(b"v", b"k", ("a", b"1"), ("b", b"2"), ("c", b"3"), ("c", b"4"))
    second = record(b"v", None, ("a", b"1"), ("c", b"3"), ("c", b"5"), ("d", None))
    assert [(each.field, each.before, each.after) for each in differences(first, second)] == [
        ("key", ("k",), (None,)),
        ("header b", ("2",), ()),
        ("header c[1]", ("4",), ("5",)),
        ("header d", (), (None,)),
    ]
    assert differences(first, second)[1].as_json() == {"field": "header b", "before": "2"}


def test_whole_values_as_lines() -> None:
    before, after = record(b'{"b": 1, "a": 2}').value, record(b'{"a": 2, "b": 3}').value
    assert lines(before, after) == [" {", '   "a": 2,', '-  "b": 1', '+  "b": 3', " }"]
    assert lines(before, before) == [" {", '   "a": 2,', '   "b": 1', " }"]
