"""Reading dead letters from their topic and sending them again. confluent-kafka is imported by the first request.

All requests block: call them in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.dead_letters.letters import DeadLetter
from tui.errors import HeadraceError, NotFound, Unreachable
from tui.offsets.brokers import without_log_output

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

ANSWER_TIMEOUT = 15.0  # seconds for an answer from the brokers
MAX_WINDOW_BYTES = 16 * 1024 * 1024  # of values in one window


class DeadLetterWindow(NamedTuple):
    """Dead letters of a topic, newest first. By partition: `starts` is the first offset of the window, `earliest` and
    `latest` bound the topic."""

    letters: tuple[DeadLetter, ...]
    starts: Mapping[int, int]
    earliest: Mapping[int, int]
    latest: Mapping[int, int]

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


def require_client() -> None:
    """Raises HeadraceError, with advice, if confluent-kafka is not installed."""
    try:
        import confluent_kafka  # noqa: F401 - only whether it is installed
    except ImportError:
        advice = "install it with Headrace's extra: pip install 'headrace[runtime]'"
        raise HeadraceError("confluent-kafka, needed to read dead letters, is not installed", advice) from None


class DeadLetterTopic:
    """One dead letter topic. `settings` are librdkafka's, with `bootstrap.servers`. Raises Unreachable."""

    def __init__(self, topic: str, settings: Mapping[str, Any]) -> None:
        self.topic = topic
        self._settings = without_log_output(settings)
        self._trouble = ""

    def newest(self, count: int, before: Mapping[int, int] | None = None) -> DeadLetterWindow:
        """Reads at most `count` records of each partition: those right before the offsets `before`, or the newest."""
        require_client()
        from confluent_kafka import Consumer, KafkaException

        consumer = Consumer(
            {
                **self._settings,
                "group.id": f"headrace-console-{time.time_ns()}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "allow.auto.create.topics": False,
                "error_cb": self._on_error,
            }
        )
        try:
            return self._window(consumer, count, before or {})
        except KafkaException as error:
            raise self._unreachable(error.args[0].str()) from error
        finally:
            consumer.close()

    def _window(self, consumer: Consumer, count: int, before: Mapping[int, int]) -> DeadLetterWindow:
        from confluent_kafka import TopicPartition

        earliest, latest, starts, ends = {}, {}, {}, {}
        for number in self._partitions(consumer):
            at = TopicPartition(self.topic, number)
            earliest[number], latest[number] = consumer.get_watermark_offsets(at, timeout=ANSWER_TIMEOUT)
            ends[number] = min(before.get(number, latest[number]), latest[number])
            starts[number] = max(earliest[number], ends[number] - count)
        wanted = {number: end for number, end in ends.items() if starts[number] < end}
        letters = self._read(consumer, starts, wanted) if wanted else []
        letters.sort(key=lambda letter: (letter.timestamp, letter.partition, letter.offset), reverse=True)
        return DeadLetterWindow(tuple(letters), starts, earliest, latest)

    def _partitions(self, consumer: Consumer) -> list[int]:
        found = consumer.list_topics(self.topic, timeout=ANSWER_TIMEOUT).topics[self.topic]
        if found.error is not None or not found.partitions:
            raise NotFound(f"the topic {self.topic} does not exist yet: no record has failed", 404)
        return sorted(found.partitions)

    def _read(self, consumer: Consumer, starts: Mapping[int, int], wanted: dict[int, int]) -> list[DeadLetter]:
        """Reads up to the end of each partition, the time limit or the size limit."""
        from confluent_kafka import TopicPartition

        consumer.assign([TopicPartition(self.topic, number, starts[number]) for number in wanted])
        unfinished, letters, size = set(wanted), list[DeadLetter](), 0
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while unfinished and size < MAX_WINDOW_BYTES and time.monotonic() < deadline:
            for message in consumer.consume(500, timeout=0.5):
                number = message.partition() or 0
                if message.error() is not None:
                    unfinished.discard(number)  # the end of the partition, or an error
                elif (message.offset() or 0) < wanted[number]:
                    letters.append(_letter(message))
                    size += len(letters[-1].value or b"")
                if (message.offset() or 0) >= wanted[number] - 1:
                    unfinished.discard(number)
        if unfinished and not letters:
            raise self._unreachable(f"no records within {ANSWER_TIMEOUT:g} s")
        return letters

    def replay(self, letters: Sequence[DeadLetter], instead: str = "") -> list[SendResult]:
        """Sends each record to its original topic and partition, without the headers about its failure, or to the topic
        `instead` if the headers do not name one. Waits for all acknowledgements."""
        require_client()
        from confluent_kafka import KafkaException, Producer

        producer = Producer(
            {
                **self._settings,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",  # as Java clients do
                "message.timeout.ms": int(ANSWER_TIMEOUT * 1000),
                "error_cb": self._on_error,
            }
        )
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
            try:
                producer.produce(topic, letter.value, letter.key, **fields)
            except (KafkaException, BufferError) as error:
                outcomes[letter.id] = SendResult(letter, error=str(error))

        for letter in letters:
            send(letter)
            producer.poll(0)
        producer.flush(ANSWER_TIMEOUT + 5)
        return [outcomes.get(one.id, SendResult(one, error=f"no answer{self._trouble}")) for one in letters]

    def _on_error(self, error: Any) -> None:
        """Keeps librdkafka's reason for a failed connection, which explains more than the timeout that follows."""
        self._trouble = f" ({error.str()})"

    def _unreachable(self, cause: str) -> Unreachable:
        return Unreachable(f"the brokers {self._settings.get('bootstrap.servers')}: {cause}{self._trouble}")


def _letter(message: Message) -> DeadLetter:
    found: Any = message.headers() or ()
    headers = tuple((str(name), _bytes(value)) for name, value in found)
    return DeadLetter(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp=max(0, message.timestamp()[1]),
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=headers,
    )


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _sent(letter: DeadLetter, error: Any, message: Any) -> SendResult:
    if error is not None:
        return SendResult(letter, error=error.str())
    return SendResult(letter, where=f"{message.topic()}-{message.partition()}@{message.offset()}")
