"""SparkSql with a session that the test answers: what is sent, what becomes of results and errors."""

from __future__ import annotations

import base64
import datetime as dt
import resource
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import Derived, ValueBatch
from runtime.api.data.logical import TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.schema import INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, struct_schema
from runtime.api.errors import ConfigError, DataError
from runtime.connectors.spark.session_client import SessionLostError, SparkRequestError
from runtime.model.task_errors import TaskLostError
from runtime.transforms.spark_sql import spark
from runtime.transforms.spark_sql.spark import SparkBusyError
from runtime.transforms.spark_sql.sql import SparkSql
from runtime.transforms.tables.errors import RefusedError

LINE = struct_schema({"id": INT64_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "at": TIMESTAMP_SCHEMA})
TIME = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ROWS = [{"id": n, "name": f"n{n}" if n else None, "at": TIME} for n in range(4)]


class Session:
    """Answers requests: `prepared` is the description of the query, `results` are the columns of its result."""

    prepared: Any = None
    results: tuple[Any, ...] = ()
    error: Exception | None = None
    silent = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.requests: list[Mapping[str, Any]] = []
        self.rows: Any = None
        self.closed = 0

    def send(self, make: Callable[[], Mapping[str, Any]]) -> Future[Any]:
        future: Future[Any] = Future()
        request = make()
        self.requests.append(request)
        if self.silent:
            return future
        if self.error is not None:
            future.set_exception(self.error)
        elif request["op"] == "sql.prepare":
            future.set_result(self.prepared(request) if callable(self.prepared) else self.prepared)
        else:
            with pa.ipc.open_stream(request["files"][0]) as stream:
                self.rows = stream.read_all()
            future.set_result({"files": [str(self._written())]})
        return future

    def _written(self) -> Path:
        path = self._folder / "results"
        content = b""
        for batch in self.results:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            part = sink.getvalue().to_pybytes()
            content += len(part).to_bytes(4, "big") + part
        path.write_bytes(content)
        return path

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Session:
    made = Session(tmp_path)
    monkeypatch.setattr(spark, "SessionClient", lambda name: made)
    monkeypatch.setenv("HEADRACE_SPARK_ROWS", str(tmp_path))
    return made


def batch(schema: Schema | None = LINE, rows: Any = ROWS) -> SourceBatch:
    made = SourceBatch({"p": 1}, lambda n: {"at": n}, "t", ValueBatch(schema, rows), 1000)
    made.keys = ValueBatch(STRING_SCHEMA, [f"k{n}" for n in range(len(rows))])
    return made


def prepared(*outputs: tuple[str, str | None], inputs: tuple[str, ...] = ("id",), changes: bool = True) -> Any:
    return {"inputs": list(inputs), "outputs": [list(output) for output in outputs], "changes_count": changes}


def derive(records: SourceBatch, **config: str) -> tuple[SparkSql, SourceBatch, Derived]:
    step = SparkSql()
    step.configure({"sql": "SELECT id FROM records", **config})
    derived = step.derive(records.values, records)
    return step, records.derive(derived), derived


def test_only_the_columns_that_the_query_computes_with_are_sent(session: Session) -> None:
    session.prepared = prepared(("id", "id"), ("upper", None), inputs=("id", "name"))
    session.results = (
        pa.record_batch([pa.array([1]), pa.array(["N1"])], names=["headrace_index", "upper"]),
        pa.record_batch([pa.array([3, 3]), pa.array(["N3", "x"])], names=["headrace_index", "upper"]),
    )
    _, made, _ = derive(batch())
    assert session.rows.schema.names == ["id", "name", "headrace_index"]
    assert session.rows.column(2).to_pylist() == [0, 1, 2, 3]
    assert [(record.value, record.key, record.source_offset) for record in made] == [
        ({"id": 1, "upper": "N1"}, "k1", {"at": 1}),
        ({"id": 3, "upper": "N3"}, "k3", {"at": 3}),
        ({"id": 3, "upper": "x"}, "k3", {"at": 3}),
    ]
    schema = made.values.schema
    assert schema is not None and schema.field("id") is INT64_SCHEMA and schema.field("upper") == OPTIONAL_STRING_SCHEMA


def test_a_query_that_computes_nothing_needs_no_spark(session: Session) -> None:
    session.prepared = prepared(("at", "at"), ("id", "id"), inputs=(), changes=False)
    _, made, _ = derive(batch())
    assert [request["op"] for request in session.requests] == ["sql.prepare"]
    assert made.values.columns == {"at": [TIME] * 4, "id": [0, 1, 2, 3]}


def test_a_value_whose_fields_are_all_selected_keeps_its_schema(session: Session) -> None:
    session.prepared = prepared(*((field.name, field.name) for field in LINE.fields))
    session.results = (pa.record_batch([pa.array([2])], names=["headrace_index"]),)
    _, made, _ = derive(batch())
    assert made.values.schema is LINE and list(made.values.rows) == [ROWS[2]]


