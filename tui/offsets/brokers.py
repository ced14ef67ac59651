"""What only the brokers know: which partitions topics have, where they begin and end, where in them a time lies.

confluent-kafka comes with the extra `runtime`; it is loaded when the first question is asked. Calls block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tui.errors import HeadraceError, Unreachable, UsageError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

TopicPartition = tuple[str, int]  # topic, partition
ANSWER_TIMEOUT, SHORT_TIMEOUT = 20.0, 5.0  # seconds for an answer; for one that is only nice to have


class Brokers:
    """Those of a context. `settings` are librdkafka's (`security.protocol`, `sasl.password`, …)."""

    def __init__(self, servers: str, settings: Mapping[str, str], within: float = ANSWER_TIMEOUT) -> None:
        self.servers, self._settings, self._within = servers, settings, within
        self._client: AdminClient | None = None
        self._trouble = ""

    def with_short_timeout(self) -> Brokers:
        """The same, given up sooner."""
        return Brokers(self.servers, self._settings, SHORT_TIMEOUT)

    def partitions(self, wanted: Callable[[str], bool]) -> list[TopicPartition]:
        """Of all topics that are wanted."""
        topics = self._asked(lambda admin: admin.list_topics(timeout=self._within)).topics
        return sorted((name, number) for name, topic in topics.items() if wanted(name) for number in topic.partitions)

    def beginnings(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets({at: _spec().earliest() for at in places})

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets({at: _spec().latest() for at in places})

    def at_time(self, places: Iterable[TopicPartition], milliseconds: int) -> dict[TopicPartition, int]:
        """The first record of that time or later; partitions without one are left out."""
        found = self._offsets({at: _spec().for_timestamp(milliseconds) for at in places})
        return {at: offset for at, offset in found.items() if offset >= 0}

    def _offsets(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int]:
        if not specs:
            return {}
        from confluent_kafka import TopicPartition

        asked = {TopicPartition(*at): spec for at, spec in specs.items()}
        futures = self._asked(lambda admin: admin.list_offsets(asked, request_timeout=self._within))
        return {
            (at.topic, at.partition): self._asked(lambda _, future=future: future.result(self._within)).offset  # type: ignore[misc]
            for at, future in futures.items()
        }

    def _asked(self, question: Callable[[AdminClient], Any]) -> Any:
        client = self._connected()
        from confluent_kafka import KafkaException

        try:
            return question(client)
        except (KafkaException, TimeoutError) as error:
            cause = error.args[0].str() if isinstance(error, KafkaException) else f"no answer within {self._within:g} s"
            raise Unreachable(f"the brokers {self.servers}: {cause}{self._trouble}") from error

    def _connected(self) -> AdminClient:
        if self._client is None:
            try:
                from confluent_kafka import KafkaException
                from confluent_kafka.admin import AdminClient
            except ImportError as error:
                advice = "install it with Headrace's extra: pip install 'headrace[runtime]'"
                raise HeadraceError("speaking to brokers needs confluent-kafka, which is not there", advice) from error
            given: dict[str, Any] = {"bootstrap.servers": self.servers, "error_cb": self._heard}
            try:
                self._client = AdminClient(without_log_output({**self._settings, **given}))
            except KafkaException as error:
                raise UsageError(f"the context's settings for Kafka: {error.args[0].str()}") from error
        return self._client

    def _heard(self, error: Any) -> None:
        """Why there is no connection, said better than by the time-out that follows."""
        self._trouble = f" ({error.str()})"


def without_log_output(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keeps librdkafka from writing to the terminal, even at exit, with a logger that discards everything. A log level
    is not enough, since a `debug` setting raises the level again."""
    import logging

    logger = logging.getLogger("headrace.librdkafka")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return {**settings, "log_level": 0, "logger": logger}


def _spec() -> Any:
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    return OffsetSpec


def brokers(servers: str, settings: Mapping[str, str]) -> Brokers:
    """Raises HeadraceError with what to do where a context does not name any."""
    if not servers:
        advice = "name them: config set-context NAME --bootstrap-servers HOST:9092, or `brokers` in contexts.toml"
        raise HeadraceError("this worker does not resolve moments, and the context names no brokers", advice)
    return Brokers(servers, settings)
