"""A compiled chain gives the same results as its transformations one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import INT32_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import DataError, RetriableError
from runtime.api.transformation import Record, RecordT, Transformation
from runtime.pipeline.chain.step import ChainStep
from tests.support.tasks.transforms import chain, predicate, tolerance, transformation

LINE = Schema(Type.STRUCT, fields=(Field("a", INT32_SCHEMA), Field("b", STRING_SCHEMA)))


class Renewed(Transformation):
    """Returns a new object for every record, as plugins may."""

    def apply(self, record: RecordT) -> RecordT | None:
        made_anew = record.copy()
        made_anew.topic = f"{record.topic}!"
        return made_anew


def _steps() -> list[Transformation]:
    return [
        transformation("HoistField$Value", {"field": "a"}),
        transformation("ExtractField$Value", {"field": "a"}),
        transformation("InsertField$Value", {"static.field": "s", "static.value": "v", "offset.field": "o"}),
        transformation("ReplaceField$Value", {"renames": "b:bb"}),
        transformation("Cast$Value", {"spec": "a:int8"}),
        transformation("ValueToKey", {"fields": "a"}),
        transformation("HoistField$Key", {"field": "k"}),
        transformation("InsertHeader", {"header": "h", "value.literal": "1"}),
        transformation("RegexRouter", {"regex": "t(.*)", "replacement": "u$1"}),
        transformation("MaskField$Value", {"fields": "a"}),
        transformation("Flatten$Value", {}),
        transformation("Filter", {}),
        Renewed(),
    ]


PREDICATES = [
    None,
    predicate("TopicNameMatches", {"pattern": "t.*"}),
    predicate("HasHeaderKey", {"name": "h"}),
    predicate("RecordIsTombstone", {}),
]
STEPS = st.builds(ChainStep, st.sampled_from(_steps()), st.sampled_from(PREDICATES), st.booleans())
VALUES = st.sampled_from(
    [
        (None, None), (None, {"a": 1, "b": "x"}), (None, {"a": "7", "c": {"d": 1}}), (None, "text"),
        (LINE, {"a": 300, "b": "x"}), (STRING_SCHEMA, "text"), (Schema(Type.STRING, optional=True), None),
    ]
)  # fmt: skip
RECORDS = st.builds(
    lambda number, topic, typed, key: SinkRecord(topic, 0, None, key, typed[0], typed[1], number),
    st.integers(0, 99), st.sampled_from(["t", "tt", "x"]), VALUES, st.sampled_from([None, {"k": 1}]),
)  # fmt: skip


def _seen(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in SinkRecord.__slots__)


def _one_by_one(steps: list[ChainStep], records: list[Any]) -> tuple[list[Record], Record | None]:
    """The resulting records, and the first record that fails."""
    through: list[Record] = []
    for record in records:
        found: Record | None = record.copy()
        try:
            for step in steps:
                found = None if found is None else step.apply(found)
        except Exception:
            return through, record
        if found is not None:
            through.append(found)
    return through, None


@settings(max_examples=300)
@given(st.lists(STEPS, max_size=5), st.lists(RECORDS, max_size=8))
def test_the_chain_equals_single_transformations(steps: list[ChainStep], records: list[SinkRecord]) -> None:
    expected, failed = _one_by_one(steps, records)
    outcome = chain(*steps).run(copies := [record.copy() for record in records])
    assert [_seen(r) for r in outcome.records] == [_seen(r) for r in expected]
    assert (outcome.failed is None) == (failed is None)
    if failed is not None:
        assert [r is outcome.failed for r in copies].index(True) == [r is failed for r in records].index(True)


@settings(max_examples=200)
@given(st.lists(STEPS, max_size=5), st.lists(RECORDS, max_size=8))
def test_failed_records_are_skipped_if_errors_are_tolerated(steps: list[ChainStep], records: list[SinkRecord]) -> None:
    expected: list[Record] = []
    failures = 0
    for record in records:
        through, failed = _one_by_one(steps, [record])
        expected += through
        failures += failed is not None
    errors = tolerance(tolerate_all=True)
    outcome = chain(*steps, errors=errors).run([record.copy() for record in records])
    assert [_seen(r) for r in outcome.records] == [_seen(r) for r in expected]
    assert outcome.error is None
    errors.release(())
    assert errors.counts.skipped == errors.counts.errors == failures


class Flaky(Transformation):
    """Succeeds at the third attempt."""

    def __init__(self) -> None:
        self.tries = 0

    def apply(self, record: RecordT) -> RecordT | None:
        self.tries += 1
        if self.tries % 3:
            raise RetriableError("not yet")
        return record


def test_retriable_errors_are_retried() -> None:
    errors = tolerance(retry_timeout=-1.0, retry_delay=0.001)
    records = [SinkRecord("t", 0, None, None, None, n, n) for n in range(3)]
    outcome = chain(ChainStep(Flaky()), errors=errors).run(records)
    assert [r.value for r in outcome.records] == [0, 1, 2]
    assert (errors.counts.retries, errors.counts.failures, errors.counts.errors) == (6, 6, 0)


def test_nothing_is_retried_without_a_timeout() -> None:
    outcome = chain(ChainStep(Flaky())).run([SinkRecord("t", 0, None, None, None, 1, 0)])
    assert outcome.records == []
    assert str(outcome.error) == "Tolerance exceeded in error handler"
    assert isinstance(outcome.error and outcome.error.__cause__, RetriableError)


def test_a_predicate_that_raises_fails_its_record() -> None:
    class Broken(type(PREDICATES[1])):  # type: ignore[misc]
        def test(self, record: Record) -> bool:
            if record.value == 2:
                raise DataError("no")
            return True

    records = [SinkRecord("t", 0, None, None, None, n, n) for n in (1, 2, 3)]
    outcome = chain(ChainStep(transformation("HoistField$Value", {"field": "x"}), Broken())).run(records)
    assert [r.value for r in outcome.records] == [{"x": 1}]
    assert outcome.failed is records[1]


@pytest.mark.parametrize("name", ["Cast$Value", "MaskField$Key", "HeaderFrom$Value"])
def test_shared_values_are_not_modified(name: str) -> None:
    config = {"spec": "a:string", "fields": "a", "headers": "h", "operation": "move"}
    own = {"Cast$Value": ["spec"], "MaskField$Key": ["fields"], "HeaderFrom$Value": ["fields", "headers", "operation"]}
    shared: dict[str, Any] = {"a": 1}
    record = SinkRecord("t", 0, None, shared, None, shared, 0)
    transformation(name, {key: config[key] for key in own[name]}).apply(record)
    assert shared == {"a": 1}
