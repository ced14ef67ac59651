"""The JSON parser of the editor: lines and columns of syntax errors and of values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.editor.places import JsonError, TextPosition, parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1, 4]))
def test_json_written_by_python_is_parsed(value: object, indent: int | None) -> None:
    assert parse(json.dumps(value, indent=indent)).value == value
    assert parse(json.dumps(value, indent=indent, ensure_ascii=False)).value == value


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused_with_a_position_inside_it(text: str) -> None:
    try:
        parse(text)
    except JsonError as error:
        lines = text.split("\n")
        assert 1 <= error.place.line <= len(lines)
        assert 1 <= error.place.column <= len(lines[error.place.line - 1]) + 1


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{"a": 1,}', (1, 8), "comma before }"),
        ("[1,\n 2,\n]", (2, 3), "comma before ]"),
        ('{"a": 1\n "b": 2}', (2, 2), "comma or }"),
        ("{a: 1}", (1, 2), "double quotes"),
        ('{"a" 1}', (1, 6), "colon"),
        ('{"a": 1, "a": 2}', (1, 10), "duplicate key"),
        ('{"a": tru}', (1, 7), "tru is not a JSON value"),
        ('{"a": NaN}', (1, 7), "NaN"),
        ('{"a": 012}', (1, 7), "'012' is not a number"),
        ('{"a": 1e400}', (1, 7), "too large"),
        ('{"a": 1.}', (1, 7), "'1.' is not a number"),
        ('{"a": "x}', (1, 7), "closing quote"),
        ('{"a": "x,\n"b": 2}', (1, 7), "no closing quote on this line"),
        ('{"a": "x\t"}', (1, 9), "tab"),
        ('{"a": [1', (1, 7), "has no closing ]"),
        ('{"a":', (1, 6), "unexpected end of the text"),
        ("", (1, 1), "unexpected end of the text"),
        ("{}\n{}", (2, 1), "after the end"),
        ("[" * 100, (1, 66), "nested"),
    ],
)
def test_syntax_errors_have_a_position(text: str, place: tuple[int, int], words: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse(text)
    assert words in caught.value.message
    assert (caught.value.place.line, caught.value.place.column) == place


def test_positions_of_values() -> None:
    parsed = parse('{"offsets": [\n  {"partition": {"a": 1},\n   "offset": null}\n]}')
    assert parsed.place(("offsets", 0)) == TextPosition(2, 3)
    assert parsed.place(("offsets", 0, "partition", "a")) == TextPosition(2, 23)
    assert parsed.place(("offsets", 0, "offset")) == TextPosition(3, 14)
    assert parsed.place(("offsets", 0, "missing")) == TextPosition(2, 3)
