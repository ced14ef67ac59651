"""The DataSource connector: a streaming or batch reader of a Python Data Source as a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import ExactlyOnceSupport, SourceConnector
from runtime.api.errors import ConfigError, ConnectError
from runtime.api.task import AlteredOffsets
from runtime.connectors.config_keys import STREAM
from runtime.connectors.data_source.config import KEY, MODE, SOURCE_KEYS, TASK_COUNT, TASK_NUMBER
from runtime.connectors.data_source.connect_schema import connect_struct
from runtime.connectors.data_source.loading import CLASS, SCHEMA, check_registered, load_data_source, read_schema
from runtime.connectors.data_source.readers import has_partitions, reader_problem
from runtime.connectors.data_source.shared_batches import TASK, ShareProgress, position_of, source_partition
from runtime.connectors.data_source.source_task import DataSourceTask


class DataSourceConnector(SourceConnector):
    """Divides the partitions of each micro-batch among its tasks; simple readers and batch readers have one task."""

    java_name = "headrace.DataSourceConnector"
    task_class = DataSourceTask
    config_def = SOURCE_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        if not any(by_name[name].errors for name in (CLASS, SCHEMA, MODE)):
            try:
                _check(config, by_name[KEY].value)
            except ConfigError as error:
                by_name[CLASS].errors.append(str(error))
        return values

    def start(self, config: Mapping[str, str]) -> None:
        settings = self.config_def.parse(config)
        _check(config, settings[KEY])
        super().start(config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        shared = _streams(self.config) and has_partitions(load_data_source(self.config))
        count = max_tasks if shared else 1
        return [{**self.config, TASK_NUMBER: str(task), TASK_COUNT: str(count)} for task in range(count)]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """A batch reader may return other rows when it is asked again, so that a read cannot continue in its middle."""
        return ExactlyOnceSupport.SUPPORTED if _streams(config) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        """Accepts the partition `{"data.source": "package.Class"}` with a position, and the same partition with `task`
        with the progress of a share; see micro_batches.py, shared_batches.py and source_task.py."""
        expected = source_partition(config, _streams(config))
        for partition, offset in offsets:
            if offset is None:
                continue
            keys = dict(partition or {})
            task = keys.pop(TASK, None)
            if keys != expected or not (task is None or type(task) is int):
                raise ConnectError(f"The source partition of this configuration is {expected}, not {partition}")
            _ = position_of(offset) if task is None else ShareProgress.of(offset)
        return True


def _check(config: Mapping[str, str], key: str | None) -> None:
    """Raises ConfigError unless the data source has the reader that is wanted, whose records Connect can represent."""
    check_registered(config)
    source = load_data_source(config)
    if problem := reader_problem(source, _streams(config)):
        raise ConfigError(problem)
    schema = read_schema(source, config.get(SCHEMA))
    names = list(connect_struct(schema)[1])
    if key and key not in names:
        raise ConfigError(f"Invalid value {key} for configuration {KEY}: the fields are {', '.join(names)}")


def _streams(config: Mapping[str, str]) -> bool:
    return config.get(MODE, STREAM) == STREAM
