"""FilesSink writes the records of topics to files on a disk or in an object store."""

from __future__ import annotations

from runtime.connectors.checked_config import GroupSinkConnector
from runtime.connectors.files.sink.definition import CONFIG
from runtime.connectors.files.sink.task import FilesSinkTask


class FilesSinkConnector(GroupSinkConnector):
    """All tasks have the same configuration; each writes the files of its own partitions."""

    java_name = "headrace.FilesSinkConnector"
    task_class = FilesSinkTask
    config_def = CONFIG
