"""What a slot is told about a task: plain data that travels as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runtime.model.states import TaskId


@dataclass(frozen=True, slots=True)
class ConverterSpec:
    """A converter by class name or alias, with its own keys (prefix removed)."""

    cls: str
    config: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """A committed source offset. `raw_key` is the key as it stands in the offsets topic (UTF-8 text):
    new offsets of the partition are written with the same bytes, or compaction would keep both."""

    partition: dict[str, Any]
    offset: dict[str, Any]
    raw_key: str


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """How topics are created that match (Java regular expressions); -1 leaves a number to the broker."""

    name: str
    include: list[str]
    exclude: list[str]
    partitions: int
    replication_factor: int
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Everything a slot needs to run a task. Complete: the slot asks nobody anything more."""

    connector: str
    task: int
    epoch: int  # rises with every assignment; reports carry it, so that late ones are told apart
    type: str  # "source" | "sink"
    task_class: str  # "package.module:Class"
    config: dict[str, str]  # the task's config, as its connector made it
    key_converter: ConverterSpec
    value_converter: ConverterSpec
    header_converter: ConverterSpec
    paused: bool = False
    producer: dict[str, Any] = field(default_factory=dict)  # librdkafka settings (sources)
    producer_shared: bool = True  # False: overrides make it the task's own
    offsets_producer: dict[str, Any] = field(default_factory=dict)  # for the offsets topic; empty: as `producer`
    consumer: dict[str, Any] = field(default_factory=dict)  # librdkafka settings (sinks), group.id among them
    topics: list[str] = field(default_factory=list)  # of a sink
    topics_regex: str = ""  # of a sink; a Java regular expression, matched by us
    offsets_topic: str = ""  # where a source's offsets are written
    offsets_copy_topic: str = ""  # where they are written too: the worker's, when the connector has one of its own
    offsets: list[SourceOffset] = field(default_factory=list)  # of a source, as committed now
    topic_groups: list[TopicGroup] = field(default_factory=list)  # of a source: topics created by us, default last
    admin: dict[str, Any] = field(default_factory=dict)  # librdkafka settings, for what creates topics
    flush_interval: float = 60.0  # seconds, offset.flush.interval.ms
    flush_timeout: float = 5.0  # seconds, offset.flush.timeout.ms
    max_poll_records: int | None = None  # of a sink: upper bound of a put(), where somebody asks for one
    track_topics: bool = True
    plugin_path: list[str] = field(default_factory=list)  # folders of Python plugins, for sys.path
    connector_config: dict[str, str] = field(default_factory=dict)  # empty: the same as `config`
    dedicated: bool = False  # it wants a slot of its own

    @property
    def settings(self) -> dict[str, str]:
        """What the connector says to the framework: transformations, errors."""
        return self.connector_config or self.config

    @property
    def id(self) -> TaskId:
        return TaskId(self.connector, self.task)
