"""SparkSink writes the records of topics with Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.connectors.checked_config import GroupSinkConnector
from runtime.connectors.spark.sink.definition import CONFIG, TASK
from runtime.connectors.spark.sink.task import SparkSinkTask


class SparkSinkConnector(GroupSinkConnector):
    """Each task writes batches of its own partitions; all tasks share the worker's Spark session."""

    java_name = "headrace.SparkSinkConnector"
    task_class = SparkSinkTask
    config_def = CONFIG

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self.config, TASK: str(number)} for number in range(max_tasks)]
