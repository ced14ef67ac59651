"""A stop, a revocation or an absent source system: a source task loses no record and writes none once revoked."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.record import SourceRecord
from runtime.api.errors import RetriableError
from runtime.api.task import SourceTask
from runtime.model.states import State
from tests.support.broker import KafkaBroker
from tests.support.kafka import topics
from tests.support.plugins import PLUGINS
from tests.support.tasks.pipeline import file_source, source_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

FOLDERS = [PLUGINS]


HERE = "tests.unit.runtime.pipeline.source.test_interruptions"


def plugin(name: str) -> Any:
    """The plugin class under the name that tasks import; pytest imports this module under another name."""
    __import__(HERE)
    return getattr(sys.modules[HERE], name)


AWAY = {
    "transforms": "a",
    "transforms.a.type": "headrace_test_transforms.Misbehaving",
    "transforms.a.how": "later",
    "errors.retry.timeout": "-1",
}


class Source(SourceTask):
    """Polls nine records for three partitions; class attributes select what happens before the poll."""

    ready = threading.Event()
    away = 0
    stamp: int | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self.topic, self.polls = config["topic"], 0

    def poll(self) -> list[SourceRecord] | None:
        self.polls += 1
        if self.polls <= self.away:
            raise RetriableError("the source system is unavailable")
        if self.polls > self.away + 1:
            return None
        assert self.ready.wait(30)
        texts = [f"{n % 3}" for n in range(9)]
        return [
            SourceRecord(
                {"p": 1}, {"n": n}, self.topic, text, key=text, kafka_partition=int(text), timestamp=self.stamp
            )
            for n, text in enumerate(texts)
        ]


@pytest.fixture
def source() -> Any:
    found = plugin("Source")
    found.away, found.stamp = 0, None
    found.ready.set()
    return found


def test_records_go_to_the_partition_that_their_task_chose(broker: KafkaBroker, source: Any) -> None:
    topic = broker.create_topic(partitions=3)
    task = RunningTask(file_source(broker, Path("x"), topic, task_class=f"{HERE}:Source"))
    wait_until(lambda: topics.count(broker.bootstrap, topic) == 9)
    task.stop()
    assert all(str(partition).encode() == key for partition, key in topics.placed(broker.bootstrap, topic))


def test_a_poll_that_raises_retriable_error_is_repeated(broker: KafkaBroker, source: Any) -> None:
    source.away = 2
    topic = broker.create_topic(partitions=3)
    task = RunningTask(file_source(broker, Path("x"), topic, task_class=f"{HERE}:Source"))
    wait_until(lambda: topics.count(broker.bootstrap, topic) == 9)
    task.stop()
    assert task.host.states == [State.RUNNING]


@pytest.mark.parametrize("stamp", [None, 1_700_000_000_000])
def test_a_source_task_revoked_during_poll_writes_nothing(broker: KafkaBroker, source: Any, stamp: int | None) -> None:
    source.stamp = stamp
    source.ready.clear()
    topic = broker.create_topic(partitions=3)
    spec = file_source(broker, Path("x"), topic, task_class=f"{HERE}:Source")
    task = RunningTask(spec)
    wait_until(lambda: task.runner.call is not None and task.runner.call.method == "poll")
    task.runner.revoke()
    source.ready.set()
    task.join()
    assert not task.host.producers.take(spec.producer).client.flush(10)
    assert topics.count(broker.bootstrap, topic) == 0


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_record_that_is_retried_at_a_stop_is_processed_after_the_next_start(
    broker: KafkaBroker, topic: str, tmp_path: Path, tolerance: str
) -> None:
    config = {**AWAY, "errors.tolerance": tolerance}
    (tmp_path / "in").write_text("one\n")
    source = file_source(broker, tmp_path / "in", topic, config=config, plugin_path=FOLDERS)
    task = RunningTask(source)
    wait_until(lambda: task.runner.errors is not None and task.runner.errors.retries)
    task.stop()
    assert task.host.states == [State.RUNNING] and source_offsets(broker, source) == []
    assert topics.count(broker.bootstrap, topic) == 0
