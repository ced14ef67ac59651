"""Partial lines: the start of the last word, and its completion inside an open quote."""

from __future__ import annotations

import shlex

import pytest

from tui.script.completing import complete, hint
from tui.script.grammar import split
from tui.script.quoting import FISH, SHELL, unfinished

NAMES = ("a b", "it's", 'say "hi"', "back\\slash", "#hash", "{json}", "tab\there", "plain", "ünïcode", "what !x")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quote", ["", "'", '"'])
@pytest.mark.parametrize("typed", [0, 1, 2])
def test_a_completed_name_is_read_as_itself_in_any_quote(name: str, quote: str, typed: int) -> None:
    partial = unfinished(f"stop {quote}{name[:typed]}" if name[:typed].isalpha() or not typed else f"stop {quote}")
    assert split(partial.with_last(name)) == ["stop", name]
    assert shlex.split(partial.with_last(name, SHELL)) == ["stop", name]


def test_open_quotes_remain_open() -> None:
    assert unfinished("stop 'a b").quote == "'" and unfinished("stop 'a b").text == "a b"
    assert unfinished("stop a\\ b c")[1:] == (("stop", "a b"), 10, "c", "")
    assert unfinished("stop a\\").line == "stop a"
    assert unfinished("'it'\\''s", SHELL).text == "it's" == unfinished(r"'it\'s'", FISH).text
    assert unfinished('"a\\$b', SHELL).text == "a$b" and unfinished('"a\\$b').text == "a\\$b"


def test_lines_complete_inside_quotes_and_after_backslashes() -> None:
    names = ["two words", "two-words", "other"]
    assert complete("stop two", names) == ["stop two\\ words", "stop two-words"]
    assert complete("stop 'two", names) == ["stop 'two words'", "stop 'two-words'"]
    assert complete("stop 'two w", names) == ["stop 'two words'"]
    assert complete("stop two\\ ", names) == ["stop two\\ words"]
    assert complete("stop 'two words' o", names) == ["stop 'two words' other"]
    assert complete("stop 'two words'", names) == []
    assert hint("stop 'two", names) == "'two words'  'two-words'"
