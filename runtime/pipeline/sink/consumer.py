"""The consumer of a sink task: its settings, its events and its batches of messages."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConnectError
from runtime.kafka.clients import open_clients
from runtime.kafka.clients.addresses import check_resolvable
from runtime.kafka.clients.client_log import ClientLog
from runtime.kafka.clients.offset_reset import AGE
from runtime.kafka.denials import consumer_error_text
from runtime.model.rate_limit import RateLimit

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message
    from confluent_kafka import TopicPartition as KafkaPartition

_SLOT = 256 * 1024  # KiB for all consumers of a slot
MAX_SHARE, _MIN_SHARE = 32 * 1024, 1024  # KiB for one consumer: enough for full speed, and the least that works


class FetchBudget:
    """Each consumer takes an eighth of the free memory, so that hundreds of consumers still work. Thread-safe.

    A client cannot change its share later, so memory of stopped consumers is available to new ones only."""

    def __init__(self, total: int = _SLOT) -> None:
        self._left = total
        self._lock = threading.Lock()

    def take(self) -> int:
        """Take a share; returns its size in KiB."""
        with self._lock:
            share = max(_MIN_SHARE, min(MAX_SHARE, self._left // 8))
            self._left -= share
            return share

    def give_back(self, share: int) -> None:
        """Return a share of `share` KiB."""
        with self._lock:
            self._left += share


slot_budget = FetchBudget()


_log = logging.getLogger(__name__)

_DEFAULTS: dict[str, Any] = {
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": True,  # as Java's consumer does
    "topic.metadata.refresh.interval.ms": 30_000,
    # By default the client stops fetching for a whole second whenever its small queue is full.
    "queued.min.messages": 100_000,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 500,  # the broker responds immediately if messages are available
    "enable.partition.eof": True,  # the end of a partition may be behind the marker of a transaction, see Events.ends
}

# Members notice a rebalance with their next heartbeat: with several tasks, each join waits for the others.
_SHARED_GROUP: dict[str, Any] = {"heartbeat.interval.ms": 500}

# Java's consumer gives up after these errors, too; librdkafka tries the same again without end.
_FINAL = (
    "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "INVALID_SESSION_TIMEOUT", "INVALID_GROUP_ID",
    "GROUP_MAX_SIZE_REACHED", "UNSUPPORTED_ASSIGNOR",
)  # fmt: skip

_INCONSISTENT = "INCONSISTENT_GROUP_PROTOCOL"
"""Java's consumer gives up at once. After a change of the strategy the error lasts until members with the earlier one
have left, or until the session of a dead one has expired."""

_REPEATED = 10.0  # seconds after which the client has certainly repeated a refused attempt to join

CONSUMER = "consumer"
"""The name of the client in log lines."""

_MIN_FETCH = 2048  # KiB; lower limit of fetch.max.bytes


OnCommit = Callable[["KafkaError | None", "list[KafkaPartition]"], None]


def make_consumer(
    settings: Mapping[str, Any], on_commit: OnCommit, share: int, alone: bool = True, log: ClientLog | None = None
) -> Consumer:
    """A consumer with these settings, which reports its connection errors to `log`. ClientConfigError if no bootstrap
    server exists."""
    from confluent_kafka import Consumer

    check_resolvable(str(settings["bootstrap.servers"]))
    always = {**consumer_settings(settings, on_commit, share, alone), **(log or ClientLog(CONSUMER)).settings}
    return open_clients.opened(Consumer, always)


def consumer_settings(settings: Mapping[str, Any], on_commit: OnCommit, share: int, alone: bool) -> dict[str, Any]:
    """Settings of a consumer without automatic commits that prefetches `share` KiB. `alone`: no other task is in its
    group."""
    always = {"enable.auto.commit": False, "enable.auto.offset.store": False, "on_commit": on_commit}
    ahead = {"queued.max.messages.kbytes": share, "fetch.max.bytes": max(share, _MIN_FETCH) * 1024}
    group = {} if alone or settings.get("group.protocol") == "consumer" else _SHARED_GROUP
    return {**_DEFAULTS, **group, **ahead, **settings, **always}


_AHEAD = 2.0  # seconds of a rate limit that are fetched ahead
_LEAST_KIB, _LEAST_FETCH = 64, 65_536  # KiB and bytes that are fetched at least


def prefetch_within(limit: RateLimit) -> dict[str, Any]:
    """Settings with which a consumer fetches little more than a rate limit allows."""
    settings: dict[str, Any] = {}
    if limit.records is not None:
        settings["queued.min.messages"] = min(max(int(limit.records * _AHEAD), 1), 100_000)
    if limit.bytes is not None:
        ahead = int(limit.bytes * _AHEAD)
        settings["queued.max.messages.kbytes"] = min(max(ahead >> 10, _LEAST_KIB), MAX_SHARE)
        settings["max.partition.fetch.bytes"] = min(max(ahead, _LEAST_FETCH), 1 << 20)
    return settings


class Events:
    """Handles the events that a consumer reports between its messages."""

    def __init__(self, settings: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        """`settings` are the consumer's, which reports its connection errors to `log`."""
        self._settings, self.log = settings, ClientLog(CONSUMER, reaching=settings)
        self._clock = clock
        self._refused_since = self._refused = float("-inf")  # the first and the last refusal of the strategy in a row
        self._logged: set[str] = set()
        self._out_of_range: list[TopicPartition] = []
        self.ends: dict[TopicPartition, int] = {}
        """The ends of partitions that the last messages have reached. Markers of transactions use up offsets, so that
        the end may be higher than the offset after the last record."""

    def without(self, messages: list[Message]) -> list[Message]:
        """The messages without events. ConnectError for events from which the consumer does not recover."""
        self.ends = {}
        valid = [message for message in messages if message.error() is None]
        if len(valid) < len(messages):
            for message in messages:
                if (error := message.error()) is not None:
                    self._event(error, message)
        return valid

    def check(self) -> None:
        """ConnectError if all brokers refuse the consumer."""
        if self.log.refusal is not None:
            raise self._failure(self.log.refusal, None)

    def _event(self, error: KafkaError, message: Message) -> None:
        from confluent_kafka import KafkaError

        topic = message.topic()
        if error.code() == KafkaError._PARTITION_EOF:
            self.ends[TopicPartition(str(topic), int(message.partition() or 0))] = int(message.offset() or 0)
            return
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._reset(message)
            return
        if error.fatal() or error.name() in _FINAL:
            raise self._failure(error, topic)
        if error.name() == _INCONSISTENT and self._stays_refused():
            raise self._failure(error, topic)
        if error.str() not in self._logged:
            self._logged.add(error.str())
            _log.warning("%s", error.str())

    def _stays_refused(self) -> bool:
        """Whether the group has refused the strategy for twice as long as dead members are in it."""
        now, last = self._clock(), self._refused
        self._refused = now
        if now - last > _REPEATED:
            self._refused_since = now
        session = int(self._settings.get("session.timeout.ms", 45_000)) / 1000
        return now - self._refused_since > 2 * session

    def take_out_of_range(self) -> list[TopicPartition]:
        """Partitions whose next offset does not exist, and which the task has to reset, each once."""
        taken, self._out_of_range = self._out_of_range, []
        return taken

    def _reset(self, message: Message) -> None:
        """The client does not reset a partition by itself."""
        partition = TopicPartition(str(message.topic()), int(message.partition() or 0))
        if AGE not in self._settings:
            raise ConnectError(
                f"The consumer cannot continue: offset {message.offset()} of partition {partition.topic}-"
                f"{partition.partition} is out of range, and auto.offset.reset is none. Change the offsets of the "
                "connector, or set consumer.override.auto.offset.reset"
            )
        self._out_of_range.append(partition)

    def _failure(self, error: KafkaError, topic: str | None) -> ConnectError:
        return ConnectError(f"The consumer cannot continue: {consumer_error_text(error, self._settings, topic)}")


def fetch(consumer: Consumer, max_messages: int, timeout: float) -> list[Message]:
    """Wait at most `timeout` seconds for a message; returns it with those already prefetched. Rebalance callbacks are
    called from here."""
    open_clients.log_in_again(consumer)
    first = consumer.poll(timeout)
    if first is None:
        return []
    return [first, *consumer.consume(max_messages - 1, 0)] if max_messages > 1 else [first]


def close(consumer: Consumer, timeout: float) -> None:
    """Leave the group. During an outage of the broker that may take longer than `timeout`: it continues in a thread."""
    closing = threading.Thread(target=open_clients.close, args=(consumer,), name="consumer-close", daemon=True)
    closing.start()
    closing.join(timeout)
    if closing.is_alive():
        _log.warning("The consumer has not left its group within %.1f s; it leaves when the broker responds", timeout)
