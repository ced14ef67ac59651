"""Messages and offsets of sources whose transformations drop records and make several of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import STRING_SCHEMA, Schema
from runtime.api.errors import DataError
from runtime.api.task import SourceTask
from runtime.api.transformation import KeyOrValueTransformation, Record
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.string import StringConverter
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.load import Converters
from runtime.pipeline.source.convert_source import SourceConversion, source_place
from runtime.pipeline.source.message_batch import MessageBatch
from runtime.pipeline.source.source_offsets import CommittedOffsets
from tests.support.tasks.transforms import Repeat, tolerance


class Task(SourceTask):
    def start(self, config: Any) -> None: ...

    def poll(self) -> None: ...


class Tracing(Task):
    def commit_record(self, record: SourceRecord, metadata: Any) -> None: ...


class Second(KeyOrValueTransformation):
    """Fails for the second text "b"."""

    def __init__(self) -> None:
        self.seen = 0

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        self.seen += value == "b"
        if value == "b" and self.seen == 2:
            raise DataError("the second b")
        return schema, value


class SecondConverter(StringConverter):
    """Fails for the second text "b"."""

    seen = 0

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        self.seen += value == "b"
        if value == "b" and self.seen % 2 == 0:
            raise DataError("the second b")
        return super().from_connect(topic, schema, value)

    from_connect_batch = None  # type: ignore[assignment]


def convert(
    texts: Sequence[str], *more: KeyOrValueTransformation, columns: bool = True, task: SourceTask | None = None,
    converter: StringConverter | None = None, **policy: Any,
) -> MessageBatch:  # fmt: skip
    steps = [ChainStep(step) for step in (Repeat(), *more)]
    errors = tolerance(**policy)
    converters = Converters(StringConverter(), converter or StringConverter(), SimpleHeaderConverter())
    chain = Chain(steps, errors, source_place)
    conversion = SourceConversion(chain, converters, CommittedOffsets("c", []), errors, task or Task())
    batch = SourceBatch({"p": 1}, lambda n: {"at": n}, "t", ValueBatch(STRING_SCHEMA, texts))
    records = batch if columns else [record.copy() for record in batch.records]
    if not columns:
        for number, record in enumerate(records):
            record.kafka_partition = number % 2  # no columns
    return conversion.convert(records)


def values(batch: MessageBatch) -> list[bytes]:
    return [message["value"] for run in batch.runs for message in run.messages]


def offset(batch: MessageBatch) -> Mapping[str, Any] | None:
    (found,) = batch.offsets.values()
    return found


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("task", [Task(), Tracing()])
def test_the_offset_of_the_last_record_is_committed_even_if_it_is_dropped(columns: bool, task: SourceTask) -> None:
    batch = convert(["1:a", "2:b", "0:c"], columns=columns, task=task)
    assert values(batch) == [b"a", b"b", b"b"]
    assert offset(batch) == {"at": 2}
    if isinstance(task, Tracing):
        assert [record.value for run in batch.runs for record in run.records] == ["1:a", "2:b", "2:b"]
        assert [record.value for record in batch.dropped] == ["0:c"]


@pytest.mark.parametrize("columns", [True, False])
def test_steps_behind_are_applied_to_each_result(columns: bool) -> None:
    batch = convert(["1:a", "0:b", "1:c", "0:d"], Second(), columns=columns)
    assert values(batch) == [b"a", b"c"] and offset(batch) == {"at": 3}


@pytest.mark.parametrize("columns", [True, False])
def test_no_message_of_a_record_is_sent_if_a_later_step_fails_for_one_of_them(columns: bool) -> None:
    batch = convert(["1:a", "0:x", "2:b", "1:c"], Second(), columns=columns)
    assert values(batch) == [b"a"] and offset(batch) == {"at": 1} and batch.error is not None


@pytest.mark.parametrize("columns", [True, False])
def test_no_message_of_a_record_is_sent_if_the_converter_fails_for_one_of_them(columns: bool) -> None:
    batch = convert(["1:a", "0:x", "2:b", "1:c"], columns=columns, converter=SecondConverter())
    assert values(batch) == [b"a"] and offset(batch) == {"at": 1} and batch.error is not None


def test_tolerated_errors_cost_only_the_result_at_fault() -> None:
    batch = convert(["1:a", "2:b", "-1:c", "1:d"], Second(), tolerate_all=True)
    assert values(batch) == [b"a", b"b", b"d"] and offset(batch) == {"at": 3}
