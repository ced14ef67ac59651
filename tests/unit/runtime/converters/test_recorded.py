"""Converters against recorded results of Apache Kafka Connect 4.3.0 (java_answers.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.api.data.java_text import java_text
from runtime.api.errors import ConnectError
from runtime.api.literals.literals import header_text, parse_literal
from tests.support.tasks.json_converter import json_converter

ANSWERS = json.loads(Path(__file__).with_name("java_answers.json").read_text("utf-8"))
BEYOND_PYTHON = ('"payload": 1152921504606846976', '"payload": 86400000}')  # neither a date nor a time of day


@pytest.mark.parametrize(("text", "header", "envelope"), ANSWERS["literals"])
def test_literals(text: str, header: str | None, envelope: str | None) -> None:
    schema, value = parse_literal(text)
    assert (None if value is None else header_text(value, schema)) == header
    if envelope is not None:
        assert (json_converter(True).from_connect("t", schema, value) or b"").decode() == envelope


@pytest.mark.parametrize(("text", "written", "message", "shown"), ANSWERS["envelopes"])
def test_envelopes(text: str, written: str | None, message: str | None, shown: str | None) -> None:
    if any(end in text for end in BEYOND_PYTHON):
        pytest.skip("Python has no such date")
    converter = json_converter(True)
    try:
        schema, value = converter.to_connect("t", text.encode())
        data = converter.from_connect("t", schema, value)
    except ConnectError as error:
        assert written is None
        if message is not None and "Decimal field" not in message and "default" not in message:
            assert str(error) == message
        return
    if written is None and "default" in text and '"fields"' in text:
        return  # Java fails on defaults of structs
    assert (None if data is None else data.decode()) == written
    if shown is not None:
        assert java_text(value, schema) == shown


@pytest.mark.parametrize(("text", "written", "refused"), ANSWERS["payloads"])
def test_payloads_without_schemas(text: str, written: str | None, refused: bool) -> None:
    converter = json_converter(False)
    if refused:
        with pytest.raises(ConnectError):
            converter.to_connect("t", text.encode())
        return
    schema, value = converter.to_connect("t", text.encode())
    assert schema is None
    data = converter.from_connect("t", None, value)
    found = None if data is None else data.decode("utf-8", "replace")
    if "ud800" not in text:
        assert found == written
