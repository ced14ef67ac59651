"""Source offsets are written to the offsets topic."""

from __future__ import annotations

from runtime.pipeline.produce.producers import Purpose, SlotProducer
from runtime.pipeline.source.source_offsets import OffsetWriter
from tests.support.broker import KafkaBroker
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until


def test_offsets_wait_for_room_in_a_full_producer_queue(broker: KafkaBroker) -> None:
    topic, offsets = broker.create_topic(), broker.create_topic()
    settings = {"bootstrap.servers": broker.bootstrap, "queue.buffering.max.messages": 3, "linger.ms": 200}
    producer = SlotProducer(settings, Purpose.OFFSETS)
    for value in (b"a", b"b"):
        producer.produce(topic, value)
    writer = OffsetWriter(lambda: producer, offsets)
    writer.write({str(n).encode(): {"n": n} for n in range(5)})
    assert writer.busy and not writer.finished()
    wait_until(writer.finished)
    assert not writer.busy and [key for key, _ in records(broker, offsets)] == [b"0", b"1", b"2", b"3", b"4"]
