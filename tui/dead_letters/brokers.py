"""Reading dead letters from their topic and sending them again. confluent-kafka is imported by the first request.

All requests block: call them in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tui import kafka_clients
from tui.dead_letters.letters import DeadLetter
from tui.errors import NotFound
from tui.topics.page_scan import ReadLimits
from tui.topics.reader import TopicReader

if TYPE_CHECKING:
    from confluent_kafka import Message, Producer

RESPONSE_TIMEOUT = 15.0  # seconds for a response from the brokers
UNKNOWN_TIMEOUT = 2.0  # seconds until a topic that the brokers do not know counts as missing


class DeadLetterWindow(NamedTuple):
    """Dead letters of a topic, newest first. By partition: `starts` is the first offset of the window, `earliest` and
    `latest` bound the topic."""

    letters: tuple[DeadLetter, ...]
    starts: Mapping[int, int]
    earliest: Mapping[int, int]
    latest: Mapping[int, int]
    is_cut: bool = False  # whether a limit other than the number of records ended the window

    @property
    def total(self) -> int:
        """Records in the topic, estimated from its offsets."""
        return sum(self.latest[number] - self.earliest[number] for number in self.latest)

    @property
    def has_older(self) -> bool:
        return any(self.starts[number] > self.earliest[number] for number in self.starts)


class SendResult(NamedTuple):
    """The result of sending one dead letter: its new topic, partition and offset, or the error."""

    letter: DeadLetter
    where: str = ""
    error: str = ""


class DeadLetterTopic:
    """One dead letter topic. `settings` are librdkafka's, with `bootstrap.servers`. Raises Unreachable."""

    def __init__(self, topic: str, settings: Mapping[str, Any]) -> None:
        self.topic = topic
        self._settings = settings

    def newest(self, count: int, before: Mapping[int, int] | None = None) -> DeadLetterWindow:
        """Reads at most `count` records: those right before the offsets `before`, or the newest."""
        reader = TopicReader(self._settings)
        try:
            page = reader.older(self.topic, ReadLimits(count), before)
        except NotFound:
            raise NotFound(f"the topic {self.topic} does not exist yet: no record has failed", 404) from None
        finally:
            reader.close()
        letters = tuple(DeadLetter(*record) for record in reversed(page.records))
        return DeadLetterWindow(letters, page.starts, page.earliest, page.latest, page.is_cut)

    def replay(self, letters: Sequence[DeadLetter], instead: str = "") -> list[SendResult]:
        """Sends each record to its original topic and partition with its original timestamp, without the headers about
        its failure, or to the topic `instead` if the headers do not name one. The original order is kept, since a later
        record of a key may replace an earlier one. Waits for all acknowledgements. Returns the results in the order of
        `letters`."""
        settings = {
            **self._settings,
            "enable.idempotence": True,
            "partitioner": "murmur2_random",  # as Java clients do
            "message.timeout.ms": int(RESPONSE_TIMEOUT * 1000),
            "allow.auto.create.topics": False,  # the topic may have been deleted on purpose
            "topic.metadata.propagation.max.ms": int(UNKNOWN_TIMEOUT * 1000),
        }
        with kafka_clients.producer(settings) as producer:
            return self._send(producer, letters, instead)

    def _send(self, producer: Producer, letters: Sequence[DeadLetter], instead: str) -> list[SendResult]:
        from confluent_kafka import KafkaException

        outcomes: dict[str, SendResult] = {}

        def send(letter: DeadLetter) -> None:
            def on_delivery(error: Any, message: Message) -> None:
                outcomes[letter.id] = _sent(letter, error, message)

            topic, partition = (letter.origin or (instead, None))[:2]
            if not topic:
                outcomes[letter.id] = SendResult(letter, error="its headers do not name the original topic")
                return
            fields: dict[str, Any] = {"headers": letter.own_headers, "on_delivery": on_delivery}
            if partition is not None:
                fields["partition"] = partition
            if letter.own_timestamp is not None:
                fields["timestamp"] = letter.own_timestamp
            try:
                producer.produce(topic, letter.value, letter.key, **fields)
            except (KafkaException, BufferError) as error:
                outcomes[letter.id] = SendResult(letter, error=str(error))

        for letter in sorted(letters, key=_original_order):
            send(letter)
            _poll(producer, 0)
        until = time.monotonic() + RESPONSE_TIMEOUT + 5
        while len(producer) and time.monotonic() < until:
            _poll(producer, 0.1)
        return [outcomes.get(letter.id, SendResult(letter, error="the brokers did not respond")) for letter in letters]


def _original_order(letter: DeadLetter) -> tuple[tuple[str, int, int], int, int]:
    """By original topic, partition and offset; without these by partition and offset of the dead letter."""
    return letter.origin or ("", 0, 0), letter.partition, letter.offset


def _poll(producer: Producer, seconds: float) -> None:
    """Serves reports. A fatal error of the producer is raised here, before the reports of the records that it refuses;
    flush() would raise it in the middle of them, whose callbacks then fail."""
    from confluent_kafka import KafkaException

    with suppress(KafkaException):
        producer.poll(seconds)


def _sent(letter: DeadLetter, error: Any, message: Any) -> SendResult:
    if error is not None:
        return SendResult(letter, error=kafka_clients.in_words(error))
    return SendResult(letter, where=f"{message.topic()}-{message.partition()}@{message.offset()}")