def test_parts_of_the_record_are_replaced(session: Session) -> None:
    session.prepared = prepared(
        ("id", "id"), ("key", "id"), ("topic", None), ("timestamp", None), ("headers", None), changes=False
    )
    times = pa.array([TIME, None, TIME, TIME], pa.timestamp("us", "UTC"))
    headers = pa.array([[("h", "v")], [], None, [("h", None)]], pa.map_(pa.string(), pa.string()))
    columns = [pa.array(range(4)), pa.array(list("abcd")), times, headers]
    session.results = (pa.record_batch(columns, names=["headrace_index", "topic", "timestamp", "headers"]),)
    _, made, _ = derive(batch())
    assert [(record.topic, record.key, record.key_schema, record.timestamp, record.headers) for record in made] == [
        ("a", 0, INT64_SCHEMA, 1767225600000, [("h", STRING_SCHEMA, "v")]),
        ("b", 1, INT64_SCHEMA, None, None),
        ("c", 2, INT64_SCHEMA, 1767225600000, None),
        ("d", 3, INT64_SCHEMA, 1767225600000, [("h", STRING_SCHEMA, None)]),
    ]
    assert [record.value for record in made] == [{"id": n} for n in range(4)]


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("timestamp", pa.array([dt.date(2026, 1, 1)] * 4), "a date as timestamp of the record"),
        ("headers", pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())), "headers that are not a MAP"),
        ("headers", pa.array([{"a": 1}] * 4), "headers that are not a MAP"),
        ("x", pa.array([4_000_000] * 4, pa.int32()).cast(pa.date32()), "no type for a value of column x"),
    ],
)
def test_a_value_that_a_record_cannot_have_is_its_error(name: str, values: Any, reason: str, session: Session) -> None:
    session.prepared = prepared(("id", "id"), (name, None), changes=False)
    session.results = (pa.record_batch([pa.array(range(4)), values], names=["headrace_index", name]),)
    with pytest.raises(DataError, match=reason):
        derive(batch())


def test_a_type_that_connect_does_not_have_is_an_error_of_the_query(session: Session) -> None:
    months = pa.array([pa.MonthDayNano([1, 0, 0])] * 4)
    session.prepared = prepared(("id", "id"), ("x", None), changes=False)
    session.results = (pa.record_batch([pa.array(range(4)), months], names=["headrace_index", "x"]),)
    with pytest.raises(RefusedError, match="sql gives a column that Connect does not have"):
        derive(batch())


def test_a_field_hides_a_column_of_its_name(session: Session) -> None:
    schema = struct_schema({"topic": STRING_SCHEMA, "value": INT64_SCHEMA})
    session.prepared = prepared(("topic", "topic"), ("value", None), inputs=("value",), changes=False)
    session.results = (pa.record_batch([pa.array([0]), pa.array([2])], names=["headrace_index", "value"]),)
    _, made, _ = derive(batch(schema, [{"topic": "field", "value": 1}]))
    assert [(record.topic, record.value) for record in made] == [("t", {"topic": "field", "value": 2})]


def test_the_only_column_value_is_the_value(session: Session) -> None:
    session.prepared = prepared(("value", None), inputs=("value",), changes=False)
    session.results = (pa.record_batch([pa.array([0, 1]), pa.array(["A", "B"])], names=["headrace_index", "value"]),)
    _, made, _ = derive(batch(STRING_SCHEMA, ["a", "b"]))
    assert list(made.values.rows) == ["A", "B"] and made.values.schema == OPTIONAL_STRING_SCHEMA


def test_values_without_a_schema_remain_so(session: Session) -> None:
    session.prepared = prepared(("id", "id"), ("price", None), changes=False)
    columns = [pa.array([0, 1]), pa.array([Decimal("1.50"), None])]
    session.results = (pa.record_batch(columns, names=["headrace_index", "price"]),)
    _, made, _ = derive(batch(None, [{"id": 1}, {"id": 2}]))
    assert made.values.schema is None
    assert [record.value for record in made] == [{"id": 1, "price": "1.50"}, {"id": 2, "price": None}]


def test_a_field_that_values_without_a_schema_lack_is_null(session: Session) -> None:
    def answer(request: Mapping[str, Any]) -> Any:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(request["schema"])))
        if "other" not in schema.names:
            return {"unresolved": "no column other", "column": "`other`"}
        assert request["fields"] == 2 and pa.types.is_null(schema.field("other").type)
        return prepared(("id", "id"), ("other", "other"), inputs=(), changes=False)

    session.prepared = answer
    step, made, _ = derive(batch(None, [{"id": 1}, {"id": 2}]))
    assert [record.value for record in made] == [{"id": 1, "other": None}, {"id": 2, "other": None}]
    records = batch(None, [{"id": 5}])
    step.derive(records.values, records)
    assert len(session.requests) == 2
    for value in ("text", [1]):  # no record that lacks a field: nothing of it would remain
        records = batch(None, [value])
        with pytest.raises(DataError, match="sql does not fit the record: no column other"):
            step.derive(records.values, records)


