"""The HttpSource connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import ExactlyOnceSupport, SourceConnector
from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.connectors.http.source_config import CURSOR, SOURCE_KEYS, source_settings, source_values
from runtime.connectors.http.source_task import HttpSourceTask, pagination_of, source_partition
from runtime.connectors.http.traversal import Traversal


class HttpSourceConnector(SourceConnector):
    """Polls a JSON API with one task."""

    java_name = "headrace.HttpSourceConnector"
    task_class = HttpSourceTask
    config_def = SOURCE_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return source_values(config)

    def start(self, config: Mapping[str, str]) -> None:
        source_settings(config)
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Partition | None, Offset | None]]
    ) -> bool:
        """Accepts the partition `{"url": …}` of the configuration and offsets as in `Traversal`."""
        settings = source_settings(config)
        expected = source_partition(settings)
        for partition, offset in offsets:
            if offset is None:
                continue  # a reset is valid for any partition, such as that of an earlier URL
            if partition is None or dict(partition) != expected:
                raise ConnectError(f"The source partition of this configuration is {expected}, not {partition}")
            Traversal.of(offset, pagination_of(settings, config), settings[CURSOR] is not None)
        return True
