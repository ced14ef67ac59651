"""One topic in detail: its partitions, configurations, the consumer groups that read it, and its growth. Requests
block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tui import kafka_clients
from tui.errors import HeadraceError, NotFound
from tui.formatting import counted
from tui.model import Connector
from tui.offsets.brokers import Brokers
from tui.offsets.group_lag import group_of
from tui.topics.topic_list import TopicSummary, with_offsets

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._config import ConfigEntry

MAX_GROUPS = 200  # consumer groups whose offsets are read; those of sinks that read the topic come first
_DEFAULT = 5  # the source of a default in a response of DescribeConfigs (KIP-226)
_SOURCES = {1: "topic", 2: "broker", 3: "brokers", 4: "broker file"}


class PartitionReplicas(NamedTuple):
    """A partition with the ids of its brokers; `leader` is -1 if there is none."""

    partition: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]

    @property
    def is_degraded(self) -> bool:
        """Whether it has no leader, or too few replicas in sync."""
        return self.leader < 0 or len(self.in_sync) < len(self.replicas)


class TopicConfig(NamedTuple):
    """A configuration that differs from its default. `value` and `default` are None where brokers hide or omit them;
    `source` says where it is set: topic, broker, brokers (a default of the cluster) or broker file."""

    name: str
    value: str | None
    default: str | None
    source: str


class ReadingGroup(NamedTuple):
    """A consumer group with offsets in a topic, or that of a sink that reads it; `state` is empty if unknown."""

    name: str
    state: str
    committed: Mapping[int, int]  # by partition
    sinks: tuple[str, ...] = ()
    error: str = ""  # why the offsets are unknown

    def lag(self, latest: Mapping[int, int]) -> int | None:
        """The records after its offsets; None if there are no offsets."""
        lags = [max(0, latest[number] - offset) for number, offset in self.committed.items() if number in latest]
        return sum(lags) if lags else None


class TopicDetails(NamedTuple):
    """A topic; `notes` name the parts that could not be read, with the reasons."""

    summary: TopicSummary
    replicas: tuple[PartitionReplicas, ...]
    configs: tuple[TopicConfig, ...]
    groups: tuple[ReadingGroup, ...]
    notes: tuple[str, ...] = ()

    @property
    def degraded(self) -> int:
        """The number of partitions without a leader, or with too few replicas in sync."""
        return sum(replicas.is_degraded for replicas in self.replicas)


class EndsSample(NamedTuple):
    """The end offsets of a topic by partition, at a time in seconds."""

    at: float
    ends: Mapping[int, int]


def growth(first: EndsSample, last: EndsSample) -> dict[int, float]:
    """Records per second by partition between two samples; without new partitions, and those of a topic that was
    created again meanwhile."""
    took = last.at - first.at
    return {
        number: (end - first.ends[number]) / took
        for number, end in last.ends.items()
        if took > 0 and end >= first.ends.get(number, end + 1)
    }


class TopicInspector:
    """Reads the details of a topic from its brokers."""

    def __init__(self, brokers: Brokers, topic: str) -> None:
        self.brokers, self.topic = brokers, topic

    def details(self, sinks: Iterable[Connector]) -> TopicDetails:
        """The details of the topic, which these sinks read. Raises NotFound if it does not exist, HeadraceError if its
        partitions cannot be read."""
        brokers, topic = self.brokers, self.topic
        replicas = brokers.request(lambda admin: _replicas(admin, brokers.timeout, topic))
        if not replicas:
            raise NotFound(f"topic {topic} does not exist", 404, "`topics` lists the topics of the brokers")
        summary = with_offsets(brokers, [TopicSummary(topic, tuple(each.partition for each in replicas))])[topic]
        configs: tuple[TopicConfig, ...] = ()
        notes: list[str] = []
        try:
            configs = brokers.request(lambda admin: _configs(admin, brokers.timeout, topic))
        except HeadraceError as error:
            notes.append(f"no configurations: {error.message}")
        groups, of_groups = _reading_groups(brokers, topic, sinks)
        return TopicDetails(summary, replicas, configs, groups, (*notes, *of_groups))

    def with_progress(self, details: TopicDetails) -> TopicDetails:
        """The details with new offsets, of the topic and of the groups in them. Raises HeadraceError."""
        summary = with_offsets(self.brokers, [details.summary])[self.topic]
        committed = _committed(self.brokers, self.topic, [group.name for group in details.groups])
        groups = tuple(_group(group, committed[group.name]) for group in details.groups)
        return details._replace(summary=summary, groups=groups)


def _reading_groups(
    brokers: Brokers, topic: str, sinks: Iterable[Connector]
) -> tuple[tuple[ReadingGroup, ...], list[str]]:
    """The groups that read the topic, those of sinks first, and notes about what could not be read."""
    of_sinks: dict[str, list[str]] = {}
    for sink in sinks:
        of_sinks.setdefault(group_of(sink), []).append(sink.name)
    states: dict[str, str] = {}
    notes: list[str] = []
    try:
        states, trouble = brokers.request(lambda admin: _listed(admin, brokers.timeout))
        if trouble:
            notes.append(f"not all consumer groups are known: {trouble}")
    except HeadraceError as error:
        notes.append(f"only groups of sinks: {error.message}")
    names = [*of_sinks, *sorted(states.keys() - of_sinks.keys())]
    if len(names) > MAX_GROUPS:
        notes.append(f"the offsets of {counted(MAX_GROUPS, 'group')} of {len(names):,} were read")
    chosen = [ReadingGroup(name, states.get(name, ""), {}, tuple(of_sinks.get(name, ()))) for name in names]
    committed = _committed(brokers, topic, [group.name for group in chosen[:MAX_GROUPS]])
    groups = [_group(group, committed[group.name]) for group in chosen[:MAX_GROUPS]]
    refused = [group for group in groups if group.error]
    if refused:
        notes.append(f"no offsets of {counted(len(refused), 'group')}, such as {refused[0].name}: {refused[0].error}")
    return tuple(group for group in groups if group.committed or group.sinks), notes


def _group(group: ReadingGroup, committed: Mapping[int, int] | HeadraceError) -> ReadingGroup:
    if isinstance(committed, HeadraceError):
        return group._replace(error=committed.message)
    return group._replace(committed=committed, error="")


def _committed(brokers: Brokers, topic: str, groups: Iterable[str]) -> dict[str, dict[int, int] | HeadraceError]:
    """The offsets of each group in the topic by partition, or the error of that group."""
    wanted: dict[str, Callable[[str], bool]] = dict.fromkeys(groups, topic.__eq__)
    return {
        name: offsets if isinstance(offsets, HeadraceError) else {at[1]: offset for at, offset in offsets.items()}
        for name, offsets in brokers.committed(wanted).items()
    }


# Requests of librdkafka's admin client


def _replicas(admin: AdminClient, timeout: float, topic: str) -> tuple[PartitionReplicas, ...]:
    """Asks for all topics: brokers may create a topic that a client asks for by name."""
    metadata = admin.list_topics(timeout=timeout).topics.get(topic)
    partitions = metadata.partitions if metadata is not None else {}
    return tuple(
        PartitionReplicas(number, each.leader, tuple(each.replicas), tuple(each.isrs))
        for number, each in sorted(partitions.items())
    )


def _configs(admin: AdminClient, timeout: float, topic: str) -> tuple[TopicConfig, ...]:
    from confluent_kafka.admin._config import ConfigResource

    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = admin.describe_configs([resource], request_timeout=timeout)[resource].result()
    return tuple(
        TopicConfig(name, entry.value, _default(name, entry.synonyms), _SOURCES.get(_source(entry), "other"))
        for name, entry in sorted(entries.items())
        if _source(entry) != _DEFAULT
    )


def _source(entry: ConfigEntry) -> int:
    """The source of an entry as the protocol's number, which confluent-kafka returns against its types."""
    source: Any = entry.source
    return int(getattr(source, "value", source))


def _default(name: str, synonyms: Mapping[str, ConfigEntry]) -> str | None:
    """The default value; with its name if that of the broker has another unit, as `log.retention.hours=168`."""
    for synonym, entry in synonyms.items():
        if _source(entry) == _DEFAULT and entry.value is not None:
            return entry.value if synonym in (name, f"log.{name}") else f"{synonym}={entry.value}"
    return None


def _listed(admin: AdminClient, timeout: float) -> tuple[dict[str, str], str]:
    """The state of each consumer group, and the error of a broker whose groups are missing. Raises KafkaException if
    there are only errors."""
    from confluent_kafka import KafkaException

    listed = admin.list_consumer_groups(request_timeout=timeout).result()
    errors: list[Any] = listed.errors or []  # of type KafkaError, against the types of the library
    if errors and not listed.valid:
        raise KafkaException(errors[0])
    states = {group.group_id: group.state.name.capitalize() for group in listed.valid or ()}
    return states, kafka_clients.in_words(errors[0]) if errors else ""
