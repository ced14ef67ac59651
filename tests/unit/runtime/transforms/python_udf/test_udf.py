"""PythonUdf: the columns that a function gets, and the records of what it returns."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.logical import TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    struct_schema,
)
from runtime.api.errors import ConfigError, DataError, RetriableError
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.task.failure import Failure
from runtime.transforms.python_udf.udf import PythonUdf
from runtime.transforms.tables.errors import RefusedError
from tests.support import user_functions
from tests.support.tasks.transforms import tolerance

MODULE = "tests.support.user_functions"
AT = dt.datetime(2026, 1, 1, 0, 0, 0, 123456, dt.UTC)
LINE = struct_schema({"id": INT64_SCHEMA, "name": OPTIONAL_STRING_SCHEMA})
ROWS = [{"id": n, "name": f"n{n}" if n else None} for n in range(4)]


def batch(schema: Schema | None = LINE, rows: Any = ROWS) -> SourceBatch:
    made = SourceBatch({"p": 1}, lambda n: {"at": n}, "t", ValueBatch(schema, rows), 1000)
    made.keys = ValueBatch(STRING_SCHEMA, [f"k{n}" for n in range(len(rows))])
    return made


def step(function: str, **config: str) -> PythonUdf:
    made = PythonUdf()
    made.configure({"function": function if ":" in function else f"{MODULE}:{function}", **config})
    return made


def derive(function: str, records: SourceBatch | None = None, /, **config: str) -> SourceBatch:
    records = batch() if records is None else records
    made = step(function, **config)
    try:
        return records.derive(made.derive(records.values, records))
    finally:
        made.close()


def pairs(made: SourceBatch) -> list[tuple[Any, Any, Any]]:
    return [(record.value, record.key, record.source_offset) for record in made]


def test_a_function_that_returns_its_batch_changes_nothing() -> None:
    wide = struct_schema({
        "id": INT32_SCHEMA, "at": TIMESTAMP_SCHEMA, "time": TIME_SCHEMA, "price": decimal_schema(2),
        "inner": struct_schema({"time": TIME_SCHEMA}),
    }).replace(name="a.Name")  # fmt: skip
    value = {"id": 1, "at": AT, "time": dt.time(1, 2, 3), "price": Decimal("1.50"), "inner": {"time": dt.time(4)}}
    for function in ("same", "streamed"):
        made = derive(function, batch(wide, [value]))
        assert made.values.schema is wide
        assert pairs(made) == [(value, "k0", {"at": 0})]


def test_fields_are_changed_and_added() -> None:
    made = derive("upper")
    assert [record.value for record in made][1] == {"id": 1, "name": "N1", "length": 2}
    schema = made.values.schema
    assert schema is not None and schema.field("id") is INT64_SCHEMA and schema.field("name") is OPTIONAL_STRING_SCHEMA
    assert schema.field("length") == INT32_SCHEMA.replace(optional=True)


def test_records_are_dropped_and_several_made_of_one() -> None:
    assert [(value["id"], *rest) for value, *rest in pairs(derive("odd"))] == [
        (1, "k1", {"at": 1}), (3, "k3", {"at": 3}),
    ]  # fmt: skip
    expected = [(n, f"k{n}", {"at": n}) for n in range(4) for _ in range(n)]
    assert [(value["id"], *rest) for value, *rest in pairs(derive("repeated"))] == expected
    assert derive("odd", batch(rows=ROWS[:1])).values.count == 0


def test_rows_without_the_number_of_their_record_are_found_by_calls_with_single_records() -> None:
    user_functions.CALLS.clear()
    made = derive("forgetful")
    assert pairs(made) == [({"id": n}, f"k{n}", {"at": n}) for n in range(4) for _ in range(n)]
    assert user_functions.CALLS == [4, 1, 1, 1, 1]


def test_parts_of_the_record_are_replaced() -> None:
    (first, *_) = derive("routed")
    assert (first.topic, first.key, first.timestamp, first.headers) == (
        "other",
        "key 0",
        5000,
        [("h", STRING_SCHEMA, "v")],
    )
    assert first.value == {"id": 0}


def test_values_without_fields_are_the_column_value() -> None:
    made = derive("texts", batch(STRING_SCHEMA, ["a", "b"]))
    assert list(made.values.rows) == ["A", "B"] and made.values.schema is STRING_SCHEMA


def test_values_without_a_schema_remain_so_unless_types_are_given() -> None:
    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    made = derive("upper", batch(None, rows))
    assert made.values.schema is None
    assert [r.value for r in made] == [{"id": 1, "name": "A", "length": 1}, {"id": 2, "name": None, "length": None}]
    made = derive("same", batch(None, rows), returns="id INT NOT NULL, name STRING")
    assert made.values.schema == struct_schema({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA})
    made = derive("same", batch(None, [{"id": 1}]), schema="id INT NOT NULL, name STRING")
    assert [record.value for record in made] == [{"id": 1, "name": None}]


def test_the_type_of_a_new_column_becomes_wider_and_not_narrower() -> None:
    made = step("halves")
    schemas = []
    for ids in ([2, 4], [3], [4], [0]):
        records = batch(rows=[{"id": n, "name": None} for n in ids])
        schema = made.derive(records.values, records).values.schema
        assert schema is not None
        field = schema.field("half")
        schemas.append(field and field.type.name)
    assert schemas == ["INT64", "FLOAT64", "FLOAT64", "FLOAT64"]


def test_the_instance_of_a_class_is_called() -> None:
    made = step("Counter")
    numbers = []
    for _ in range(2):
        records = batch()
        numbers += [record.value["number"] for record in records.derive(made.derive(records.values, records))]
    assert numbers == list(range(8))


def test_records_without_a_value_are_not_changed() -> None:
    records = batch(None, [None, None])
    assert [record.value for record in derive("nothing", records)] == [None, None]


def test_an_exception_is_an_error_of_the_records() -> None:
    with pytest.raises(DataError, match=rf"PythonUdf: {MODULE}:inverse fails: ZeroDivisionError") as raised:
        derive("inverse")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(DataError, match=r"upper fails: ValueError"):
        derive("upper", batch(None, [{"id": 1}]))
    with pytest.raises(DataError, match="name is null, which its schema does not allow"):
        derive("emptied", batch(struct_schema({"name": STRING_SCHEMA}), [{"name": "a"}]))


@pytest.mark.parametrize(
    ("function", "config", "message"),
    [
        ("nothing", {}, "nothing returns NoneType: it must return a RecordBatch"),
        ("leaving", {}, r"leaving ends the process \(SystemExit: 3\)"),
        ("interrupting", {}, r"interrupting ends the process \(KeyboardInterrupt\)"),
        ("same", {"returns": "id BIGINT, other STRING"}, "returns no column other, which is in returns"),
        ("same", {"returns": "id BIGINT"}, "returns the column name, which is not in returns"),
        ("misnumbered", {}, "other values of _record than it was given"),
        ("untimely", {}, "returns string as timestamp of the record"),
    ],
)
def test_a_function_that_cannot_be_used_fails_the_task(function: str, config: dict[str, str], message: str) -> None:
    with pytest.raises(RefusedError, match=message) as raised:
        derive(function, None, **config)
    assert not raised.value.tolerable


@pytest.mark.parametrize(
    ("function", "config", "message"),
    [
        ("uper", {}, f"has no function uper. Did you mean {MODULE}:upper"),
        ("tests.support.no_module:f", {}, "There is no module tests.support.no_module"),
        ("two", {}, "takes 2 arguments: it must take one"),
        ("listed", {}, r"takes list\[dict.*set batch to one of arrow, table, pandas"),
        ("MODULE_NAME", {}, "has no function"),
        ("CALLS", {}, "is list, not a function"),
        ("same", {"batch": "polars"}, "String must be one of"),
        ("same", {"returns": "id NOTYPE"}, "returns"),
        ("a b:c", {}, "Must be module:function, such as orders:clean"),
    ],
)
def test_configurations_are_checked(function: str, config: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        step(function, **config)


@pytest.mark.parametrize("text", ["a.b:f", "a.b.f", "a/b.py:f", " a.b:f() "])
def test_ways_to_name_a_function(text: str) -> None:
    from runtime.transforms.python_udf.reference import FunctionReference

    assert str(FunctionReference.of(text)) == "a.b:f"


def test_a_function_that_does_not_return_is_abandoned() -> None:
    made, records = step("endless", **{"timeout.ms": "50"}), batch()
    for _ in range(2):
        begin = time.monotonic()
        with pytest.raises(
            RefusedError, match=r"endless has not returned within 0\.05 s \(timeout\.ms\): it is in endless\(\)"
        ):
            made.derive(records.values, records)
        assert time.monotonic() - begin < 2
    made._thread._thread.join(5)
    assert not made._thread._thread.is_alive()


def test_a_task_that_is_to_stop_does_not_wait_for_a_function() -> None:
    made, records = step("endless"), batch()
    made.stopping = lambda: True
    with pytest.raises(RetriableError, match="the task is to stop"):
        made.derive(records.values, records)


def test_frames_of_pandas_keep_the_number_of_the_record_in_their_index() -> None:
    schema = struct_schema({"id": INT64_SCHEMA, "name": STRING_SCHEMA, "price": decimal_schema(2)})
    rows = [{"id": n, "name": f"n{n}", "price": Decimal(n)} for n in range(3)]
    made = derive("priced", batch(schema, rows))
    assert pairs(made) == [
        ({**rows[n], "gross": Decimal(2 * n), "tag": tag}, f"k{n}", {"at": n})
        for n in (1, 2) for tag in (f"n{n}", f"N{n}")
    ]  # fmt: skip
    kept = made.values.schema
    assert kept is not None and [kept.field(name) for name in ("id", "name", "price")] == [
        f.schema for f in schema.fields
    ]


def test_frames_of_pandas_return_values_of_all_types() -> None:
    wide = struct_schema({
        "id": INT64_SCHEMA.replace(optional=True), "at": TIMESTAMP_SCHEMA, "time": TIME_SCHEMA,
        "price": decimal_schema(2), "inner": struct_schema({"a": OPTIONAL_STRING_SCHEMA}),
    })  # fmt: skip
    value = {"id": 2**60 + 1, "at": AT, "time": dt.time(1), "price": Decimal("1.50"), "inner": {"a": None}}
    made = derive("framed", batch(wide, [value, {**value, "id": None}]), batch="pandas")
    assert made.values.schema is wide
    assert [record.value for record in made] == [value, {**value, "id": None}]


def test_only_the_record_at_fault_fails() -> None:
    user_functions.CALLS.clear()
    letters: list[Failure] = []
    errors = tolerance(SimpleNamespace(report=letters.append), tolerate_all=True)
    chain = Chain([ChainStep(step("inverse"))], errors, lambda record: (record, ""))
    records = list(batch(rows=[{"id": n - 77, "name": None} for n in range(200)]).records)
    made = chain.run(records).records
    errors.release(records)
    assert [record.value["inverse"] for record in made] == [12 // (n - 77) for n in range(200) if n != 77]
    assert [getattr(record, "source_offset", None) for record in made] == [{"at": n} for n in range(200) if n != 77]
    assert [failure.record for failure in letters] == [records[77]]
    assert len(user_functions.CALLS) < 20


def test_a_process_that_a_function_has_created_ends() -> None:
    assert [record.value for record in derive("forking", **{"timeout.ms": "20000"})] == [{"code": 1}] * 4


@pytest.mark.parametrize(("function", "column"), [("dated", "day"), ("unsigned", "numbers")])
def test_a_value_that_connect_does_not_have_is_an_error_of_its_record(function: str, column: str) -> None:
    letters: list[Failure] = []
    errors = tolerance(SimpleNamespace(report=letters.append), tolerate_all=True)
    chain = Chain([ChainStep(step(function))], errors, lambda record: (record, ""))
    records = list(batch().records)
    made = chain.run(records).records
    errors.release(records)
    assert [getattr(record, "source_offset", None) for record in made] == [{"at": n} for n in (0, 1, 3)]
    assert [failure.record for failure in letters] == [records[2]]
    assert f"Connect has no type for a value of column {column}: " in str(letters[0].error)


def test_a_type_that_connect_does_not_have_is_an_error_of_the_function() -> None:
    with pytest.raises(RefusedError, match="returns a column that Connect does not have: The keys of a map must be"):
        derive("counted_by_struct")


def test_frames_of_pandas_keep_large_numbers_within_values() -> None:
    """A null beside them would make floating-point numbers of them."""
    large = 2**53 + 1
    rows = [{"a": [large, None], "s": {"i": large}, "m": {"k": large}}, {"a": [1], "s": {"i": None}, "m": {}}]
    made = derive("framed", batch(None, rows), batch="pandas")
    assert [record.value["a"] for record in made] == [[large, None], [1]]
    assert [record.value["s"] for record in made] == [{"i": large}, {"i": None}]
