"""FilesSink writes the records of topics to files on a disk or in an object store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import SinkConnector
from runtime.api.data.record import TopicPartition
from runtime.connectors.files.sink.definition import CONFIG, FilesSinkSettings, conflicts
from runtime.connectors.files.sink.task import FilesSinkTask
from runtime.connectors.key_conflicts import with_conflicts


class FilesSinkConnector(SinkConnector):
    """All tasks have the same configuration; each writes the files of its own partitions."""

    java_name = "headrace.FilesSinkConnector"
    task_class = FilesSinkTask
    config_def = CONFIG

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return with_conflicts(super().validate(config), conflicts)

    def start(self, config: Mapping[str, str]) -> None:
        FilesSinkSettings.of(config)
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config] * max_tasks

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Always True: the sink has no offsets outside its consumer group. Files that have been written remain."""
        return True
