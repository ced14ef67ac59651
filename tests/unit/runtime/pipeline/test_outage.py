"""A broker that is unavailable for a while: tasks wait, lose nothing, and can still be stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.model.states import State
from tests.support.broker import EmbeddedBroker
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import append, file_sink, file_source, group_offsets, records, source_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A broker that these tests kill, and start again."""
    with EmbeddedBroker(tmp_path_factory.mktemp("outage")).started() as broker:
        yield broker


def wait_until_records_queue(source: RunningTask) -> None:
    """Waits until the source has read many records, which the unavailable broker does not acknowledge."""
    wait_until(lambda: source.runner.meter.active > 50_000)


def test_tasks_survive_an_outage_of_the_broker(broker: EmbeddedBroker, tmp_path: Path) -> None:
    file, copy = tmp_path / "in.txt", tmp_path / "out.txt"
    topic = broker.create_topic()
    file.write_bytes(b"one\n")
    source_spec, sink_spec = file_source(broker, file, topic), file_sink(broker, copy, topic)
    source, sink = RunningTask(source_spec), RunningTask(sink_spec)
    wait_until(lambda: copy.exists() and copy.read_bytes() == b"one\n")
    broker.kill()
    lines = b"".join(b"line %d\n" % n for n in range(300_000))  # more than the capacity of the producer's queue
    append(file, lines)
    started = time.monotonic()
    wait_until_records_queue(source)
    broker.start()
    wait_until(lambda: copy.stat().st_size >= 4 + len(lines), 120)
    assert source.host.states == sink.host.states == [State.RUNNING], source.host.trace + sink.host.trace
    source.stop()
    sink.stop()
    assert time.monotonic() - started < 120
    assert copy.read_bytes() == b"one\n" + lines
    assert count(broker.bootstrap, topic) == 300_001
    assert source_offsets(broker, source_spec)[0].offset == {"position": file.stat().st_size}
    assert group_offsets(broker, sink_spec) == {(topic, 0): 300_001}


def test_tasks_can_be_stopped_during_an_outage(broker: EmbeddedBroker, tmp_path: Path) -> None:
    file, copy = tmp_path / "in.txt", tmp_path / "out.txt"
    topic = broker.create_topic()
    file.write_bytes(b"one\n")
    source_spec = file_source(broker, file, topic, flush_timeout=1.0)
    source = RunningTask(source_spec)
    sink = RunningTask(file_sink(broker, copy, topic, flush_timeout=1.0, flush_interval=3600))
    wait_until(lambda: copy.exists() and copy.read_bytes() == b"one\n")
    wait_until(lambda: count(broker.bootstrap, source_spec.offsets_topic) == 1)
    broker.kill()
    append(file, b"x\n" * 300_000)
    wait_until_records_queue(source)
    source.stop()
    sink.stop()
    assert source.host.states == sink.host.states == [State.RUNNING]
    broker.start()
    assert source_offsets(broker, source_spec)[0].offset == {"position": 4}
    assert records(broker, topic)[0] == (None, b"one")
