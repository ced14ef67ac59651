"""Splitting a file into lines block by block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.api.errors import ConnectError
from runtime.connectors.file_lines import LineBuffer


def _feed(*blocks: bytes) -> list[tuple[str, int]]:
    buffer = LineBuffer(0)
    return [
        (lines.texts[n].decode("utf-8", "surrogateescape"), lines.position(n))
        for lines in map(buffer.feed, blocks)
        for n in range(len(lines))
    ]


def test_all_line_endings_are_recognized() -> None:
    assert _feed(b"a\nb\r\nc\rd\n\n") == [("a", 2), ("b", 5), ("c", 7), ("d", 9), ("", 10)]


def test_a_carriage_return_at_the_end_waits_for_its_line_feed() -> None:
    assert _feed(b"last\r") == []
    assert _feed(b"last\r", b"\nend\n") == [("last", 6), ("end", 10)]
    assert _feed(b"last\r", b"x") == [("last", 5)]
    assert _feed(b"last\r", b"\r") == [("last", 5)]


def test_positions_are_in_bytes() -> None:
    assert _feed("grün\n日本\nend\n".encode()) == [("grün", 6), ("日本", 13), ("end", 17)]


def test_finish_returns_the_unterminated_line() -> None:
    buffer = LineBuffer(0)
    buffer.feed(b"a\nhal")
    assert (buffer.position, buffer.end) == (2, 5)
    assert buffer.finish() == [b"hal"]
    assert buffer.finish() == []


@pytest.mark.parametrize("whole", [b"a\nbb\nccc\n", b"a\r\nbb\rccc\n"])
def test_slices_keep_their_positions(whole: bytes) -> None:
    lines = LineBuffer(0).feed(whole)
    first = lines.slice(0, 2, lines.start)
    second = lines.slice(2, 2, first.end)
    assert [part.texts for part in (first, second)] == [[b"a", b"bb"], [b"ccc"]]
    positions = [part.position(n) for part in (first, second) for n in range(len(part))]
    assert positions == [lines.position(n) for n in range(3)]
    assert second.end == lines.end == len(whole)


def test_a_line_over_the_limit_is_refused() -> None:
    buffer = LineBuffer(0, max_line=100)
    buffer.feed(b"a\n" + b"x" * 60)
    with pytest.raises(ConnectError, match="position 2"):
        buffer.feed(b"x" * 60)


@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"\r", b"\n", b"\r\n", b"x\n", b"a\rb"]), max_size=12))
def test_the_size_of_blocks_makes_no_difference(blocks: list[bytes]) -> None:
    whole = b"".join([*blocks, b"end\n"])
    found = _feed(*[block for block in [*blocks, b"end\n"] if block])
    expected = whole.splitlines(keepends=True)
    assert [line.encode("utf-8", "surrogateescape") for line, _ in found] == [e.rstrip(b"\r\n") for e in expected]
    assert [position for _, position in found] == [sum(map(len, expected[: n + 1])) for n in range(len(expected))]
