"""The thread that reads the storage topics: creates or checks them, loads them, then follows them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.kafka.clients import open_clients
from runtime.kafka.clients.logins import certificates
from runtime.kafka.clients.refusals import explain
from runtime.kafka.denials import denial, is_denial
from runtime.kafka.errors import BrokerUnavailable, EndpointUnavailable, KafkaProblem, RightMissing
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.policy_watch import PolicyWatch
from runtime.kafka.log.topic_watch import CHECK_INTERVAL, TopicWatch
from runtime.kafka.log.topics import TopicSpec, ensure_topics

_log = logging.getLogger(__name__)
_MAX_RECORDS = 250  # records passed on in one batch: a few milliseconds of the event loop
_MAX_PENDING = 16  # batches that may wait for the event loop
_POLL_TIMEOUT = 0.1  # seconds; the delay with which the thread notices close()
_RETRY_DELAY = 1.0  # seconds until clients are created again
_LOG_INTERVAL = 5.0  # seconds between two log lines about an unavailable broker

FETCH_WAIT = 500
"""Milliseconds for which the broker holds a fetch while there are no records."""

FETCH_WAIT_TRANSACTIONS = 50
"""The same for topics that are written in transactions. The marker at the end of a transaction is not a record, so that
the end of a topic behind a marker is noticed only with the next fetch."""

_GROUP_DENIED = "GROUP_AUTHORIZATION_FAILED"  # the client looks up the coordinator of its group, which it never joins

Position = tuple[str, int]  # topic, partition


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One record of a storage topic."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    timestamp: int  # milliseconds since 1970


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """The result of one poll: records by topic, and the offset up to which each partition has been read."""

    records: Mapping[str, Sequence[LogRecord]]
    positions: Mapping[Position, int]


@dataclass(frozen=True, slots=True)
class ReaderEvents:
    """Callbacks of the reader, called on its own thread."""

    read: Callable[[ReadBatch], None]  # `Reader.applied()` must be called once the records are applied
    loaded: Callable[[str], None]  # the topics are read to their ends; the cluster's id
    failed: Callable[[Exception], None]  # the topics cannot be used; the thread ends
    broker: Callable[[str], None]  # the reason why Kafka cannot be used; empty when it can again
    lost: Callable[[str, str], None]  # a topic that was lost, and the reason


class Reader:
    """Reads all storage topics with one consumer."""

    def __init__(
        self,
        clients: LogClients,
        specs: Sequence[TopicSpec],
        events: ReaderEvents,
        watch_every: float = CHECK_INTERVAL,
        fetch_wait: int = FETCH_WAIT,
        await_rights: bool = True,
    ) -> None:
        """`watch_every`: seconds between two checks of the topics' ids. `fetch_wait`: milliseconds. `await_rights`:
        wait for rights that are missing instead of failing with RightMissing."""
        self._watch_every, self._fetch_wait, self._await_rights = watch_every, fetch_wait, await_rights
        self._settings, self._consumer_settings = dict(clients.admin), dict(clients.consumer)
        self._specs = list(specs)
        self._events = events
        self._closing = threading.Event()
        self._suspect = threading.Event()
        self._ahead = threading.Semaphore(_MAX_PENDING)
        self._trouble = self._last_error = ""
        self._denied: dict[str, str] = {}  # by topic, until it can be read
        self.watched = False  # the topics' ids are known, so that topics created again are noticed
        self.degraded: Mapping[str, str] = {}  # by topic: the replicas that are in sync, unless all are
        self._positions: dict[Position, int] = {}
        self._thread = threading.Thread(target=self._run, name="storage-reader", daemon=True)

    @property
    def bootstrap(self) -> str:
        """The brokers, as configured."""
        return str(self._settings["bootstrap.servers"])

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def applied(self) -> None:
        """A batch of records was applied. Thread-safe."""
        self._ahead.release()

    def suspect(self) -> None:
        """A request to Kafka failed: check whether Kafka can be reached. Thread-safe."""
        self._suspect.set()

    def close(self) -> None:
        """End the thread. Blocks for a moment."""
        self._closing.set()
        self._ahead.release()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        try:
            cluster_id = self._prepare()
            if not self._closing.is_set():
                self._retrying(self._load)
                self._events.loaded(cluster_id)
                while not self._closing.is_set():  # with new clients when their certificates change
                    self._retrying(lambda: self._follow_with(self._certificates()))
        except KafkaProblem as e:
            self._events.failed(e)
        except Exception as e:  # the thread must not end without a report
            _log.exception("The storage topics' reader ended")
            self._events.failed(e)

    def _retrying(self, step: Callable[[], None]) -> None:
        """Repeat a step while its clients cannot be created or fail: without this thread the worker would have to be
        restarted."""
        from confluent_kafka import KafkaException

        while not self._closing.is_set():
            try:
                step()
                return
            except (EndpointUnavailable, KafkaException) as e:
                self._report(str(e) if isinstance(e, EndpointUnavailable) else e.args[0].str())
                self._closing.wait(_RETRY_DELAY)
                self._suspect.set()

    def _prepare(self) -> str:
        """Wait for Kafka, create or check the topics, find their partitions. Returns the cluster's id."""
        while not self._closing.is_set():
            try:
                with open_clients.admin_client({**self._settings, "error_cb": self._on_error}) as admin:
                    return self._await_topics(admin)
            except EndpointUnavailable as e:
                self._report(str(e))
                self._closing.wait(_RETRY_DELAY)
        return ""

    def _await_topics(self, admin: Any) -> str:
        from confluent_kafka import KafkaException

        logged_at, wait = time.monotonic(), 0.0
        while not self._closing.wait(wait):
            wait = 0.1
            try:
                metadata = admin.list_topics(timeout=1.0)
                partitions = {
                    name: len(t.partitions) for name, t in metadata.topics.items() if not t.error and t.partitions
                }
                if not ensure_topics(admin, self._settings, self._specs, partitions):
                    names = {s.topic for s in self._specs}
                    self._positions = {(t, p): 0 for t in names for p in range(partitions[t])}
                    self._report("")
                    return str(metadata.cluster_id or "")
            except KafkaException as e:
                admin.poll(0)  # calls _on_error with a more specific error
                self._report(explain(self._last_error or e.args[0].str(), self._settings))
            except BrokerUnavailable as e:
                if isinstance(e, RightMissing) and not self._await_rights:
                    raise
                self._report(str(e))
            if self._trouble and time.monotonic() - logged_at >= _LOG_INTERVAL:
                logged_at = time.monotonic()
                _log.warning("Still waiting for Kafka at bootstrap.servers=%s: %s", self.bootstrap, self._trouble)
        return ""

    def _reading(self, wait: int) -> dict[str, Any]:
        """Settings of a consumer whose fetches wait this long, in milliseconds."""
        return {
            "group.id": "headrace-storage",  # required by the client; never joined, nothing is committed
            **self._consumer_settings,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": wait,
            "fetch.error.backoff.ms": 100,  # as in Connect; a topic that was just created refuses the first fetch
            "error_cb": self._on_error,
            "log_level": 2,  # connection problems are passed to error_cb, and logged once
        }

    def _load(self) -> None:
        """Read every partition to its end."""
        with open_clients.consumer(self._reading(wait=10)) as consumer:
            self._assign(consumer)
            left = set(self._positions)
            while left and not self._closing.is_set():
                left -= self._step(consumer)

    def _certificates(self) -> tuple[object, object]:
        return certificates(self._settings), certificates(self._consumer_settings)

    def _follow_with(self, used: tuple[object, object]) -> None:
        with (
            open_clients.consumer(self._reading(self._fetch_wait)) as consumer,
            open_clients.admin_client(self._settings) as admin,
        ):
            watch = TopicWatch(admin, self._settings, self._specs, every=self._watch_every)
            policies = PolicyWatch(admin, self._specs)
            self._assign(consumer)
            while not self._closing.is_set() and used == self._certificates():
                self._step(consumer)
                open_clients.log_in_again(admin)
                self._watch(watch)
                if self._has_added(watch.partitions):
                    self._assign(consumer)
                policies.check()
                if self._suspect.is_set():
                    self._probe(consumer)

    def _watch(self, watch: TopicWatch) -> None:
        denied, lost = watch.denied, watch.lost
        watch.check()
        self.watched, self.degraded = watch.complete, watch.degraded
        if watch.lost and not lost:
            self._events.lost(watch.lost_topic, watch.lost)
        if watch.denied and not self._await_rights:
            raise RightMissing(watch.denied)
        if watch.denied:
            self._report(watch.denied)
        elif denied:
            self._suspect.set()

    def _has_added(self, counts: Mapping[str, int]) -> bool:
        """Whether partitions were added to topics: producers write to them as soon as they know them."""
        every = {(topic, partition): 0 for topic, count in counts.items() for partition in range(count)}
        added = every.keys() - self._positions.keys()
        if added:
            _log.info("Partitions were added to %s", ", ".join(sorted({topic for topic, _ in added})))
            self._positions = {**every, **self._positions}
        return bool(added)

    def _assign(self, consumer: Any) -> None:
        """Assign all partitions as soon as Kafka responds."""
        from confluent_kafka import KafkaException, TopicPartition

        while not self._closing.is_set():
            try:
                consumer.list_topics(timeout=10.0)  # fetch metadata now: otherwise the first fetch waits up to a second
                consumer.assign([TopicPartition(t, p, offset) for (t, p), offset in self._positions.items()])
                return
            except KafkaException as e:
                self._report(e.args[0].str())
                self._closing.wait(0.5)

    def _step(self, consumer: Any) -> set[Position]:
        """Poll once. Returns the partitions that have been read to their end."""
        open_clients.log_in_again(consumer)
        first = consumer.poll(_POLL_TIMEOUT)
        if first is None:
            return set()
        records: dict[str, list[LogRecord]] = {}
        positions: dict[Position, int] = {}
        ended: set[Position] = set()
        for message in (first, *consumer.consume(_MAX_RECORDS - 1, 0)):
            error = message.error()
            if error is None:
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                record = LogRecord(message.key(), message.value(), partition, offset, message.timestamp()[1])
                records.setdefault(topic, []).append(record)
                positions[topic, partition] = offset + 1
                self._allowed(topic)
            elif error.name() == "_PARTITION_EOF":
                at = message.topic(), message.partition()
                positions[at] = max(positions.get(at, 0), message.offset())
                ended.add(at)
                self._allowed(message.topic())
            elif error.name() == _GROUP_DENIED:
                continue
            elif is_denial(error):
                topic = message.topic() or ""
                self._denied[topic] = denial(self._consumer_settings, "READ", f"topic {topic}")
                self._report(self._denied[topic])
            else:
                self._suspect.set()
                _log.warning("Reading topic %s: %s", message.topic(), error.str())
        if positions:
            self._pass_on(ReadBatch(records, positions))
        if self._denied and not self._await_rights:
            raise RightMissing(next(iter(self._denied.values())))
        return ended

    def _allowed(self, topic: str) -> None:
        """The topic can be read; a denial behind this message counts, and the client reports it only once."""
        if self._denied.pop(topic, None) is not None:
            self._suspect.set()

    def _pass_on(self, read: ReadBatch) -> None:
        self._positions.update(read.positions)
        self._ahead.acquire()
        if not self._closing.is_set():
            self._events.read(read)

    def _on_error(self, error: Any) -> None:
        if error.name() == _GROUP_DENIED:
            return
        self._suspect.set()
        self._last_error = error.str()

    def _probe(self, consumer: Any) -> None:
        """Send a request to Kafka, and report whether it answers."""
        from confluent_kafka import KafkaException

        try:
            consumer.list_topics(topic=self._specs[0].topic, timeout=2.0)
        except KafkaException as e:
            self._report(explain(self._last_error or e.args[0].str(), self._settings))
        else:
            self._last_error = ""
            self._suspect.clear()
            self._report(next(iter(self._denied.values()), ""))

    def _report(self, trouble: str) -> None:
        if bool(trouble) != bool(self._trouble):
            if trouble:
                _log.warning("Kafka at bootstrap.servers=%s cannot be used: %s", self.bootstrap, trouble)
            else:
                _log.info("Kafka at bootstrap.servers=%s can be used again", self.bootstrap)
        if trouble != self._trouble:
            self._trouble = trouble
            self._events.broker(trouble)
