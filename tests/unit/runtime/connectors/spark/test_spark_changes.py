"""Records as changes of rows, by key."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import INT64_SCHEMA, STRING_SCHEMA, Schema, Type, struct_schema
from runtime.connectors.files.sink.chunk import chunks_with_nulls
from runtime.connectors.spark.sink.changes import ChangeConversion
from runtime.connectors.spark.sink.columns import TableColumns
from runtime.connectors.spark.sink.definition import Evolution, SparkSinkSettings

DELTA = {"spark.format": "delta", "spark.path": "/t", "spark.mode": "upsert"}
KEYED = {**DELTA, "spark.key.columns": "id"}
DEBEZIUM = {**DELTA, "spark.envelope": "debezium"}


class Changed:
    """The rows of a batch that is written for some records, by offset."""

    def __init__(self, config: dict[str, str], evolution: Evolution = Evolution.ADD) -> None:
        merge = SparkSinkSettings.of(config).merge
        assert merge is not None
        self.columns = TableColumns(evolution)
        self.conversion = ChangeConversion(merge, self.columns)
        self.refused: dict[int, str] = {}

    def of(self, *records: tuple[Any, Any], key_schema: Any = None, schema: Any = None) -> list[dict[str, Any]]:
        """Rows by key; each record is its key and value."""
        made = [
            SinkRecord("orders", 0, key_schema, key, None if value is None else schema, value, offset, 0)
            for offset, (key, value) in enumerate(records)
        ]
        batch = self.conversion.collected()
        for chunk in chunks_with_nulls(made):
            self.conversion.collect(chunk, batch, partial(self._refuse, chunk.offset(0)))
        if not batch.parts:
            return []
        rows: list[dict[str, Any]] = batch.table(self.columns.schema).to_pylist()
        return rows

    def _refuse(self, start: int, index: int, error: Exception) -> None:
        self.refused[start + index] = str(error)


def event(op: str, before: Any, after: Any, lsn: int = 0) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": {"lsn": lsn}, "ts_ms": 1}


def test_the_last_change_of_each_key_is_written() -> None:
    changed = Changed(KEYED)
    rows = changed.of(
        (None, {"id": 1, "name": "a"}), (2, {"id": 2, "name": "b"}), (1, {"id": 1, "name": "c"}), (2, None), (3, None)
    )
    assert rows == [
        {"id": 1, "name": "c", "__deleted": False},
        {"id": 2, "name": None, "__deleted": True},
        {"id": 3, "name": None, "__deleted": True},
    ]


def test_a_row_after_a_deletion_is_written() -> None:
    assert Changed(KEYED).of((1, {"id": 1, "n": 1}), (1, None), (1, {"id": 1, "n": 2})) == [
        {"id": 1, "n": 2, "__deleted": False}
    ]


def test_the_key_of_the_record_names_the_columns_by_default() -> None:
    changed = Changed(DELTA)
    rows = changed.of(({"shop": "x", "id": 1}, {"id": 1, "n": 5}), ({"shop": "y", "id": 1}, None))
    assert changed.conversion.keys == ("shop", "id")
    assert rows == [
        {"id": 1, "shop": "y", "n": None, "__deleted": True},
        {"id": 1, "shop": "x", "n": 5, "__deleted": False},
    ] or sorted(rows, key=lambda row: row["shop"]) == [
        {"shop": "x", "id": 1, "n": 5, "__deleted": False},
        {"shop": "y", "id": 1, "n": None, "__deleted": True},
    ]
    assert changed.of((7, {"id": 1}), ({"id": 1}, {"id": 1}), ({"shop": "x", "id": 9}, {"n": 1}))[0]["id"] == 9
    assert "set spark.key.columns" in changed.refused[0]
    assert "not shop, id" in changed.refused[1]


def test_events_of_debezium() -> None:
    changed = Changed({**DEBEZIUM, "spark.key.columns": "id"})
    rows = changed.of(
        ({"id": 1}, event("r", None, {"id": 1, "name": "a"})),
        ({"id": 2}, event("c", None, {"id": 2, "name": "b"})),
        ({"id": 1}, event("u", {"id": 1, "name": "a"}, {"id": 1, "name": "c"})),
        ({"id": 2}, event("d", {"id": 2, "name": "b"}, None)),
        ({"id": 2}, None),
        ({"id": 3}, event("d", None, None)),
        ({"id": 4}, event("t", None, None)),
        ({"id": 4}, {"id": 4}),
    )
    assert sorted(rows, key=lambda row: row["id"]) == [
        {"id": 1, "name": "c", "__deleted": False},
        {"id": 2, "name": None, "__deleted": True},
        {"id": 3, "name": None, "__deleted": True},
    ]
    assert "operation t" in changed.refused[6]
    assert changed.refused.keys() == {6, 7}


def test_a_sequence_orders_the_changes_of_a_key() -> None:
    changed = Changed({**DEBEZIUM, "spark.sequence.column": "source.lsn"})
    rows = changed.of(
        ({"id": 1}, event("u", None, {"id": 1, "n": 3}, lsn=30)),
        ({"id": 1}, event("u", None, {"id": 1, "n": 2}, lsn=20)),
        ({"id": 2}, event("d", None, None, lsn=31)),
        ({"id": 2}, event("u", None, {"id": 2, "n": 1}, lsn=10)),
        ({"id": 1}, None),  # without a sequence; the deletion has one
    )
    assert sorted(rows, key=lambda row: row["id"]) == [
        {"id": 1, "n": 3, "__deleted": False, "__sequence": 30},
        {"id": 2, "n": None, "__deleted": True, "__sequence": 31},
    ]
    assert not changed.refused


def test_rows_need_a_sequence() -> None:
    changed = Changed({**KEYED, "spark.sequence.column": "at"})
    assert [row["id"] for row in changed.of((1, {"id": 1, "at": 5}), (2, {"id": 2}), (1, None))] == [1]
    assert "The sequence at is null" in changed.refused[1]
    assert "without a value has no sequence" in changed.refused[2]


@pytest.mark.parametrize(("mark", "other"), [(True, False), ("true", "false")])
def test_rows_may_be_marked_as_deleted(mark: Any, other: Any) -> None:
    rows = Changed(KEYED).of((1, {"id": 1, "__deleted": mark}), (2, {"id": 2, "n": 1, "__deleted": other}))
    assert rows == [{"id": 1, "n": None, "__deleted": True}, {"id": 2, "n": 1, "__deleted": False}]


def test_values_and_keys_that_do_not_fit_are_refused() -> None:
    changed = Changed(KEYED)
    rows = changed.of((1, {"id": 1}), (2, {"n": 2}), (3, [1]), (None, None), (5, {"id": {"a": 1}}), (None, {"n": 1}))
    assert [row["id"] for row in rows] == [1, 2]
    assert "not an object" in changed.refused[2]
    assert "null or missing" in changed.refused[3]
    assert "single values" in changed.refused[4]
    assert changed.refused.keys() == {2, 3, 4, 5}


def test_values_with_schemas_of_connect() -> None:
    row = struct_schema({"id": INT64_SCHEMA, "name": STRING_SCHEMA})
    optional = Schema(Type.STRUCT, optional=True, fields=row.fields)
    schema = struct_schema({"before": optional, "after": optional, "op": STRING_SCHEMA})
    key = struct_schema({"id": INT64_SCHEMA})
    changed = Changed(DEBEZIUM)
    rows = changed.of(
        ({"id": 1}, {"before": None, "after": {"id": 1, "name": "a"}, "op": "c"}),
        ({"id": 2}, {"before": {"id": 2, "name": "x"}, "after": None, "op": "d"}),
        ({"id": 2}, None),
        key_schema=key, schema=schema,
    )  # fmt: skip
    assert rows == [{"id": 1, "name": "a", "__deleted": False}, {"id": 2, "name": None, "__deleted": True}]
    assert not changed.refused


def test_the_table_has_the_key_columns() -> None:
    changed = Changed(KEYED, Evolution.DISCARD)
    changed.columns.know(pa.schema({"n": pa.int64()}))
    assert changed.of((1, {"id": 1, "n": 1})) == []
    assert "no key column id" in changed.refused[0]


PLACEHOLDER = "__debezium_unavailable_value"


def test_values_that_the_database_has_not_sent_are_left_to_the_table() -> None:
    rows = Changed({**DEBEZIUM, "spark.key.columns": "id"}).of(
        (1, event("u", None, {"id": 1, "n": 1, "text": PLACEHOLDER, "tags": ["a"]})),
        (2, event("u", None, {"id": 2, "n": 2, "text": "b", "tags": [PLACEHOLDER]})),
        (3, event("u", None, {"id": 3, "n": 3, "text": "c", "tags": ["c"]})),
    )
    assert rows == [
        {"id": 1, "n": 1, "text": None, "tags": ["a"], "__deleted": False, "__unchanged": ["text"]},
        {"id": 2, "n": 2, "text": "b", "tags": None, "__deleted": False, "__unchanged": ["tags"]},
        {"id": 3, "n": 3, "text": "c", "tags": ["c"], "__deleted": False, "__unchanged": None},
    ]


def test_a_value_that_was_not_sent_is_that_of_an_earlier_change_of_the_batch() -> None:
    rows = Changed(KEYED).of(
        (None, {"id": 1, "a": "new", "b": PLACEHOLDER, "n": 1}),
        (None, {"id": 2, "a": PLACEHOLDER, "b": PLACEHOLDER, "n": 1}),
        (None, {"id": 1, "a": PLACEHOLDER, "b": PLACEHOLDER, "n": 2}),
        (None, {"id": 2, "a": PLACEHOLDER, "b": None, "n": 2}),
        (None, {"id": 1, "a": PLACEHOLDER, "b": PLACEHOLDER, "n": 3}),
    )
    assert rows == [
        {"id": 2, "a": None, "b": None, "n": 2, "__deleted": False, "__unchanged": ["a"]},
        {"id": 1, "a": "new", "b": None, "n": 3, "__deleted": False, "__unchanged": ["b"]},
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Schema(Type.STRING), PLACEHOLDER),
        (Schema(Type.STRING), f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'),
        (Schema(Type.BYTES), PLACEHOLDER.encode()),
        (Schema(Type.ARRAY, values=Schema(Type.INT32)), list(PLACEHOLDER.encode())),
        (Schema(Type.ARRAY, values=Schema(Type.FLOAT64)), [float(byte) for byte in PLACEHOLDER.encode()]),
        (Schema(Type.ARRAY, values=Schema(Type.BYTES)), [PLACEHOLDER.encode()]),
        (Schema(Type.MAP, keys=Schema(Type.STRING), values=Schema(Type.STRING)), {PLACEHOLDER: PLACEHOLDER}),
    ],
)
def test_each_form_of_the_placeholder(kind: Schema, value: Any) -> None:
    optional = replace(kind, optional=True)
    schema = struct_schema({"id": INT64_SCHEMA, "v": optional})
    rows = Changed(KEYED).of((None, {"id": 1, "v": value}), schema=schema)
    assert [(row["v"], row["__unchanged"]) for row in rows] == [(None, ["v"])]


def test_another_placeholder_or_none() -> None:
    record = (None, {"id": 1, "v": "-", "w": PLACEHOLDER})
    (other,) = Changed({**KEYED, "spark.unavailable.value.placeholder": "-"}).of(record)
    assert (other["v"], other["w"], other["__unchanged"]) == (None, PLACEHOLDER, ["v"])
    (none,) = Changed({**KEYED, "spark.unavailable.value.placeholder": ""}).of(record)
    assert none == {"id": 1, "v": "-", "w": PLACEHOLDER, "__deleted": False}


def test_columns_that_the_table_does_not_have_are_not_kept() -> None:
    changed = Changed(KEYED, Evolution.DISCARD)
    changed.of((None, {"id": 1, "n": 1}))
    (row,) = changed.of((None, {"id": 1, "n": 1, "v": PLACEHOLDER}), (None, {"id": 1, "n": 2, "v": PLACEHOLDER}))
    assert row["n"] == 2 and "v" not in row


def test_sequences_of_two_types_and_names_of_their_own_are_errors_of_records() -> None:
    changed = Changed({**KEYED, "spark.sequence.column": "s"})
    rows = changed.of(
        (None, {"id": 1, "s": 10}), (None, {"id": 2, "s": "9"}), (None, {"id": 3, "s": 11, "__offset": 1}),
        (None, {"id": 4, "s": 12}),
    )  # fmt: skip
    assert [row["id"] for row in rows] == [1, 4]
    assert "int64 and string have no common type" in changed.refused[1]
    assert "SparkSink has a column __offset of its own with spark.mode=upsert" in changed.refused[2]
    event_of = Changed(DEBEZIUM)
    assert event_of.of(({"id": 1}, event("c", None, {"id": 1, "__place": 1}))) == []
    assert "a column __place of its own" in event_of.refused[0]


def test_a_sequence_that_is_not_a_number_is_an_error() -> None:
    changed = Changed({**KEYED, "spark.sequence.column": "s"})
    assert [row["id"] for row in changed.of((None, {"id": 1, "s": float("nan")}), (None, {"id": 2, "s": 0.5}))] == [2]
    assert "The sequence s is not a number" in changed.refused[0]
