"""Topics as only the brokers know them: partitions, beginning and end offsets, offsets by time.

confluent-kafka comes with the extra `runtime` and is imported by the first request. Requests block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tui.errors import HeadraceError, Unreachable, UsageError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

Key = TypeVar("Key")
TopicPartition = tuple[str, int]  # topic, partition
ANSWER_TIMEOUT, SHORT_TIMEOUT = 20.0, 5.0  # seconds for an answer; the short one for optional details


class Brokers:
    """The brokers of a context. `settings` are librdkafka's (`security.protocol`, `sasl.password`, …).

    Requests raise Unreachable without an answer, UsageError for invalid settings, and HeadraceError for the error in
    an answer and without confluent-kafka."""

    def __init__(self, servers: str, settings: Mapping[str, str], timeout: float = ANSWER_TIMEOUT) -> None:
        self.servers, self._settings, self._timeout = servers, settings, timeout
        self._client: AdminClient | None = None
        self._connection_error = ""

    def with_short_timeout(self) -> Brokers:
        """The same brokers with a shorter timeout."""
        return Brokers(self.servers, self._settings, SHORT_TIMEOUT)

    def partitions(self, wanted: Callable[[str], bool]) -> list[TopicPartition]:
        """Partitions of all topics that `wanted` accepts, sorted."""
        topics = self._request(lambda admin: admin.list_topics(timeout=self._timeout)).topics
        return sorted((name, number) for name, topic in topics.items() if wanted(name) for number in topic.partitions)

    def beginnings(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets({at: _spec().earliest() for at in places})

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets({at: _spec().latest() for at in places})

    def ends_or_errors(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int | HeadraceError]:
        """The end offset of each partition, or the error of that partition alone."""
        return self._offsets_or_errors({at: _spec().latest() for at in places})

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int] | HeadraceError]:
        """The committed offsets of consumer groups, or the error of that group alone; a group that does not exist has
        none."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        def futures(admin: AdminClient) -> dict[str, Future[Any]]:  # one request for each group, all at the same time
            return {
                group: future
                for group in dict.fromkeys(groups)
                for future in admin.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(group)], request_timeout=self._timeout
                ).values()
            }

        answers = self._answers(self._request(futures))
        return {group: one if isinstance(one, HeadraceError) else _offsets_of(one) for group, one in answers.items()}

    def at_time(self, places: Iterable[TopicPartition], milliseconds: int) -> dict[TopicPartition, int]:
        """Offset of the first record at that time (milliseconds since 1970) or later, where there is one."""
        found = self._offsets({at: _spec().for_timestamp(milliseconds) for at in places})
        return {at: offset for at, offset in found.items() if offset >= 0}

    def _offsets(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int]:
        found = {}
        for at, one in self._offsets_or_errors(specs).items():
            if isinstance(one, HeadraceError):
                raise one
            found[at] = one
        return found

    def _offsets_or_errors(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int | HeadraceError]:
        if not specs:
            return {}
        from confluent_kafka import TopicPartition

        asked = {TopicPartition(*at): spec for at, spec in specs.items()}
        futures = self._request(lambda admin: admin.list_offsets(asked, request_timeout=self._timeout))
        answers = self._answers({(at.topic, at.partition): future for at, future in futures.items()})
        return {at: one if isinstance(one, HeadraceError) else one.offset for at, one in answers.items()}

    def _answers(self, futures: Mapping[Key, Future[Any]]) -> dict[Key, Any]:
        """The result of each future, or its HeadraceError."""
        found: dict[Key, Any] = {}
        for key, future in futures.items():
            try:
                found[key] = self._request(partial(self._result, future))
            except HeadraceError as error:
                found[key] = error
        return found

    def _result(self, future: Future[Any], _: AdminClient) -> Any:
        return future.result(self._timeout)

    def _request(self, request: Callable[[AdminClient], Any]) -> Any:
        client = self._connected()
        from confluent_kafka import KafkaException

        try:
            return request(client)
        except TimeoutError as error:
            raise self._unreachable(f"no answer within {self._timeout:g} s") from error
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() < 0:  # librdkafka's own error, not a broker's answer
                raise self._unreachable(cause.str()) from error
            raise HeadraceError(f"the brokers {self.servers}: {cause.str()}") from error

    def _unreachable(self, cause: str) -> Unreachable:
        return Unreachable(f"the brokers {self.servers}: {cause}{self._connection_error}")

    def _connected(self) -> AdminClient:
        if self._client is None:
            try:
                from confluent_kafka import KafkaException
                from confluent_kafka.admin import AdminClient
            except ImportError as error:
                advice = "install it with Headrace's extra: pip install 'headrace[runtime]'"
                raise HeadraceError("confluent-kafka, needed to reach the brokers, is not installed", advice) from error
            given: dict[str, Any] = {"bootstrap.servers": self.servers, "error_cb": self._on_error}
            try:
                self._client = AdminClient(without_log_output({**self._settings, **given}))
            except KafkaException as error:
                raise UsageError(f"invalid Kafka settings in the context: {error.args[0].str()}") from error
        return self._client

    def _on_error(self, error: Any) -> None:
        """Keeps librdkafka's reason for a failed connection, which explains more than the timeout that follows."""
        self._connection_error = f" ({error.str()})"


def without_log_output(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keeps librdkafka from writing to the terminal, even at exit, with a logger that discards everything. A log level
    is not enough, since a `debug` setting raises the level again."""
    import logging

    logger = logging.getLogger("headrace.librdkafka")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return {**settings, "log_level": 0, "logger": logger}


def _offsets_of(answer: Any) -> dict[TopicPartition, int]:
    places = answer.topic_partitions or ()
    return {(at.topic, at.partition): at.offset for at in places if at.offset >= 0 and not at.error}


def _spec() -> Any:
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # missing in its stubs

    return OffsetSpec


def brokers(servers: str, settings: Mapping[str, str]) -> Brokers:
    """The brokers at `servers` (librdkafka's `bootstrap.servers`). Raises HeadraceError, with advice, if empty."""
    if not servers:
        advice = (
            "set them: config set-context NAME --bootstrap-servers HOST:9092, or `bootstrap-servers` in contexts.toml"
        )
        raise HeadraceError("this worker cannot resolve positions, and the context has no bootstrap servers", advice)
    return Brokers(servers, settings)
