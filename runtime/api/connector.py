"""Connectors: they validate configurations, create the configurations of tasks and check altered offsets.

Instances live in the plugin host, a child process of the worker.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import ClassVar, Protocol, TypeVar

from runtime.api.async_task import AsyncSinkTask, AsyncSourceTask, AsyncTask
from runtime.api.config.definition import ConfigDef, ConfigValue
from runtime.api.data.record import TopicPartition
from runtime.api.task import Offset, OffsetReader, Partition, SinkTask, SourceTask, Task

T = TypeVar("T")


def group_partitions(elements: Sequence[T], groups: int) -> list[list[T]]:
    """The elements in `groups` consecutive groups, whose sizes differ by at most one; the larger groups come first. If
    there are fewer elements than groups, the last groups are empty: for task_configs(), pass
    `min(len(elements), max_tasks)`. ValueError if `groups` is less than one."""
    if groups < 1:
        raise ValueError("The number of groups must be positive.")
    size, larger = divmod(len(elements), groups)
    starts = [number * size + min(number, larger) for number in range(groups + 1)]
    return [list(elements[start:end]) for start, end in pairwise(starts)]


class ExactlyOnceSupport(Enum):
    """Whether a source connector supports exactly-once delivery (KIP-618)."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorContext(Protocol):
    """Services of the worker for a connector."""

    def request_task_reconfiguration(self) -> None:
        """Make the worker call task_configs() again. Thread-safe."""

    def raise_error(self, error: Exception) -> None:
        """Set the connector to FAILED with this error's trace. Thread-safe."""


class SourceConnectorContext(ConnectorContext, Protocol):
    """Services of the worker for a source connector."""

    @property
    def offsets(self) -> OffsetReader:
        """The source offsets that have been committed so far by the connector's tasks. Each call takes milliseconds."""


class Connector(ABC):
    """Splits the work of a connector into task configurations (Java: Connector)."""

    context: ConnectorContext
    config_def: ClassVar[ConfigDef] = ConfigDef()
    """The connector's own configuration keys; the worker adds the keys common to all connectors."""
    task_class: ClassVar[type[Task] | type[AsyncTask]]
    config: Mapping[str, str]
    """The connector's configuration, from start() on."""

    def version(self) -> str:
        """The plugin's version; by default the Kafka Connect release that this worker implements."""
        from runtime import CONNECT_VERSION

        return CONNECT_VERSION

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Values, recommendations and errors of the connector's own keys. Override to check keys against each other."""
        return self.config_def.validate(config)

    def start(self, config: Mapping[str, str]) -> None:
        """Start the connector with its configuration; an exception sets the connector to FAILED."""
        self.config = dict(config)

    @abstractmethod
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """One configuration for each task, at most `max_tasks` (`tasks.max`)."""

    def stop(self) -> None:  # noqa: B027 - optional hook
        """Release the resources that start() acquired."""


class SourceConnector(Connector):
    """A connector whose tasks read from another system (Java: SourceConnector)."""

    context: SourceConnectorContext
    task_class: ClassVar[type[SourceTask] | type[AsyncSourceTask]]

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """By default one task, with the connector's configuration."""
        return [self.config]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Whether the connector supports exactly-once delivery with this configuration; None if unknown (KIP-618).

        Called during validation, before start()."""
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        """Whether the tasks can define transaction boundaries (`transaction.boundary=connector`, KIP-618).

        Called during validation, before start()."""
        return False

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Partition | None, Offset | None]]
    ) -> bool:
        """Check a request to alter the offsets of these source partitions, or to reset them (offset None); KIP-875.

        Called before the worker writes the offsets, possibly before start(). Return True if the connector has checked
        them. False, the default, tells the operator that the connector may track offsets in another system too.
        Raises UnsupportedOffsetsError if no offsets of the connector can be altered, ConnectError to refuse these.
        """
        return False


class SinkConnector(Connector):
    """A connector whose tasks write to another system (Java: SinkConnector)."""

    task_class: ClassVar[type[SinkTask] | type[AsyncSinkTask]]

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """By default `max_tasks` tasks, all with the connector's configuration."""
        return [self.config] * max_tasks

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Like SourceConnector.alter_offsets(), for the offsets of the consumer group: the next offset to read, or None
        to reset."""
        return False
