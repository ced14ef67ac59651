"""The configuration of DataSourceSink."""

from __future__ import annotations

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.connectors.data_source.loading import GROUP, common_keys

RECORDS = "data.source.batch.records"

SINK_KEYS = ConfigDef(
    *grouped(GROUP, 1,
        *common_keys("Schema of the rows as Spark's DDL, such as `id INT, name STRING`; by default that of the "
             "records."),
        ConfigKey(RECORDS, ConfigType.INT, 10_000, Importance.LOW, "Rows that are passed to the writer at once; fewer "
             "when offsets are committed.", validators.at_least(1), width=Width.SHORT, display_name="Batch records"),
    ),
)  # fmt: skip
