"""A message with the timestamp -1 has none, as in ConnectUtils.checkAndConvertTimestamp()."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.data.record import SourceRecord, TopicPartition
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.task import SourceTask
from runtime.api.transformation import Transformation
from runtime.converters.header import SimpleHeaderConverter
from runtime.converters.string import StringConverter
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.load import Converters
from runtime.pipeline.sink.convert_sink import SinkConversion, sink_place
from runtime.pipeline.source.convert_source import SourceConversion, source_place
from runtime.pipeline.source.source_offsets import CommittedOffsets
from runtime.pipeline.task.failure import Failure
from tests.support.tasks.json_converter import json_converter
from tests.support.tasks.python_messages import Message
from tests.support.tasks.transforms import tolerance, transformation


class _Reporter:
    def __init__(self) -> None:
        self.errors: list[str] = []

    def report(self, failure: Failure) -> None:
        self.errors.append(str(failure.error))


def _sunk(step: Transformation, times: list[int], together: bool, reporter: _Reporter | None = None) -> list[Any]:
    converters = Converters(StringConverter(), json_converter(False), SimpleHeaderConverter())
    errors = tolerance(reporter, tolerate_all=True)
    conversion = SinkConversion(converters, Chain([ChainStep(step)], errors, sink_place), errors, min_average=1)
    if not together:
        conversion._batches._values = None
    messages = [Message(n, b'{"a":1}', _time=time) for n, time in enumerate(times)]
    return list(conversion.convert(messages, {TopicPartition("t", 0)})[0])


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("times", [[-1, -1], [5, -1]])
def test_sink_records(times: list[int], together: bool) -> None:
    insert = transformation("InsertField$Value", {"timestamp.field": "at"})
    found = _sunk(insert, times, together)
    assert [record.timestamp for record in found] == [None if time == -1 else time for time in times]
    assert [record.value for record in found] == [{"a": 1} if time == -1 else {"a": 1, "at": time} for time in times]


@pytest.mark.parametrize("together", [True, False])
def test_a_sink_record_without_a_timestamp_is_not_routed_by_it(together: bool) -> None:
    reporter = _Reporter()
    found = _sunk(transformation("TimestampRouter", {}), [86_400_000, -1], together, reporter)
    assert [record.topic for record in found] == ["t-19700102"]
    assert reporter.errors == ["Timestamp missing on record: topic t"]


class _Task(SourceTask):
    def start(self, config: Any) -> None: ...

    def poll(self) -> None: ...


@pytest.mark.parametrize("times", [[-1], [-1, -1], [-1, 5]])
@pytest.mark.parametrize("together", [True, False])
def test_source_records(times: list[int], together: bool) -> None:
    errors = tolerance()
    converters = Converters(StringConverter(), StringConverter(), SimpleHeaderConverter())
    offsets = CommittedOffsets("c", [])
    conversion = SourceConversion(Chain([], errors, source_place), converters, offsets, errors, _Task())
    if not together:
        conversion._values = None
    place = {"p": 1}
    records = [SourceRecord(place, {"n": n}, "t", "x", STRING_SCHEMA, timestamp=t) for n, t in enumerate(times)]
    sent = [message for run in conversion.convert(records).runs for message in run.messages]
    assert [message.get("timestamp") for message in sent] == [None if time == -1 else time for time in times]
