"""Messages reach the client's queue once and in order, whatever the client refuses on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError

from runtime.api.data.columns import ConstantColumn
from runtime.pipeline.produce.acks import Acks
from runtime.pipeline.produce.message_columns import MessageColumns
from runtime.pipeline.produce.producers import Producers, Purpose
from runtime.pipeline.produce.send import Sender
from runtime.pipeline.task.control import TaskControl
from tests.support.broker import KafkaBroker
from tests.support.kafka.topics import messages
from tests.support.waiting import wait_until

_TOO_LARGE = b"x" * 2_000
_REFUSED = (7, 8, 31)  # indices of messages that the client never accepts
_VALUES = [_TOO_LARGE if n in _REFUSED else b"%d" % n for n in range(60)]
_KEPT = [value for value in _VALUES if value is not _TOO_LARGE]


class Reported:
    """The callback of one message."""

    def __init__(self) -> None:
        self.skips = 0

    def __call__(self, error: KafkaError | None, message: Any) -> None:
        assert error is None

    def skipped(self) -> None:
        self.skips += 1


@pytest.mark.parametrize("own_callbacks", [False, True])
@pytest.mark.parametrize(
    "batch",
    [
        MessageColumns(_VALUES, None, None),
        MessageColumns(_VALUES, ConstantColumn(b"k", 60), [1000 + n for n in range(60)]),
        MessageColumns(_VALUES, None, None, ConstantColumn([("origin", b"test")], 60)),
        [{"value": value, "key": b"k", "partition": 0, "timestamp": 1000} for value in _VALUES],
    ],
    ids=["plain", "timestamps", "headers", "dictionaries"],
)
def test_refused_messages_are_skipped_and_a_full_queue_is_waited_for(
    broker: KafkaBroker, topic: str, batch: Sequence[dict[str, Any]], own_callbacks: bool
) -> None:
    settings = {"bootstrap.servers": broker.bootstrap, "message.max.bytes": 1_000, "queue.buffering.max.messages": 4}
    producer = Producers().take(settings, purpose=Purpose.OFFSETS)  # others have no limit of messages
    errors: list[KafkaError] = []
    sender = Sender(producer, producer.share(), TaskControl(False, lambda: None), 5, errors.append, lambda: None)
    acks, each = Acks(), [Reported() for _ in batch] if own_callbacks else None
    delivery = acks.begin({b"offset": {"n": 60}})
    sender.send(topic, batch, delivery, each)
    del delivery
    acks.seal()
    assert [error.name() for error in errors] == ["MSG_SIZE_TOO_LARGE"] * 3
    if each is not None:
        assert [n for n, reported in enumerate(each) if reported.skips] == list(_REFUSED)
        del each

    def acknowledged() -> bool:
        producer.poll(0.05)
        return acks.take() == {b"offset": {"n": 60}}

    wait_until(acknowledged)
    expected = [message for message in batch if message["value"] is not _TOO_LARGE]
    found = messages(broker.bootstrap, topic)
    assert [message.value() for message in found] == _KEPT
    assert [message.key() for message in found] == [message.get("key") for message in expected]
    assert [message.headers() for message in found] == [message.get("headers") for message in expected]
    if "timestamp" in expected[0]:
        assert [message.timestamp()[1] for message in found] == [message["timestamp"] for message in expected]
