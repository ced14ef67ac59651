"""Offsets without records and requested commits, on a real broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
import pytest

from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTask
from runtime.model.task_spec import TaskSpec
from tests.support.broker import KafkaBroker
from tests.support.kafka.committed import committed
from tests.support.tasks.pipeline import exactly_once, source_task
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

PARTITION = {"p": 1}


class Announcing(SourceTask):
    """Polls three records, then an offset without a record; each script requests a commit or does not."""

    def start(self, config: Mapping[str, str]) -> None:
        self._polls = 0

    def poll(self) -> Sequence[SourceRecord] | None:
        self._polls += 1
        if self._polls > 2:
            return None
        self.context.add_offsets([({"p": 2}, {"polls": self._polls})])
        if self._polls == 1:
            topic = self.context.configs["topic"]
            return [SourceRecord(PARTITION, {"n": n}, topic, str(n)) for n in range(3)]
        self.context.add_offsets([(PARTITION, {"n": "end"})])
        if self.context.configs["request"] == "true":
            self.context.request_commit()
        return None


def _spec(broker: KafkaBroker, request: bool, boundary: str) -> TaskSpec:
    config = {"topic": broker.create_topic(), "request": str(request).lower()}
    spec = source_task(broker, f"{__name__}:Announcing", config, flush_interval=60.0)
    return exactly_once(spec, transaction_boundary=boundary) if boundary else spec


def _offsets(broker: KafkaBroker, spec: TaskSpec) -> list[tuple[object, object]]:
    """Committed partitions and offsets, in their order."""
    found = [(m.key(), m.value()) for m in committed(broker, spec.offsets_topic)]
    return [(orjson.loads(key or b"[]")[1], orjson.loads(value or b"null")) for key, value in found]


@pytest.mark.parametrize("boundary", ["", "poll", "interval"])
def test_a_requested_commit_includes_offsets_without_records_after_those_of_records(
    broker: KafkaBroker, boundary: str
) -> None:
    spec = _spec(broker, True, boundary)
    task = RunningTask(spec)
    wait_until(lambda: (PARTITION, {"n": "end"}) in _offsets(broker, spec), 10, "the offset without a record")
    newest = {str(partition): offset for partition, offset in _offsets(broker, spec)}
    assert newest == {str(PARTITION): {"n": "end"}, str({"p": 2}): {"polls": 2}}
    assert len(committed(broker, spec.config["topic"])) == 3
    task.stop()


@pytest.mark.parametrize("boundary", ["", "interval"])
def test_without_a_request_offsets_are_committed_when_due_or_at_the_end(broker: KafkaBroker, boundary: str) -> None:
    spec = _spec(broker, False, boundary)
    task = RunningTask(spec)
    wait_until(lambda: task.runner.meter.read == 3, 10, "the records")
    assert _offsets(broker, spec) == []
    task.stop()
    assert {str(partition): offset for partition, offset in _offsets(broker, spec)} == {
        str(PARTITION): {"n": "end"}, str({"p": 2}): {"polls": 2},
    }  # fmt: skip
