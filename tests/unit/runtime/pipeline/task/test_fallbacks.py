"""Batches that fall back to processing record by record: same records, counted, and logged once per task."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from runtime.api.data.columns import BatchMetadata, MixedBatchError, ValueBatch
from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.transformation import Predicate, Record, Transformation
from runtime.connectors.file_source import FileStreamSourceTask
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.string import StringConverter
from runtime.herder.monitoring.metrics import MetricFamilies, _task
from runtime.herder.status.meter_board import TaskMeter
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.load import Converters
from runtime.pipeline.sink.convert_sink import SinkConversion, sink_place
from runtime.pipeline.source.convert_source import SourceConversion, source_place
from runtime.pipeline.source.source_offsets import CommittedOffsets
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.tolerance import Policy, Tolerance
from tests.support.tasks.python_messages import Message

FAULT = ZeroDivisionError("batch code")


class FaultyStep(Transformation):
    """Works record by record, and raises for batches."""

    fault: Exception = FAULT

    def apply(self, record: Any) -> Any:
        record.topic = "after"
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        raise self.fault


class MixedStep(FaultyStep):
    """Declines batches in the documented way."""

    fault = MixedBatchError()


class FaultyPredicate(Predicate):
    """Raises for the very first record only."""

    tested = 0

    def test(self, record: Record) -> bool:
        self.tested += 1
        if self.tested == 1:
            raise FAULT
        return True


class FaultyConverter(StringConverter):
    """Works record by record, and raises for batches."""

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        raise FAULT

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None] | None:
        raise FAULT


class Task:
    """The conversions of a task with one step and a converter of values."""

    def __init__(self, step: ChainStep | None = None, values: StringConverter | None = None) -> None:
        self.control = TaskControl(False, lambda: None)
        tolerance, steps = Tolerance(Policy(), "c-0", self.control), [step] if step else []
        converters = Converters(StringConverter(), values or StringConverter(), SimpleHeaderConverter())
        offsets, task = CommittedOffsets("c", []), FileStreamSourceTask()
        self._sink = SinkConversion(converters, Chain(steps, tolerance, sink_place), tolerance)
        chain = Chain(steps, tolerance, source_place)
        self._source = SourceConversion(chain, converters, offsets, tolerance, task)

    def sink(self) -> Sequence[SinkRecord]:
        records, _ = self._sink.convert([Message(n, b"%d" % n) for n in range(3)], {TopicPartition("t", 0)})
        return records

    def source(self) -> list[tuple[str, Any]]:
        partition = {"f": "x"}
        records = [SourceRecord(partition, {"n": n}, "t", str(n), STRING_SCHEMA) for n in range(3)]
        return [(run.topic, message["value"]) for run in self._source.convert(records).runs for message in run.messages]

    @property
    def fallbacks(self) -> dict[str, int]:
        return {plugin: batches for plugin, batches in self.control.meter.fallbacks.items() if batches}


@pytest.mark.parametrize(
    "step, values, plugin, topic",
    [
        (ChainStep(FaultyStep()), None, "transformation", "after"),
        (ChainStep(FaultyStep(), FaultyPredicate()), None, "predicate", "after"),
        (None, FaultyConverter(), "converter", "t"),
    ],
)
def test_the_records_are_complete_and_the_batch_is_counted(
    step: ChainStep | None, values: StringConverter | None, plugin: str, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    task = Task(step, values)
    assert [(record.topic, record.value) for record in task.sink()] == [(topic, str(n)) for n in range(3)]
    assert task.fallbacks == {plugin: 1}
    assert task.source() == [(topic, b"%d" % n) for n in range(3)]
    assert task.sink()
    if plugin != "predicate":  # raises only once
        assert task.fallbacks == {plugin: 3}
    (line,) = caplog.records
    assert line.levelno == logging.DEBUG
    assert f"a {plugin} raised" in line.getMessage()
    assert line.exc_info is not None and line.exc_info[1] is FAULT


def test_batches_that_a_step_declines_are_not_faults(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    task = Task(ChainStep(MixedStep()))
    assert len(task.sink()) == len(task.source()) == 3
    assert task.fallbacks == {}
    assert not caplog.records


def test_metrics_show_the_batches_of_all_runs_of_a_task() -> None:
    meter, families = TaskMeter(), MetricFamilies()
    for epoch in (1, 2):
        task = Task(values=FaultyConverter())
        assert task.sink()
        meter.report(epoch, task.control.meter.snapshot())
    _task(families, "sink", {"connector": "c", "task": 0}, meter, runs=True)
    name = "headrace_task_record_by_record_batches_total"
    lines = [line for line in families.text().splitlines() if line.startswith(name)]
    assert lines == [f'{name}{{connector="c",task="0",reason="converter_error"}} 2']
