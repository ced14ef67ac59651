"""Output of child processes: lines, long lines, and output without line ends."""

from __future__ import annotations

import time

from runtime.logs.formats import CUT_MARK, MAX_RAW_LINE, OutputLines


def test_lines_are_joined_from_chunks() -> None:
    lines = OutputLines()
    assert [*lines.feed(b"one\ntw"), *lines.feed(b"o\n\nthr"), *lines.feed(b"ee"), *lines.close()] == [
        "one",
        "two",
        "",
        "three",
    ]


def test_a_long_line_is_cut_once() -> None:
    lines = OutputLines(10)
    assert list(lines.feed(b"0123456789")) == []
    assert list(lines.feed(b"abc")) == [f"0123456789{CUT_MARK}"]
    assert list(lines.feed(b"def\nnext\n")) == ["next"]
    assert list(lines.feed(b"x" * 25 + b"\nlast")) == [f"{'x' * 10}{CUT_MARK}"]
    assert list(lines.close()) == ["last"]


def test_output_without_line_ends_takes_bounded_memory_and_time() -> None:
    lines, started = OutputLines(), time.thread_time()
    found = [line for _ in range(2_000) for line in lines.feed(b"." * 65_536)]
    assert time.thread_time() - started < 2.0
    assert [len(line) for line in found] == [MAX_RAW_LINE + len(CUT_MARK)]
    assert list(lines.close()) == []
