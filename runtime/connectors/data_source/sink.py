"""The DataSourceSink connector: a streaming writer of a Python Data Source as a sink."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import SinkConnector
from runtime.api.data.record import TopicPartition
from runtime.api.errors import ConfigError
from runtime.connectors.data_source.config import SINK_KEYS
from runtime.connectors.data_source.connect_schema import connect_struct
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.connectors.data_source.loading import CLASS, SCHEMA, check_registered, load_data_source
from runtime.connectors.data_source.sink_task import DataSourceSinkTask


class DataSourceSinkConnector(SinkConnector):
    """Each task has a writer of its own."""

    java_name = "headrace.DataSourceSinkConnector"
    task_class = DataSourceSinkTask
    config_def = SINK_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        if not by_name[CLASS].errors and not by_name[SCHEMA].errors:
            try:
                _check(config)
            except ConfigError as error:
                by_name[CLASS].errors.append(str(error))
        return values

    def start(self, config: Mapping[str, str]) -> None:
        self.config_def.parse(config)
        _check(config)
        super().start(config)

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """False: a writer may remember batch ids, which the connector cannot change."""
        return False


def _check(config: Mapping[str, str]) -> None:
    """Raises ConfigError unless the data source has a streaming writer."""
    from pyspark.sql.datasource import DataSource

    check_registered(config)
    source = load_data_source(config)
    if config.get(SCHEMA) is not None:
        connect_struct(parse_ddl(config[SCHEMA]))
    if type(source).streamWriter is DataSource.streamWriter:
        raise ConfigError(f"{type(source).__name__} has no streaming writer")
