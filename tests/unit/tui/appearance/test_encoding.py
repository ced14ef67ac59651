"""Characters that the encoding of a terminal lacks."""

from __future__ import annotations

import ast
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import tui
from tui.appearance.encoding import draw_similar_characters
from tui.formatting import INVISIBLE

# Characters of the console's strings that have no similar one, by the reason.
WITHOUT_SIMILAR = {
    "control characters are drawn as ?": "␀␊␡\ufffd",
    "invisible and control characters, which are escaped": INVISIBLE + "\x9f\ud800\udfff",
    "dashes in a command, which are errors": "\ufe58\ufe63\uff0d",
    "byte order marks": "\udcfe\udcff\ufeff",
}


def drawn(text: str, encoding: str) -> str:
    buffer = BytesIO()
    stream = TextIOWrapper(buffer, encoding=encoding, errors="backslashreplace")
    draw_similar_characters(stream)
    stream.write(text)
    stream.flush()
    return buffer.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("latin-1", "* RUNNING + | x ?? \xe9 ."),
        ("ascii", "* RUNNING + | x ?? ? ."),
        ("utf-8", "● RUNNING ╭ │ ✗ 中 é …"),
    ],
)
def test_characters_that_the_encoding_lacks_are_drawn_as_similar_ones_of_the_same_width(
    encoding: str, expected: str
) -> None:
    assert drawn("● RUNNING ╭ │ ✗ 中 é …", encoding) == expected


def test_each_character_of_the_console_has_a_similar_one_in_ascii() -> None:
    strings = {
        node.value
        for file in Path(tui.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    characters = {char for text in strings for char in text if not char.isascii()}
    assert {char for char in characters if "?" in drawn(char, "ascii")} <= set("".join(WITHOUT_SIMILAR.values()))
