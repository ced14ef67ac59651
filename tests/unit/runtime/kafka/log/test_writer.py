"""The storage topics' producer: a fatal error loses the unacknowledged records only."""

from __future__ import annotations

import queue

from confluent_kafka import KafkaError

from runtime.kafka.errors import KafkaProblem
from runtime.kafka.log.writer import Writer
from tests.support.kafka.mock_kafka import PRODUCE, MockKafka


def test_a_fatal_error_is_reported_and_the_next_record_gets_another_producer() -> None:
    kafka = MockKafka()
    topic, stuck = kafka.create_topic(), kafka.create_topic()
    reports: queue.SimpleQueue[tuple[KafkaProblem | None, int, int]] = queue.SimpleQueue()
    troubles: list[None] = []
    writer = Writer({"bootstrap.servers": kafka.bootstrap}, lambda: troubles.append(None))
    writer.start()

    def send(to: str = topic) -> None:
        writer.send(to, b"k", b"v", lambda *report: reports.put(report))

    try:
        send()
        assert reports.get(timeout=10) == (None, 0, 0)
        kafka.lose_leader(stuck)
        send(stuck)
        kafka.refuse(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
        send()
        refusals = [reports.get(timeout=10)[0] for _ in range(2)]
        assert None not in refusals, "the stuck record is reported, too"
        assert all("sequence" in str(refusal) for refusal in refusals), "with the reason, not as a purged record"
        assert troubles
        send()
        assert reports.get(timeout=10) == (None, 0, 1)
    finally:
        writer.close(5)


def test_a_timestamp_that_the_topic_does_not_allow_is_explained() -> None:
    """The brokers refuse records of a worker whose clock is an hour ahead."""
    writer = Writer({}, lambda: None)
    refusal = str(writer._refusal("config", KafkaError(KafkaError.INVALID_TIMESTAMP), 10))
    assert "message.timestamp.after.max.ms of topic config" in refusal
    assert "Compare the clocks of this machine and of the brokers" in refusal
