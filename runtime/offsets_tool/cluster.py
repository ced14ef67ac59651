"""Access to the offsets of a stopped distributed cluster: its topics, and the consumer groups of its sinks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.api.errors import ConfigError
from runtime.config import properties
from runtime.config.providers import Providers, has_variables, providers
from runtime.kafka.clients import kafka_python, open_clients
from runtime.kafka.clients.kafka_python import TopicPartition
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem, StorageTopicError
from runtime.kafka.group.protocol import ProtocolError, decode_metadata
from runtime.kafka.log import topics
from runtime.kafka.log.topics import TopicSpec
from runtime.offsets_tool.errors import BadInput, ToolError
from runtime.system import process_identity


@dataclass(frozen=True, slots=True)
class RunningWorker:
    """A member of the workers' group with its address. `headrace`: whether it is a worker of Headrace; None if
    unknown, since brokers do not return the metadata of members while a group rebalances."""

    address: str
    headrace: bool | None


def running_worker(member: kafka_python.Member) -> RunningWorker | None:
    """The worker behind a member; None if its process is known to have ended."""
    host = member.host.lstrip("/")
    try:
        metadata = decode_metadata(member.metadata)
    except ProtocolError:
        return RunningWorker(f"{member.client_id} on {host}", None)
    if metadata.details is not None and process_identity.is_gone(metadata.details.process):
        return None
    return RunningWorker(f"{metadata.url or member.client_id} on {host}", metadata.details is not None)


Record = tuple[bytes | None, bytes | None, int, int]
"""Key, value, timestamp and offset."""

Written = tuple[bytes, "bytes | None"]
"""Key and value."""

_GROUP = "consumer.override.group.id"
_BATCH = 2_000
_BATCH_WAIT = 0.1  # seconds to wait for a full batch; the last batch is never full
_ENDED = ("Empty", "Dead")


@dataclass(frozen=True, slots=True)
class OfflineCluster:
    """A stopped Connect cluster, described by the workers' properties. Methods raise ToolError if Kafka refuses a
    request or does not respond."""

    group_id: str
    configs: str  # topic
    offsets: str  # topic
    journal: str  # topic, which does not exist in clusters of Java's workers
    settings: Mapping[str, Any]  # of librdkafka
    providers: Providers = field(default_factory=Providers)  # resolve variables in connectors' configs
    timeout: float = 30.0  # seconds for each request

    def workers(self) -> tuple[RunningWorker, ...]:
        """The running workers of this cluster, ours and Java's. Workers that were killed do not count, although the
        group has not noticed yet."""
        groups = self._ask(kafka_python.list_groups()) or []
        own = [g for g in groups if g.group == self.group_id and g.protocol_type == "connect"]
        if not own or own[0].state in _ENDED:
            return ()
        group = self._ask(kafka_python.describe(self.group_id))
        if group is None or not group.members:
            return (RunningWorker(f"group {self.group_id}", None),)
        return tuple(filter(None, map(running_worker, group.members)))

    def exists(self, topic: str) -> bool:
        from confluent_kafka import KafkaException

        try:
            with open_clients.admin_client(self.settings) as admin:
                return topic in admin.list_topics(timeout=self.timeout).topics
        except KafkaException as e:
            raise ToolError(f"cannot list topics: {e.args[0].str()}") from None

    def read(self, topic: str, take: Callable[[Sequence[Record]], None]) -> None:
        """Passes every committed record of a topic to `take` in batches; the records of a partition are in order."""
        from confluent_kafka import KafkaException

        settings = {**self.settings, **_READING, "group.id": "headrace-offsets"}
        try:
            with open_clients.consumer(settings) as consumer:
                _read(consumer, topic, take, self.timeout)
        except KafkaException as e:
            raise ToolError(f"topic {topic} cannot be read: {e.args[0].str()}") from None

    def check_offset_topic(self) -> None:
        """Raises ToolError if the offset topic is not compacted: it is probably one of records, whose readers would get
        the offsets."""
        spec = TopicSpec(self.offsets, -1, -1, "offset.storage")
        try:
            with open_clients.admin_client(self.settings) as admin:
                topics.check_policies(admin, self.settings, [spec])
        except (StorageTopicError, BrokerUnavailable) as e:
            raise ToolError(f"nothing was imported: {e}") from None

    def connectors(self) -> dict[str, dict[str, Any]]:
        """The configs in the config topic, with unresolved variables, by connector."""
        configs: dict[str, dict[str, Any] | None] = {}

        def take(records: Sequence[Record]) -> None:
            for key, value, _, _ in records:
                if key is not None and key.startswith(b"connector-"):
                    configs[key.decode(errors="replace").removeprefix("connector-")] = _properties(value)

        self.read(self.configs, take)
        return {name: config for name, config in configs.items() if config is not None}

    def sinks(self) -> dict[str, str]:
        """Sinks, which are the connectors with `topics` or `topics.regex`, and their groups."""
        return {
            name: self._group(name, str(config.get(_GROUP) or f"connect-{name}"))
            for name, config in self.connectors().items()
            if "topics" in config or "topics.regex" in config
        }

    def _group(self, name: str, given: str) -> str:
        """The group with variables resolved. An unresolved variable is an error, since the text would name another
        group."""
        try:
            group = self.providers.resolve({_GROUP: given}).config[_GROUP]
        except ConfigError as e:
            raise ToolError(f"{_GROUP} of connector {name} cannot be resolved: {e}") from None
        if has_variables(group):
            raise ToolError(
                f"{_GROUP} of connector {name} is {given}, which cannot be resolved here: run the tool with the "
                "workers' config.providers and environment"
            )
        return group

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The committed offsets of a consumer group."""
        return self._ask(kafka_python.committed(group), group) or {}

    def write(
        self,
        records: Iterable[Written],
        groups: Mapping[str, Mapping[TopicPartition, int]],
        journal: Iterable[Written] = (),
    ) -> None:
        """Writes offset records, offsets of groups and journal records in one transaction."""
        with open_clients.producer(self._producing) as producer:
            self._write(producer, records, groups, journal)

    def _write(
        self,
        producer: Any,
        records: Iterable[Written],
        groups: Mapping[str, Mapping[TopicPartition, int]],
        journal: Iterable[Written],
    ) -> None:
        from confluent_kafka import KafkaException

        failure: Any = None
        try:
            producer.init_transactions(self.timeout)
            producer.begin_transaction()
            for record in records:
                self._produce(producer, self.offsets, record)
            for record in journal:
                self._produce(producer, self.journal, record)
            for group, offsets in groups.items():
                self._commit_in(producer, group, offsets)
            producer.commit_transaction(self.timeout)
        except KafkaException as e:
            failure = e.args[0]
        except BaseException:  # Ctrl-C: otherwise the offsets are locked until the transaction times out
            self._abort(producer)
            raise
        if failure is not None:  # not in the except block, see _abort()
            self._abort(producer)
            raise ToolError(f"nothing was imported: {failure.str()}")

    def remove(self, group: str, partitions: Sequence[TopicPartition]) -> None:
        """Removes committed offsets of a group; safe to repeat."""
        self._ask(kafka_python.delete_offsets(group, partitions), group)

    @property
    def _producing(self) -> dict[str, Any]:
        return {
            **self.settings,
            "transactional.id": f"headrace-offsets-{self.group_id}",
            "transaction.timeout.ms": 30_000,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": 200_000,
            "linger.ms": 20,
            "log_level": 2,
        }

    def _produce(self, producer: Any, topic: str, record: Written) -> None:
        key, value = record
        while True:
            try:
                producer.produce(topic, value, key)
                return
            except BufferError:
                producer.poll(0.1)

    def _commit_in(self, producer: Any, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        from confluent_kafka import TopicPartition as At

        settings = {**self.settings, "group.id": group, "log_level": 2}
        with open_clients.consumer(settings) as consumer:  # for the group's metadata only
            wanted = [At(topic, number, offset) for (topic, number), offset in offsets.items()]
            producer.send_offsets_to_transaction(wanted, consumer.consumer_group_metadata(), self.timeout)

    def _abort(self, producer: Any) -> None:
        from confluent_kafka import KafkaException

        try:
            producer.abort_transaction(self.timeout)
        except KafkaException as e:
            e.__traceback__ = None  # the client leaks this error; its traceback and its context would keep the producer
            producer.purge()  # the coordinator aborts the transaction when it times out

    def _ask(self, request: Callable[[Any], Any], group: str = "") -> Any:
        try:
            return kafka_python.ask(self.settings, group or self.group_id, request, self.timeout)
        except BrokerUnavailable as e:
            raise ToolError(f"{e} (bootstrap.servers={self.settings['bootstrap.servers']})") from None
        except KafkaProblem as e:
            raise ToolError(str(e)) from None


def cluster(props: Mapping[str, str]) -> OfflineCluster:
    """The cluster described by a worker's file, with its security settings; BadInput names missing props."""
    needed = ("group.id", "config.storage.topic", "offset.storage.topic", "bootstrap.servers")
    missing = [key for key in needed if not props.get(key)]
    if missing:
        raise BadInput(f"the worker's file lacks {', '.join(missing)}")
    settings = client_config(props, "admin", client_id="headrace-offsets").settings
    configs, offsets = props["config.storage.topic"], props["offset.storage.topic"]
    journal = props.get("headrace.journal.topic") or f"{offsets}-headrace"
    return OfflineCluster(props["group.id"], configs, offsets, journal, settings, known_providers(props))


def worker_file(path: Path) -> dict[str, str]:
    """The properties in a worker's file, with variables resolved as the worker resolves them. Raises PropertiesError,
    or BadInput for a variable that cannot be resolved."""
    props = properties.load(path)
    try:
        return known_providers(props).resolve(props).config
    except ConfigError as e:
        raise BadInput(f"{path}: {e}") from None


def known_providers(props: Mapping[str, str]) -> Providers:
    """The config providers of the worker's file; no providers if one of them exists only in Java, so that all variables
    remain unresolved."""
    try:
        return providers(props)
    except ConfigError:
        return Providers()


_READING = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 10,
    "queued.max.messages.kbytes": 8_192,
    "queued.min.messages": 1_000_000,
    "fetch.queue.backoff.ms": 5,  # a full queue would stop fetching for a second
    "log_level": 2,
}


