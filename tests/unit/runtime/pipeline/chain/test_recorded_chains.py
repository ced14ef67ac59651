"""Records converted from bytes, transformed by a chain and converted back, compared with Apache Connect 4.3.0.

java_chains.jsonl was recorded from Apache's converters, transformations and predicates: some cases written by hand,
most random.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.java_text import java_text
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.task.failure import java_name
from runtime.plugins.registry import load

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("java_chains.jsonl").read_text("utf-8").splitlines()]


class _Refused(Exception):
    """The error of a stage."""

    def __init__(self, stage: str, plugin: str, error: Exception) -> None:
        super().__init__(stage)
        self.stage, self.plugin, self.error = stage, plugin, error


def _made(kind: str, named: list[Any], **more: str) -> Any:
    plugin = load(kind, named[0])()
    plugin.configure({**named[1], **more})
    return plugin


def _converters(asked: dict[str, Any]) -> tuple[Any, Any, Any]:
    key, value = load("converter", asked["key"][0])(), load("converter", asked["value"][0])()
    key.configure(asked["key"][1], True)
    value.configure(asked["value"][1], False)
    return key, value, _made("header_converter", asked["header"], **{"converter.type": "header"})


def _steps(asked: list[list[Any]]) -> list[tuple[str, ChainStep]]:
    return [
        (one[0], ChainStep(_made("transformation", one), _made("predicate", one[2:]), one[4]))
        if len(one) > 2
        else (one[0], ChainStep(_made("transformation", one)))
        for one in asked
    ]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _stage(stage: str, plugin: str, call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        raise _Refused(stage, plugin, error) from error


def _read(asked: dict[str, Any]) -> SinkRecord | SourceRecord:
    key, value, header = _converters(asked["in"])
    names = {part: named[0] for part, named in asked["in"].items()}
    key_schema, a_key = _stage("KEY_CONVERTER", names["key"], lambda: key.to_connect("t-1", _bytes(asked["key"])))
    schema, a_value = _stage("VALUE_CONVERTER", names["value"], lambda: value.to_connect("t-1", _bytes(asked["value"])))
    headers = _stage(
        "HEADER_CONVERTER",
        names["header"],
        lambda: [(name, *header.to_connect_header("t-1", name, _bytes(text))) for name, text in asked["headers"]],
    )
    if asked["sink"]:
        offset = asked.get("offset", 42)
        return SinkRecord(
            "t-1", asked["partition"], key_schema, a_key, schema, a_value, offset, asked["timestamp"], 0, headers
        )
    return SourceRecord(
        {}, {}, "t-1", a_value, schema, a_key, key_schema, asked["partition"], asked["timestamp"], headers
    )


def _written(asked: dict[str, Any], record: Any) -> dict[str, Any]:
    key, value, header = _converters(asked["out"])
    stage = "HEADER_CONVERTER"
    try:
        headers = [
            [name, _text(header.from_connect_header(record.topic, name, schema, item))]
            for name, schema, item in record.headers or ()
        ]
        stage = "KEY_CONVERTER"
        key_text = _text(key.from_connect(record.topic, record.key_schema, record.key))
        stage = "VALUE_CONVERTER"
        value_text = _text(value.from_connect(record.topic, record.value_schema, record.value))
    except Exception as error:
        return {"stage": stage, "error": java_name(error)}
    return {"key": key_text, "value": value_text, "headers": headers}


def _outcome(asked: dict[str, Any]) -> dict[str, Any]:
    steps = _steps(asked["steps"])
    try:
        record: Any = _read(asked)
        for name, step in steps:
            record = _stage("TRANSFORMATION", name, lambda step=step, record=record: step.apply(record))
            if record is None:
                return {"dropped": True}
    except _Refused as refused:
        return {"stage": refused.stage, "at": refused.plugin, "error": java_name(refused.error)}
    shown = java_text(record.value, record.value_schema)
    return {"topic": record.topic, "shown": shown, "written": _written(asked, record)}


@pytest.mark.parametrize(("asked", "answer"), ANSWERS, ids=[f"case{n}" for n in range(len(ANSWERS))])
def test_results_equal_those_of_apache_connect(asked: dict[str, Any], answer: dict[str, Any]) -> None:
    assert _outcome(asked) == answer
