"""The HttpSink connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import SinkConnector
from runtime.api.data.record import TopicPartition
from runtime.connectors.http.sink_config import SINK_KEYS, sink_settings, sink_values
from runtime.connectors.http.sink_task import HttpSinkTask


class HttpSinkConnector(SinkConnector):
    """Sends records to an HTTP endpoint."""

    java_name = "headrace.HttpSinkConnector"
    task_class = HttpSinkTask
    config_def = SINK_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return sink_values(config)

    def start(self, config: Mapping[str, str]) -> None:
        sink_settings(config)
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config] * max_tasks

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Always True: the sink has no offsets outside its consumer group."""
        return True
