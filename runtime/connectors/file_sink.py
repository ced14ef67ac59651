"""FileStreamSink appends records to a file, one line for each."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.data.batch import SinkBatch
from runtime.api.data.java_text import java_text
from runtime.api.data.java_text_columns import java_texts
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.task import SinkTask
from runtime.connectors.checked_config import GroupSinkConnector
from runtime.connectors.line_appender import LineAppender
from runtime.converters.charset import java_utf8

FILE = "file"

_log = logging.getLogger("org.apache.kafka.connect.file.FileStreamSinkTask")


class FileStreamSinkTask(SinkTask):
    """Writes the text of each value to a line, `null` for a null value. Surrogate escapes become the original bytes.

    Without a file, the lines are messages of the task's log: Apache's task prints them to standard output."""

    java_name = "org.apache.kafka.connect.file.FileStreamSinkTask"
    takes_batches = True
    _file: LineAppender | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self._file = LineAppender(config[FILE]) if config.get(FILE) else None

    def put(self, records: Sequence[SinkRecord]) -> None:
        if not records:
            return
        lines: Sequence[str]
        if isinstance(records, SinkBatch):
            lines = java_texts(records.values)
        else:
            lines = [value if type(value := r.value) is str else java_text(value, r.value_schema) for r in records]
        if self._file is not None:
            self._file.append(java_utf8("\n".join(lines) + "\n"))
        else:
            for line in lines:
                _log.info("%s", line)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self._file is not None:
            self._file.sync()

    def stop(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class FileStreamSinkConnector(GroupSinkConnector):
    """All tasks append to the same file."""

    java_name = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    task_class = FileStreamSinkTask
    config_def = ConfigDef(
        ConfigKey(FILE, ConfigType.STRING, None, Importance.HIGH, "File to append to. The task creates it if it does "
             "not exist. If not set, the task logs the lines."),
    )  # fmt: skip
