"""FilesSource reads the files of a folder or bucket, one record for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.api.errors import ConnectError
from runtime.api.task import AlteredOffsets
from runtime.connectors.checked_config import ExactSourceConnector
from runtime.connectors.files.source.cursor import check_offset, check_partition
from runtime.connectors.files.source.definition import (
    CONFIG,
    TASK_COUNT,
    TASK_NUMBER,
    FilesSourceSettings,
)
from runtime.connectors.files.source.task import FilesSourceTask


class FilesSourceConnector(ExactSourceConnector):
    """Its tasks divide the files by a hash of their paths."""

    java_name = "headrace.FilesSourceConnector"
    task_class = FilesSourceTask
    config_def = CONFIG

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self.config, TASK_NUMBER: str(number), TASK_COUNT: str(max_tasks)} for number in range(max_tasks)]

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        """True after checking that each partition is a file that the connector reads, and each offset a position in a
        file. Any partition may be reset."""
        from runtime.connectors.files.source.listing import path_matcher

        matches = path_matcher(FilesSourceSettings.of(config))
        for partition, offset in offsets:
            if offset is None:
                continue
            path = check_partition(partition)
            if not matches(path):
                raise ConnectError(f"The connector does not read {path}: it does not match its pattern or format")
            check_offset(offset)
        return True