def test_a_query_is_prepared_again_for_other_types(session: Session) -> None:
    session.prepared = prepared(("id", "id"), changes=True)
    session.results = (pa.record_batch([pa.array([0])], names=["headrace_index"]),)
    step, _, _ = derive(batch(None, [{"id": 1}]))
    for rows in ([{"id": 2}], [{"id": "text"}], [{"id": 1, "b": 2}], [{"id": 3}], [{"id": "x"}]):
        records = batch(None, rows)
        step.derive(records.values, records)
    assert [request["op"] for request in session.requests].count("sql.prepare") == 3


def test_the_types_of_values_without_a_schema_can_be_given(session: Session) -> None:
    session.prepared = prepared(("id", "id"), ("at", "at"), ("price", "price"), inputs=(), changes=False)
    rows = [{"id": 1, "at": "2026-01-01T00:00:00Z", "x": 1}, {"id": 2, "at": None, "x": 1}]
    _, made, _ = derive(batch(None, rows), schema="id BIGINT NOT NULL, at TIMESTAMP, price DECIMAL(10, 2)")
    schema = made.values.schema
    assert schema is not None and schema.field("id") == INT64_SCHEMA
    assert schema.field("price") == decimal_schema(2).replace(
        optional=True, parameters=(("scale", "2"), ("connect.decimal.precision", "10"))
    )
    assert [record.value for record in made] == [
        {"id": 1, "at": TIME, "price": None},
        {"id": 2, "at": None, "price": None},
    ]
    with pytest.raises(DataError, match="id is not int64"):
        derive(batch(None, [{"id": "text"}]), schema="id BIGINT")
    with pytest.raises(DataError, match="not an object with fields"):
        derive(batch(None, ["text"]), schema="id BIGINT")


def test_records_without_a_value_are_not_changed(session: Session) -> None:
    records = batch(None, [None, None])
    _, made, derived = derive(records)
    assert session.requests == [] and list(made.records) == list(made.records) and len(derived.places) == 2


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (SparkRequestError("DIVIDE_BY_ZERO", "data"), DataError),
        (SparkRequestError("PARSE_SYNTAX_ERROR", "query"), RefusedError),
        (SparkRequestError("No space left", "other"), SparkBusyError),
        (SessionLostError("the driver has ended"), TaskLostError),
    ],
)
def test_errors_of_spark(error: Exception, expected: type[Exception], session: Session) -> None:
    session.error = error
    with pytest.raises(expected, match=str(error)):
        derive(batch())


def test_a_full_disk_is_not_an_error_of_records(session: Session) -> None:
    """They would be lost where errors are tolerated."""
    session.prepared = prepared(("id", "id"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(SparkBusyError, match=r"cannot be stored in .*File too large") as raised:
            derive(batch())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not raised.value.tolerable


def test_a_limit_of_threads_is_not_an_error_of_records(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def send(make: Callable[[], Mapping[str, Any]]) -> Future[Any]:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(session, "send", send)
    with pytest.raises(SparkBusyError, match="cannot be sent to Spark: can't start new thread") as raised:
        derive(batch())
    assert not raised.value.tolerable and session.closed == 1


def test_a_query_that_does_not_fit_is_an_error_of_the_record(session: Session) -> None:
    session.prepared = {"unresolved": "no column x", "column": "`x`"}
    step = SparkSql()
    step.configure({"sql": "SELECT x FROM records"})
    for _ in range(2):
        records = batch()
        with pytest.raises(DataError, match="sql does not fit the record: no column x"):
            step.derive(records.values, records)
    assert len(session.requests) == 1


def test_spark_that_does_not_return_is_waited_for_until_the_timeout(session: Session) -> None:
    session.silent = True
    with pytest.raises(SparkBusyError, match=r"within 0\.05 s \(timeout\.ms\)") as raised:
        derive(batch(), **{"timeout.ms": "50"})
    assert not raised.value.tolerable and session.closed == 1


def test_a_task_that_is_to_stop_does_not_wait(session: Session) -> None:
    session.silent = True
    step = SparkSql()
    step.configure({"sql": "SELECT id FROM records"})
    step.stopping = lambda: True
    records = batch()
    with pytest.raises(SparkBusyError):
        step.derive(records.values, records)


def test_configurations_are_checked() -> None:
    for config in ({}, {"sql": "DROP TABLE x"}, {"sql": "SELECT 1", "schema": "a NOTYPE"}):
        with pytest.raises(ConfigError):
            SparkSql.config_def.parse(config)
