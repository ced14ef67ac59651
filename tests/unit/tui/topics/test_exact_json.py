"""Numbers of records keep their digits on screens, in output and in what is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tui.commands.cluster import dead_letters
from tui.commands.result import Result
from tui.script.output import render
from tui.topics import exact_json
from tui.topics.byte_views import bytes_of
from tui.topics.decoding import DecodedRecord, RecordDecoder
from tui.topics.exact_json import ExactNumber
from tui.topics.record_diff import differences
from tui.topics.records import TopicRecord

EXACT = '{"id": 9007199254740993, "sum": 1234567890.12345678901, "price": 1.10, "big": 1e400, "plus": 1E+2}'


def decoded(value: str, converter: str = "") -> DecodedRecord:
    return RecordDecoder("", converter).decoded(TopicRecord("t", 0, 0, 0, None, value.encode(), ()))


@pytest.mark.parametrize(
    ("value", "converter", "shown"),
    [
        (EXACT, "", EXACT),
        (EXACT, "JsonConverter", EXACT),
        ('{"schema": null, "payload": {"a": [0.10]}}', "JsonConverter", '{"a": [0.10]}'),
        ("1.10", "JsonConverter", "1.10"),
    ],
)
def test_a_decoded_record_keeps_digits(value: str, converter: str, shown: str) -> None:
    record = decoded(value, converter)
    assert record.value.line == shown
    assert "".join(record.value.text.split()) == shown.replace(" ", "")
    assert exact_json.dumps(record.as_json()).count(shown) == 1


def test_numbers_that_a_float_cannot_tell_apart_differ() -> None:
    first, second = (
        decoded('{"a": 1234567890.12345678901, "b": 1.10}'),
        decoded('{"a": 1234567890.12345678902, "b": 1.1}'),
    )
    assert [(each.field, each.texts) for each in differences(first, second)] == [
        ("value.a", ("1234567890.12345678901", "1234567890.12345678902"))
    ]
    assert not differences(decoded('[1, 2.0, {"a": 1e2}]'), decoded('[1.0, 2, {"a": 100}]'))


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_output_keeps_digits(form: str) -> None:
    printed = render(Result([decoded(EXACT).as_json()]), form)
    assert EXACT.replace(" ", "") in "".join(printed.split())


def test_yaml_keeps_digits() -> None:
    printed = render(Result(exact_json.loads('{"sum": 1234567890.12345678901, "price": 1.10}')), "yaml")
    assert printed == "sum: 1234567890.12345678901\nprice: 1.10\n"
    assert yaml.safe_load(render(Result(exact_json.loads('{"plus": 1E+2}')), "yaml")) == {"plus": 100.0}


def test_an_edited_dead_letter_is_sent_with_its_digits(tmp_path: Path) -> None:
    line = '{"partition": 0, "offset": 7, "value": {"sum":1234567890.12345678901,"price":1.10}}'
    for text in (line, f"{line}\n{line}", f"[{line}]"):
        sent = dict(dead_letters._edited(text, "fixed.jsonl"))
        assert sent == {"0@7": b'{"sum":1234567890.12345678901,"price":1.10}'}


@pytest.mark.parametrize("text", ["1e99999999999999999999", "[" * 100_000])
def test_values_beyond_all_limits_are_text(text: str) -> None:
    with pytest.raises(ValueError, match="too"):
        exact_json.loads(text)
    assert decoded(text).value.form == "text"


@pytest.mark.parametrize("value", [{}, [], None, {"a": [1, "x", True]}, "é"])
def test_other_values_are_written_as_by_the_standard_library(value: Any) -> None:
    for options in ({}, {"indent": 2}, {"ensure_ascii": False, "sort_keys": True}):
        assert exact_json.dumps(value, **options) == json.dumps(value, **options)
    assert bytes_of({"a": ExactNumber("1.10")}) == b'{"a":1.10}'
