"""Bytes as text: JSON on several lines is the same JSON, number for number and key for key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui.screens.dead_letters.letter_editor import LetterEditor, edited
from tui.screens.topics import record_text
from tui.topics.byte_views import ByteView, compacted, indented, next_view, shown
from tui.topics.decoding import RecordDecoder
from tui.topics.records import TopicRecord

EXACT = '{"price":10.00,"sum":1234567890.12345678901,"big":1e400,"n":9007199254740993,"twice":1,"twice":2}'


@pytest.mark.parametrize(
    "value", [{}, [], 1, "a", {"a": []}, {"a": {}, "b": [1, [2, {"c": None}], 'x,{]:\\" y']}, [[[]]]]
)
def test_json_is_indented_as_by_the_standard_library(value: Any) -> None:
    assert indented(json.dumps(value)) == json.dumps(value, indent=2)
    assert compacted(json.dumps(value, indent=3)) == json.dumps(value, separators=(",", ":"))


def test_numbers_and_keys_stay_as_they_are() -> None:
    assert compacted(indented(EXACT)) == EXACT
    assert '"sum": 1234567890.12345678901,' in shown(EXACT.encode(), ByteView.JSON)


@pytest.mark.parametrize(
    ("value", "views"),
    [(b'{"a":1}', "text hex JSON"), (b"a", "hex JSON hex"), (b"\xff", "hex JSON hex"), (None, "JSON JSON JSON")],
)
def test_each_press_of_the_key_shows_something_else(value: bytes | None, views: str) -> None:
    seen = [ByteView.JSON]
    for _ in range(3):
        seen.append(next_view(tuple(ByteView), seen[-1], lambda view: shown(value, view)))
    assert [view.value for view in seen[1:]] == views.split()


@pytest.mark.parametrize(("value", "views"), [(b'{"a":1}', "text hex decoded"), (b"a", "hex decoded hex")])
def test_each_press_of_the_key_shows_a_record_differently(value: bytes, views: str) -> None:
    converter = "org.apache.kafka.connect.storage.StringConverter"
    record = RecordDecoder("", converter).decoded(TopicRecord("t", 0, 0, value=value))
    seen: list[ByteView | None] = [None]
    for _ in range(3):
        seen.append(record_text.next_view(record, seen[-1]))
    assert [view.value if view else "decoded" for view in seen[1:]] == views.split()


def test_an_edited_dead_letter_differs_only_where_it_was_edited() -> None:
    editor = LetterEditor("t-0@1", EXACT.encode())
    assert edited(EXACT.encode(), editor.before.replace("10.00", "11.00")) == EXACT.replace("10.00", "11.00").encode()


def test_escapes_are_legible_unless_they_hide_a_control_character() -> None:
    assert (
        indented(r'["gr\u00fcn", "\u0007", "\ud800", "\u200b"]')
        == '[\n  "grün",\n  "\\u0007",\n  "\\ud800",\n  "\\u200b"\n]'
    )


def test_a_large_value_is_edited_whole() -> None:
    value = json.dumps(list(range(40_000)), separators=(",", ":")).encode()
    editor = LetterEditor("t-0@1", value)
    assert edited(value, editor.before) == value


def test_other_text_is_refused() -> None:
    for wrong in ("{", "a: b", ""):
        with pytest.raises(ValueError):
            indented(wrong)
