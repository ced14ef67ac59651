"""Characters that the encoding of a terminal lacks."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper

import pytest

from tui.appearance.encoding import draw_similar_characters


@pytest.mark.parametrize(
    ("encoding", "drawn"),
    [
        ("latin-1", "* RUNNING + | x ?? \xe9 ."),
        ("ascii", "* RUNNING + | x ?? ? ."),
        ("utf-8", "● RUNNING ╭ │ ✗ 中 é …"),
    ],
)
def test_characters_that_the_encoding_lacks_are_drawn_as_similar_ones_of_the_same_width(
    encoding: str, drawn: str
) -> None:
    buffer = BytesIO()
    stream = TextIOWrapper(buffer, encoding=encoding, errors="backslashreplace")
    draw_similar_characters(stream)
    stream.write("● RUNNING ╭ │ ✗ 中 é …")
    stream.flush()
    assert buffer.getvalue().decode(encoding) == drawn
