"""SparkSink writes the records of topics with Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import SinkConnector
from runtime.api.data.record import TopicPartition
from runtime.connectors.key_conflicts import with_conflicts
from runtime.connectors.spark.sink.definition import CONFIG, TASK, SparkSinkSettings, target_conflicts
from runtime.connectors.spark.sink.task import SparkSinkTask


class SparkSinkConnector(SinkConnector):
    """Each task writes batches of its own partitions; all tasks share the worker's Spark session."""

    java_name = "headrace.SparkSinkConnector"
    task_class = SparkSinkTask
    config_def = CONFIG

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return with_conflicts(super().validate(config), target_conflicts)

    def start(self, config: Mapping[str, str]) -> None:
        SparkSinkSettings.of(config)
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self._config, TASK: str(number)} for number in range(max_tasks)]

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Always True: the consumer group has all offsets. What has been written remains."""
        return True
