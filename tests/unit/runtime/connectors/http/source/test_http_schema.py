"""HttpSource: schemas that are inferred from records."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.api.data.schema import Schema, Type
from runtime.api.data.validate import validate_value
from runtime.api.errors import ConnectError
from runtime.connectors.http.source.connector import HttpSourceConnector
from runtime.connectors.http.source.inference import (
    converter_of,
    read_type,
    schema_name,
    schema_of,
    widened,
    write_type,
)
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.tasks.http_source import COMMON, ids, source, take
from tests.support.tasks.task_contexts import StoredOffsets

INFER = {"http.value.schema": "infer", "http.pagination": "offset", "http.pagination.size": "2"}


def inferred(*values: Any) -> Any:
    kind = None
    for value in values:
        kind = widened(kind, value)
    return kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, 2), "int32"),
        ((1, 1 << 31), "int64"),
        ((1 << 31, 1), "int64"),
        ((1, 0.5), "double"),
        ((1 << 52, 0.5), "double"),
        ((1, 1 << 53), "bigint"),
        ((1 << 53, 1 << 40, -1), "bigint"),
        ((1 << 53, 0.5), "string"),
        ((0.5, 1 << 53), "string"),
        ((1 << 63,), "string"),
        ((True, 1), "string"),
        (("a", 1), "string"),
        ((1, {"a": 1}), "string"),
        (({"a": 1}, [1]), "string"),
        ((None, None), None),
        (([], None), [None]),
        (([], [[]], [["a"]]), [["string"]]),
        (({}, {"a": None}, {"a": {}}), {"a": {}}),
        (([], {}), "string"),
        (([], 1), "string"),
        ((None, 1, None), "int32"),
        (([None, 1], [2.5]), ["double"]),
        (([[1], ["a"]],), [["string"]]),
        (({"a": 1}, {"b": None}, {"c": {"d": [{"e": True}]}}), {"a": "int32", "c": {"d": [{"e": "boolean"}]}}),
        (([{"a": 1}, {"b": "x"}],), [{"a": "int32", "b": "string"}]),
    ],
)
def test_types_widen(values: tuple[Any, ...], kind: Any) -> None:
    assert inferred(*values) == kind


def test_an_object_with_very_many_names_is_text() -> None:
    assert inferred({"ids": {str(n): n for n in range(1001)}}) == {"ids": "string"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(string.ascii_letters, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from("abc"), JSON, min_size=1), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_every_value_fits_the_schema_inferred_from_all(rows: list[Any]) -> None:
    kind = inferred(*rows)
    assert inferred(*reversed(rows)) == kind, "the order does not matter"
    assert inferred(*rows, *rows) == kind
    schema, convert = schema_of(kind, "t"), converter_of(kind)
    if schema is None:
        return
    assert read_type(write_type(kind)) == kind
    for row in rows:
        validate_value(schema, convert(row))


def test_fields_of_which_nothing_is_known_are_omitted() -> None:
    kind = inferred({"a": None, "b": [], "c": {"d": {}}, "e": 1})
    schema = schema_of(kind, "t")
    assert schema is not None
    assert [field.name for field in schema.fields] == ["e"]
    assert converter_of(kind)({"a": None, "b": [], "c": {"d": {}}, "e": 1}) == {"e": 1}


def test_values_become_those_of_the_widened_type() -> None:
    rows = [{"a": 1, "b": "x", "c": [1]}, {"a": 0.5, "b": {"y": True}, "c": []}, {"b": 2}]
    convert = converter_of(inferred(*rows))
    assert [convert(row) for row in rows] == [
        {"a": 1.0, "b": "x", "c": [1]}, {"a": 0.5, "b": '{"y":true}', "c": []}, {"a": None, "b": "2", "c": None},
    ]  # fmt: skip
    assert isinstance(convert(rows[0])["a"], float)


def test_names_of_structs_are_valid_in_avro() -> None:
    assert schema_name("my-topic.2.b") == "my_topic._2.b"
    schema = schema_of({"@id": "int32", "a b": {"c": "string"}, "d": [{"e": "int32"}]}, "t")
    assert schema is not None
    assert schema.name == "t"
    assert not schema.optional
    names = [field.schema.name or (field.schema.values and field.schema.values.name) for field in schema.fields]
    assert names == [None, "t.a_b", "t.d"]


class Records:
    """Records in pages of two."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = [*rows]

    def __call__(self, request: Received) -> Answer:
        start = int(request.query["offset"])
        return 200, {}, self.rows[start : start + 2]


