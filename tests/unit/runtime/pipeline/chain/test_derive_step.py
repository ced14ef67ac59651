"""Steps that transform batches: records that give none, one or several, on both paths, with the errors of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from runtime.api.data.batch import SinkBatch, SourceBatch
from runtime.api.data.columns import BatchMetadata, Derived, ValueBatch
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import ConnectError, RetriableError
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.derive_step import derive_step
from runtime.pipeline.chain.step import ChainResult, ChainStep
from runtime.pipeline.sink.sink_batches import in_order
from runtime.pipeline.task.failure import Failure
from tests.support.tasks.python_messages import Message
from tests.support.tasks.transforms import Repeat, tolerance, transformation


class Letters:
    def __init__(self) -> None:
        self.failures: list[Failure] = []

    def report(self, failure: Failure) -> None:
        self.failures.append(failure)


TEXTS = ["1:a", "0:b", "3:c", "1:d"]
EXPECTED = [("a", 0), ("c", 2), ("c", 2), ("c", 2), ("d", 3)]


def source_batch(texts: Sequence[str] = TEXTS) -> SourceBatch:
    return SourceBatch({"p": 1}, lambda n: {"at": n}, "t", ValueBatch(STRING_SCHEMA, texts), 5)


def sink_batch(texts: Sequence[str] = TEXTS) -> SinkBatch:
    messages = [Message(offset, text.encode()) for offset, text in enumerate(texts)]
    keys = ValueBatch(STRING_SCHEMA, [f"k{offset}" for offset in range(len(texts))])
    return SinkBatch("t", messages, keys, ValueBatch(STRING_SCHEMA, texts), [None] * len(texts))


def facts(records: Sequence[SourceRecord | SinkRecord]) -> list[tuple[Any, Any]]:
    return [(record.value, _position(record)) for record in records]


def _position(record: SourceRecord | SinkRecord) -> Any:
    if isinstance(record, SinkRecord):
        assert record.key == f"k{record.kafka_offset}" == f"k{record.original_kafka_offset}"
        return record.kafka_offset
    assert record.source_offset is not None
    return record.source_offset["at"]


@pytest.mark.parametrize("make", [source_batch, sink_batch])
def test_columns_and_records_give_the_same(make: Any) -> None:
    chain = Chain([ChainStep(Repeat())], tolerance(), lambda record: (record, ""))
    left, done = chain.run_batches([make()])
    assert done == 1
    records = chain.run(list(make().records)).records
    assert facts(left[0].records) == facts(records) == EXPECTED
    assert [record.topic for record in left[0]] == [record.topic for record in records] == ["a", "c", "c", "c", "d"]


def test_a_batch_without_results_is_left_out() -> None:
    chain = Chain([ChainStep(Repeat())], tolerance(), lambda record: (record, ""))
    assert chain.run_batches([source_batch(["0:a", "0:b"])]) == ([], 1)
    assert chain.run(list(source_batch(["0:a", "0:b"]).records)).records == []


def test_results_of_several_batches_keep_their_order() -> None:
    first, second = sink_batch(["2:a", "1:c"]), sink_batch(["2:b", "0:d"])
    first.places, second.places = [0, 2], [1, 3]
    chain = Chain([ChainStep(Repeat())], tolerance(), lambda record: (record, ""))
    left, _ = chain.run_batches([first, second])
    assert [record.value for record in in_order(left)] == ["a", "a", "b", "b", "c"]


def test_origins_are_those_of_the_records_before() -> None:
    upper = transformation("HoistField$Value", {"field": "f"})
    chain = Chain([ChainStep(upper), ChainStep(_OfStruct())], tolerance(), lambda record: (record, ""))
    records = list(source_batch(["1:a", "2:b"]).records)
    result = chain.run(records)
    assert [records.index(result.origin(record)) for record in result.records] == [0, 1, 1]  # type: ignore[arg-type]


class _OfStruct(Repeat):
    def derive(self, values: ValueBatch, metadata: BatchMetadata) -> Derived:
        return super().derive(ValueBatch(STRING_SCHEMA, values.columns["f"]), metadata)


def test_the_records_at_fault_are_found_and_skipped() -> None:
    letters, repeat = Letters(), Repeat()
    errors = tolerance(letters, tolerate_all=True)
    chain = Chain([ChainStep(repeat)], errors, lambda record: (record, ""))
    batch = source_batch(["1:a", "-1:b", "2:c", "1:d", "-1:e"])
    left, done = chain.run_batches([batch])
    assert done == 0 and left[0] is batch
    records = list(batch.records)
    assert facts(chain.run(records).records) == [("a", 0), ("c", 2), ("c", 2), ("d", 3)]
    errors.release(records)
    assert [failure.record.source_offset["at"] for failure in letters.failures] == [1, 4]


def test_without_tolerance_the_first_record_at_fault_ends_the_batch() -> None:
    chain = Chain([ChainStep(Repeat())], tolerance(), lambda record: (record, ""))
    records = list(source_batch(["1:a", "2:b", "-1:c", "1:d", "-1:e"]).records)
    result = chain.run(records)
    assert facts(result.records) == [("a", 0), ("b", 1), ("b", 1)]
    assert result.failed is records[2] and isinstance(result.error, ConnectError)


def test_records_behind_one_that_a_retry_has_saved_are_transformed_too() -> None:
    repeat = Repeat()
    repeat.error = RetriableError("away")

    def retry(record: Any, error: Exception) -> Any:
        assert error is repeat.error
        repeat.error = None
        return repeat.apply(record)

    result = ChainResult(list(source_batch(["1:a", "2:b", "0:c", "1:d"]).records))
    derive_step(ChainStep(repeat), repeat, tolerance())(result, retry)
    assert result.error is None
    assert [record.value for record in result.records] == ["a", "b", "b", "d"]


def test_an_error_of_the_batch_is_not_tolerated() -> None:
    class Busy(RetriableError):
        tolerable = False

    repeat = Repeat()
    repeat.error = Busy("busy")
    chain = Chain([ChainStep(repeat)], tolerance(tolerate_all=True), lambda record: (record, ""))
    result = chain.run(list(source_batch().records))
    assert result.records == [] and isinstance(result.error, Busy) and repeat.calls == [4]


def test_records_of_other_kinds_are_batches_of_their_own() -> None:
    repeat = Repeat()
    chain = Chain([ChainStep(repeat)], tolerance(), lambda record: (record, ""))
    records = list(source_batch(["1:a", "2:b", "1:c"]).records)
    records[1].value_schema = None
    assert facts(chain.run(records).records) == [("a", 0), ("b", 1), ("b", 1), ("c", 2)]
    assert sorted(repeat.calls) == [1, 2]
