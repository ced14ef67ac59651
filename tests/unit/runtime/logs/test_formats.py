"""The text and JSON formats of log lines."""

from __future__ import annotations

import json
import logging
import time

from runtime.logs.formats import CUT_MARK, FIELDS, MAX_RAW_LINE, JsonFormat, OutputLines, TextFormat


def record(message: str, whose: str = "", level: int = logging.WARNING) -> logging.LogRecord:
    made = logging.LogRecord("some.logger", level, __file__, 1, message, (), None)
    made.created, made.msecs = 0.123, 123.0
    if whose:
        made.context = whose
    return made


def test_the_text_format_is_connects() -> None:
    assert (
        TextFormat(str).format(record("text", "[c|task-0]")).partition("] ")[2] == "WARN [c|task-0] text (some.logger)"
    )
    assert TextFormat(str).format(record("text")).endswith(",123] WARN text (some.logger)")


def test_a_json_record_is_one_line() -> None:
    line = JsonFormat(str).format(record('two\nlines, "quotes" and \udc80', "[c|task-3]", logging.CRITICAL))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00.123+00:00",
        "level": "FATAL",
        "logger": "some.logger",
        "connector": "c",
        "task": 3,
        "message": 'two\nlines, "quotes" and \udc80',
    }
    assert json.loads(JsonFormat(str).format(record("x"))).keys() == {"time", "level", "logger", "message"}


def test_traces_follow_the_message() -> None:
    try:
        raise ValueError("because")
    except ValueError as e:
        failed = record("failed")
        failed.exc_info = (ValueError, e, e.__traceback__)
    assert TextFormat(str).format(failed).endswith("ValueError: because")
    assert json.loads(JsonFormat(str).format(failed))["trace"].endswith("ValueError: because")


def test_structured_lines_are_never_scrubbed() -> None:
    def scrub(text: str) -> str:
        return text.replace("principal=root", "[hidden]")

    audit = record("principal=root status=200")
    audit.__dict__[FIELDS] = {"principal": "root", "status": 200}
    assert "principal=root status=200" in TextFormat(scrub).format(audit)
    line = json.loads(JsonFormat(scrub).format(audit))
    assert (line["principal"], line["status"], line["message"]) == ("root", 200, "principal=root status=200")


def test_secrets_are_hidden_in_both_formats() -> None:
    def scrub(text: str) -> str:
        return text.replace('s"ret', "[hidden]")

    for line_format in (TextFormat(scrub), JsonFormat(scrub)):
        assert "[hidden]!" in line_format.format(record('s"ret!'))


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
