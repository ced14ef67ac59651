"""A source whose topic is deleted while it runs, and created again a moment later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from runtime.model.states import State
from tests.support.broker import KafkaBroker
from tests.support.kafka.committed import committed_offsets, values
from tests.support.kafka.topics import count
from tests.support.tasks.pipeline import append, exactly_once, filled_source
from tests.support.tasks.slot_host import RecordingHost, RunningTask
from tests.support.waiting import wait_until

WAIT = {"topic.metadata.propagation.max.ms": 50, "allow.auto.create.topics": False}
"""The client's wait for a topic that it has never seen, 30 s by default."""


@pytest.mark.soak
@pytest.mark.parametrize("transactions", [False, True])
def test_no_record_is_lost_when_the_topic_returns(broker: KafkaBroker, tmp_path: Path, transactions: bool) -> None:
    """The client refuses records at once, for as long as it does not ask the brokers for the topic again."""
    file, topic, spec = filled_source(broker, tmp_path, b"one\n")
    spec = replace(spec, producer={**spec.producer, **WAIT})
    spec = exactly_once(spec) if transactions else spec
    host = RecordingHost()
    task = RunningTask(spec, host)
    wait_until(lambda: count(broker.bootstrap, spec.offsets_topic))
    broker.delete_topics(topic)
    append(file, b"two\n")
    task.join()
    assert host.states == [State.RUNNING, State.UNASSIGNED]
    assert "its topic was deleted: " in host.trace and topic in host.trace

    again = RunningTask(replace(spec, epoch=2, offsets=committed_offsets(broker, spec)), host)
    again.wait_state(State.RUNNING)
    wait_until(lambda: _created(broker, topic))
    wait_until(lambda: values(broker, topic) == [b"two"])
    again.stop()


def _created(broker: KafkaBroker, topic: str) -> bool:
    """The brokers delete a topic a moment after they have confirmed it."""
    try:
        broker.create_topic(topic)
    except KafkaException:
        return False
    return True
