"""The configuration of DataSourceSink."""

from __future__ import annotations

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width
from runtime.connectors.data_source.loading import GROUP, class_key, schema_key

RECORDS = "data.source.batch.records"

SINK_KEYS = ConfigDef(
    class_key(),
    schema_key("Schema of the rows as Spark's DDL, such as `id INT, name STRING`; by default that of the records."),
    ConfigKey(
        RECORDS,
        ConfigType.INT,
        10_000,
        Importance.LOW,
        "Rows that are passed to the writer at once; fewer when offsets are committed.",
        validators.at_least(1),
        GROUP,
        3,
        Width.SHORT,
        "Batch records",
    ),
)