def types(schema: Schema | None) -> dict[str, Type]:
    assert schema is not None
    return {field.name: field.schema.type for field in schema.fields}


MIXED: list[dict[str, Any]] = [
    {"id": 1},
    {"id": 2, "x": 1},
    {"id": 3, "x": None},
    {"id": 4, "x": 0.5},
    {"id": 5, "y": "a"},
]


def test_the_first_pages_give_the_schema_of_the_first_record() -> None:
    with http_server(Records(*MIXED)) as server, source(server.url, **INFER) as task:
        records = take(task, 5)
        assert ids(records) == [1, 2, 3, 4, 5]
        assert {record.value_schema for record in records} == {records[0].value_schema}
        assert types(records[0].value_schema) == {"id": Type.INT32, "x": Type.FLOAT64, "y": Type.STRING}
        assert records[1].value == {"id": 2, "x": 1.0, "y": None}


def test_a_sample_ends_before_the_end_and_later_records_widen_the_schema() -> None:
    config = INFER | {"http.value.schema.sample": "2"}
    with http_server(Records(*MIXED)) as server, source(server.url, **config) as task:
        records = take(task, 5)
        assert [request.query["offset"] for request in server.received[:3]] == ["0", "0", "2"]
    assert ids(records) == [1, 2, 3, 4, 5]
    assert [types(record.value_schema) for record in records[1::2]] == [
        {"id": Type.INT32, "x": Type.INT32}, {"id": Type.INT32, "x": Type.FLOAT64}
    ]  # fmt: skip
    assert types(records[4].value_schema) == {"id": Type.INT32, "x": Type.FLOAT64, "y": Type.STRING}


def test_the_schema_survives_a_restart() -> None:
    api, stored = Records(*MIXED), StoredOffsets()
    config = INFER | {"http.cursor.pointer": "/id", "http.parameter.since": "${cursor}"}
    with http_server(api) as server:
        with source(server.url, stored, **config) as task:
            before = take(task, 5)
            stored.commit(before)
        api.rows = [{"id": 6}]
        with source(server.url, stored, **config) as task:
            (after,) = take(task, 1)
        assert after.value_schema == before[0].value_schema
        assert after.value == {"id": 6, "x": None, "y": None}
        partition = {"url": server.url, "level": "schema"}
        assert stored.offset(partition) == {"schema": '{"id":"int32","x":"double","y":"string"}'}

        # A schema that is set from outside holds from the next start on.
        wanted = {"schema": '{"id": "int64", "x": "string"}'}
        connector, whole = HttpSourceConnector(), {"http.url": server.url, **COMMON, **config}
        assert connector.alter_offsets(whole, [(partition, wanted)])
        stored.stored.append((partition, wanted))
        api.rows = [{"id": 7, "x": 1}]
        with source(server.url, stored, **config) as task:
            (altered,) = take(task, 1)
        assert types(altered.value_schema) == {"id": Type.INT64, "x": Type.STRING}
        assert altered.value == {"id": 7, "x": "1"}
        for invalid in (
            {"schema": "int128"},
            {"schema": '{"a": null}'},
            {"page": 1},
            {"schema": "null"},
            {"schema": 1},
        ):
            with pytest.raises(ConnectError):
                connector.alter_offsets(whole, [(partition, invalid)])
        with pytest.raises(ConnectError, match="source partition"):
            connector.alter_offsets(whole | {"http.value.schema": "none"}, [(partition, wanted)])


def test_an_api_without_records_yet_is_polled_after_the_interval() -> None:
    with (
        http_server(lambda request: (200, {}, [])) as server,
        source(server.url, **INFER, **{"http.poll.interval.ms": "60000"}) as task,
    ):
        assert not any(task.poll() for _ in range(20))
        assert len(server.received) == 2, "the sample, and the first poll"


def test_a_schema_of_which_nothing_is_known_is_not_kept() -> None:
    stored = StoredOffsets()
    rows: list[Any] = [{"items": []}]
    config = {"http.value.schema": "infer"}
    with http_server(lambda request: (200, {}, rows)) as server:
        with source(server.url, stored, **config) as task:
            take(task, 1)
        assert stored.offset({"url": server.url, "level": "schema"}) is None
        rows[:] = [{"items": [1]}]
        with source(server.url, stored, **config) as task:
            assert take(task, 1)[-1].value == {"items": [1]}
