"""The examples in the documentation of Connect's transformations."""

from __future__ import annotations

from typing import Any

from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import STRING_SCHEMA
from runtime.pipeline.chain.step import ChainStep
from tests.support.tasks.json_converter import json_converter
from tests.support.tasks.transforms import chain, predicate, transformation


def _json(record: Any) -> str:
    return (json_converter(False).from_connect("t", record.value_schema, record.value) or b"").decode()


def test_lines_of_a_file_become_maps_with_their_source() -> None:
    lines = [SourceRecord({}, {}, "connect-test", line, STRING_SCHEMA) for line in ("foo", "bar", "hello world")]
    assert [_json(record) for record in lines] == ['"foo"', '"bar"', '"hello world"']
    make_map = ChainStep(transformation("HoistField$Value", {"field": "line"}))
    insert_source = ChainStep(
        transformation("InsertField$Value", {"static.field": "data_source", "static.value": "test-file-source"})
    )
    found = chain(make_map, insert_source).run(lines).records
    assert [_json(record) for record in found] == [
        '{"line":"foo","data_source":"test-file-source"}',
        '{"line":"bar","data_source":"test-file-source"}',
        '{"line":"hello world","data_source":"test-file-source"}',
    ]


def _keyed(topic: str) -> SinkRecord:
    return SinkRecord(topic, 0, None, {"other_field": f"other of {topic}", "x": 1}, None, "v", 0)


def test_only_one_topic_is_filtered() -> None:
    is_foo = predicate("TopicNameMatches", {"pattern": "foo"})
    is_bar = predicate("TopicNameMatches", {"pattern": "bar"})
    steps = (
        ChainStep(transformation("Filter", {}), is_foo),
        ChainStep(transformation("ExtractField$Key", {"field": "other_field"}), is_bar, negate=True),
    )
    topics = ["foo", "bar", "baz", "foobar", "foo"]
    found = chain(*steps).run([_keyed(topic) for topic in topics]).records
    assert [(record.topic, record.key) for record in found] == [
        ("bar", {"other_field": "other of bar", "x": 1}),
        ("baz", "other of baz"),
        ("foobar", "other of foobar"),
    ]


def test_predicate_for_tombstones() -> None:
    records = [SinkRecord("t", 0, None, None, None, value, 0) for value in ("a", None)]
    drop = ChainStep(transformation("Filter", {}), predicate("RecordIsTombstone", {}))
    assert [record.value for record in chain(drop).run(records).records] == ["a"]


def test_predicate_for_headers() -> None:
    records = [
        SinkRecord("t", 0, None, None, None, "a", 0, headers=[("h", None, None)]),
        SinkRecord("t", 0, None, None, None, "b", 0),
    ]
    drop = ChainStep(transformation("Filter", {}), predicate("HasHeaderKey", {"name": "h"}))
    assert [record.value for record in chain(drop).run(records).records] == ["b"]
