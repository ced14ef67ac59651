"""The JSON and properties forms of a config: equal content, and the position of each key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.config.text import ConfigFormat, read, write

CHARACTERS = st.characters(codec="utf-8")
KEYS = st.text(CHARACTERS, min_size=1)
VALUES = st.text(CHARACTERS)


@given(st.dictionaries(KEYS, VALUES))
@pytest.mark.parametrize("form", list(ConfigFormat))
def test_a_written_config_is_read_back(form: ConfigFormat, config: dict[str, str]) -> None:
    text = write(config, form)
    found = read(text, form)
    assert found.config == config and not found.problems
    assert "\n".join(text.splitlines()) == text.removesuffix("\n"), "an editor splits lines where str.splitlines() does"


def test_positions_of_keys() -> None:
    found = read('{\n  "a": 1,\n  "b.c": {"x": 1}\n}', ConfigFormat.JSON)
    assert (found.places["a"].line, found.places["a"].column) == (2, 8)
    assert "must be a string" in found.problems[0].message and found.problems[0].place.line == 3
    found = read("# comment\n\n a = x\\\n  y\nb:2\na=1", ConfigFormat.PROPERTIES)
    assert found.config == {"a": "1", "b": "2"}
    assert [str(one) for one in found.problems] == ["line 6, column 3: duplicate key a"]
    assert found.places["b"].line == 5


def test_syntax_errors_have_a_position() -> None:
    assert read('{"a": }', ConfigFormat.JSON).problems[0].place.column == 7
    assert "object" in read("[1]", ConfigFormat.JSON).problems[0].message


def test_the_body_of_a_post_request_is_accepted() -> None:
    found = read('{"name": "x", "config": {"a": 1, "b": true, "c": null}}', ConfigFormat.JSON)
    assert found.config == {"a": "1", "b": "true"}