def _read(consumer: Any, topic: str, take: Callable[[Sequence[Record]], None], timeout: float) -> None:
    left = _assign(consumer, topic, timeout)
    deadline = time.monotonic() + timeout
    while left:
        messages = consumer.consume(_BATCH, _BATCH_WAIT)
        records = [(m.key(), m.value(), m.timestamp()[1], m.offset() or 0) for m in messages if m.error() is None]
        take(records)
        if len(records) < len(messages):
            left -= _ended(messages, topic)
        deadline = time.monotonic() + timeout if messages else deadline
        if time.monotonic() > deadline:
            raise ToolError(f"topic {topic}: Kafka stopped responding")


def _assign(consumer: Any, topic: str, timeout: float) -> set[int]:
    from confluent_kafka import TopicPartition as At

    metadata = consumer.list_topics(topic, timeout=timeout).topics[topic]
    if metadata.error is not None:
        raise ToolError(f"topic {topic} cannot be read: {metadata.error.str()}")
    consumer.assign([At(topic, p, 0) for p in metadata.partitions])
    return set(metadata.partitions)


def _ended(messages: Sequence[Any], topic: str) -> set[int]:
    """Partitions that these messages report as read to the end. Raises ToolError for other errors."""
    ended = set()
    for message in messages:
        error = message.error()
        if error is not None and error.name() == "_PARTITION_EOF":
            ended.add(message.partition())
        elif error is not None and not error.retriable():
            raise ToolError(f"topic {topic} cannot be read: {error.str()}")
    return ended


def _properties(value: bytes | None) -> dict[str, Any] | None:
    try:
        document = json.loads(value or b"null")
    except ValueError:
        return None
    properties = document.get("properties") if isinstance(document, dict) else None
    return properties if isinstance(properties, dict) else None
