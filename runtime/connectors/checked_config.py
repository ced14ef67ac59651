"""Connectors that check their configuration at the start and pass it to their tasks."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.connector import ExactlyOnceSupport, SinkConnector, SourceConnector
from runtime.api.data.record import TopicPartition


class GroupSinkConnector(SinkConnector):
    """All tasks have the same configuration. The sink has no offsets outside its consumer group."""

    def start(self, config: Mapping[str, str]) -> None:
        self.config_def.parse(config)
        super().start(config)

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Always True. What has been written remains."""
        return True


class ExactSourceConnector(SourceConnector):
    """A source that supports exactly-once delivery, with one task."""

    def start(self, config: Mapping[str, str]) -> None:
        self.config_def.parse(config)
        super().start(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED
