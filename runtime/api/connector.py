"""Connectors: they say what tasks there are, check configurations and hear of altered offsets.

Instances live in the plugin host, never in the herder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import ClassVar, Protocol

from runtime.api.config.definition import ConfigDef, ConfigValue
from runtime.api.data.record import TopicPartition
from runtime.api.task import Offset, Partition, SinkTask, SourceTask, Task


class ExactlyOnceSupport(Enum):
    """Whether a source can deliver exactly once (KIP-618)."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorContext(Protocol):
    """What the runtime offers to a connector."""

    def request_task_reconfiguration(self) -> None:
        """Ask the runtime to call task_configs() again."""

    def raise_error(self, error: Exception) -> None:
        """Make the connector FAILED with this error's trace."""


class Connector(ABC):
    """The plan of a connector (Connect: Connector)."""

    context: ConnectorContext
    config_def: ClassVar[ConfigDef] = ConfigDef()
    """The connector's own keys; the keys common to all connectors are added by the runtime."""
    task_class: ClassVar[type[Task]]

    def version(self) -> str:
        """The plugin's version; by default the release whose behaviour it keeps."""
        from runtime import CONNECT_VERSION

        return CONNECT_VERSION

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Values, recommendations and errors of the connector's own keys; override to check keys together."""
        return self.config_def.validate(config)

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Get ready; raise to make the connector FAILED."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """One config for each task, at most `max_tasks`."""

    def stop(self) -> None:  # noqa: B027 - optional hook
        """Release what start() took."""


class SourceConnector(Connector):
    """A connector whose tasks read from another system."""

    task_class: ClassVar[type[SourceTask]]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Whether the connector delivers exactly once with this config; None: it does not say. Asked before start()."""
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        """Whether its tasks can say where transactions end (`transaction.boundary=connector`). Asked before start()."""
        return False

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Partition | None, Offset | None]]
    ) -> bool:
        """An operator alters (offset) or resets (None) the offsets of these partitions (KIP-875).

        Called before anything is written, possibly before start(). Returns True when the connector knows of the
        hook; False, the default, means that the connector may keep offsets elsewhere which the operator has to see
        to. Raises UnsupportedOffsetsError when offsets cannot be altered at all, ConnectError when these cannot.
        """
        return False


class SinkConnector(Connector):
    """A connector whose tasks write to another system."""

    task_class: ClassVar[type[SinkTask]]

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """As SourceConnector.alter_offsets, for the offsets of the sink's consumer group."""
        return False
