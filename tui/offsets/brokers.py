"""Topics as only the brokers know them: partitions, beginning and end offsets, offsets by time. Requests block."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tui import kafka_clients
from tui.errors import HeadraceError, Unreachable
from tui.kafka_clients import ConnectionTrouble, KeptAdmin

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

T = TypeVar("T")
TopicPartition = tuple[str, int]  # topic, partition
RESPONSE_TIMEOUT, SHORT_TIMEOUT = 20.0, 5.0  # seconds for a response; the short one for optional details
_CONCURRENT_GROUPS = 8  # groups whose offsets are requested at the same time
_SINGLE_TOPICS = 16  # whose leaders are asked for one by one; more are found in the metadata of all topics
_UNKNOWN_TOPIC = 3  # UNKNOWN_TOPIC_OR_PARTITION: deleted meanwhile
_COORDINATOR_MOVES = (14, 15, 16)  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
_TIMED_OUT, _ATTEMPT = -185, 1.0  # librdkafka's own error, and seconds of one attempt
_RETRY_DELAY = 0.2  # seconds between two attempts while the coordinator of a group moves


class Brokers:
    """The brokers of a context. `settings` are librdkafka's (`security.protocol`, `sasl.password`, …).

    Requests raise Unreachable without a response, UsageError for invalid settings, and HeadraceError for the error in
    a response and without confluent-kafka."""

    def __init__(self, servers: str, settings: Mapping[str, str], timeout: float = RESPONSE_TIMEOUT) -> None:
        self.servers, self._settings, self.timeout = servers, settings, timeout
        self._trouble = ConnectionTrouble()
        self._admin = KeptAdmin(self._reaching)

    @property
    def _reaching(self) -> dict[str, Any]:
        return {**self._settings, "bootstrap.servers": self.servers, "error_cb": self._trouble}

    def with_short_timeout(self) -> Brokers:
        """The same brokers with a shorter timeout."""
        return Brokers(self.servers, self._settings, SHORT_TIMEOUT)

    def partitions(self, wanted: Callable[[str], bool]) -> list[TopicPartition]:
        """Partitions of all topics that `wanted` accepts, sorted."""
        topics = self.request(lambda admin: admin.list_topics(timeout=self.timeout)).topics
        return sorted((name, number) for name, topic in topics.items() if wanted(name) for number in topic.partitions)

    def beginnings(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets({at: _spec().earliest() for at in places})

    def beginnings_or_errors(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int | HeadraceError]:
        """The beginning of each partition, or the error of that partition alone."""
        return self._offsets_or_errors({at: _spec().earliest() for at in places})

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets({at: _spec().latest() for at in places})

    def ends_or_errors(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int | HeadraceError]:
        """The end offset of each partition, or the error of that partition alone."""
        return self._offsets_or_errors({at: _spec().latest() for at in places})

    def committed(
        self, groups: Mapping[str, Callable[[str], bool]]
    ) -> dict[str, dict[TopicPartition, int] | HeadraceError]:
        """The committed offsets of consumer groups in those topics that the function of the group accepts, or the error
        of that group alone; a group that does not exist has none.

        Each group is asked by a consumer that does not join it: librdkafka's admin client ends the process when the
        coordinator of a group has moved (librdkafka issue 5040)."""
        if not groups:
            return {}
        existing, deadline = self.partitions(lambda topic: True), time.monotonic() + self.timeout

        def ask(group: str) -> dict[TopicPartition, int] | HeadraceError:
            try:
                return self._committed(group, [at for at in existing if groups[group](at[0])], deadline)
            except HeadraceError as error:
                return error

        with ThreadPoolExecutor(min(_CONCURRENT_GROUPS, len(groups))) as threads:
            return dict(zip(groups, threads.map(ask, groups), strict=True))

    def _committed(self, group: str, places: Collection[TopicPartition], deadline: float) -> dict[TopicPartition, int]:
        if not places:
            return {}
        with kafka_clients.consumer({**self._reaching, "group.id": group, "enable.auto.commit": False}) as consumer:
            from confluent_kafka import KafkaException
            from confluent_kafka import TopicPartition as At

            asked = [At(*at) for at in places]
            while (left := deadline - time.monotonic()) > 0:
                try:
                    return self._offsets_of(consumer.committed(asked, timeout=min(left, _ATTEMPT)))
                except KafkaException as error:
                    cause = error.args[0]
                    if cause.code() == _TIMED_OUT:  # a refusal of the group is an event of the consumer
                        event = consumer.poll(0)
                        refusal = None if event is None else event.error()
                        if refusal is not None and refusal.code() > 0 and refusal.code() not in _COORDINATOR_MOVES:
                            raise self._error(refusal) from None
                        continue
                    if cause.code() not in _COORDINATOR_MOVES:
                        raise self._error(cause) from None
                time.sleep(min(_RETRY_DELAY, left))
        raise self._unreachable(f"no committed offsets within {self.timeout:g} s")

    def at_time(self, places: Iterable[TopicPartition], milliseconds: int) -> dict[TopicPartition, int]:
        """Offset of the first record at that time (milliseconds since 1970) or later, where there is one."""
        offsets = self._offsets({at: _spec().for_timestamp(milliseconds) for at in places})
        return {at: offset for at, offset in offsets.items() if offset >= 0}

    def _offsets(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int]:
        offsets = {}
        for at, result in self._offsets_or_errors(specs).items():
            if isinstance(result, HeadraceError):
                raise result
            offsets[at] = result
        return offsets

    def _offsets_or_errors(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int | HeadraceError]:
        if not specs:
            return {}
        from confluent_kafka import TopicPartition

        asked = {TopicPartition(*at): spec for at, spec in specs.items()}
        return self.request(partial(_list_offsets, asked, self.timeout, self._error))

    def request(self, request: Callable[[AdminClient], T]) -> T:
        """The result of the request to the admin client, which stays open until then. Its KafkaException is raised as
        HeadraceError."""
        with self._admin.use() as admin:
            from confluent_kafka import KafkaException

            try:
                return request(admin)
            except KafkaException as error:
                raise self._error(error.args[0]) from None

    def _offsets_of(self, places: Iterable[Any]) -> dict[TopicPartition, int]:
        """Raises HeadraceError if one of them was refused: a sum over the others would be too small."""
        refused = next((at.error for at in places if at.error and at.error.code() != _UNKNOWN_TOPIC), None)
        if refused is not None:
            raise self._error(refused)
        return {(at.topic, at.partition): at.offset for at in places if at.offset >= 0}

    def _error(self, cause: Any) -> HeadraceError:
        """Names neither group nor partition: the errors of many connectors are reported as one if they are equal."""
        self._admin.renew()  # the client may not learn of a new leader
        if cause.code() < 0:  # librdkafka's own error, not a broker's response
            return self._unreachable(cause.str())
        return HeadraceError(f"the brokers {self.servers}: {kafka_clients.in_words(cause)}")

    def _unreachable(self, cause: str) -> Unreachable:
        return Unreachable(f"the brokers {self.servers}: {cause}{self._trouble.reason}")


def _list_offsets(
    asked: dict[Any, Any], timeout: float, as_error: Callable[[Any], HeadraceError], admin: AdminClient
) -> dict[TopicPartition, int | HeadraceError]:
    from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

    results: dict[TopicPartition, int | HeadraceError] = {}
    topics = {at.topic for at in asked}
    # librdkafka 2.16 may crash if it does not know the leaders (see the worker's listed_offsets.py)
    for topic in topics if len(topics) <= _SINGLE_TOPICS else [None]:
        admin.list_topics(topic, timeout=timeout)
    for at, future in admin.list_offsets(asked, request_timeout=timeout).items():
        try:
            offset = results[at.topic, at.partition] = future.result().offset
        except KafkaException as error:
            results[at.topic, at.partition] = as_error(error.args[0])
            continue
        if offset == OFFSET_INVALID:  # librdkafka reports no error for it
            silent = KafkaError(KafkaError._TIMED_OUT, f"the leader of {at.topic}-{at.partition} does not respond")
            results[at.topic, at.partition] = as_error(silent)
    return results


def _spec() -> Any:
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # missing in its stubs

    return OffsetSpec
