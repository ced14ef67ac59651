"""The configurations of DataSource and DataSourceSink."""

from __future__ import annotations

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.connectors.config_keys import INTERVAL as AT_INTERVALS
from runtime.connectors.config_keys import ONCE, STREAM, TOPIC_KEY, is_interval
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


TOPIC, KEY, INTERVAL = "topic", "key.field", "data.source.poll.interval.ms"
THREADS, BATCH = "data.source.threads", "data.source.batch.size"
MODE, TRIGGER = "data.source.mode", "data.source.trigger"
TASK_NUMBER, TASK_COUNT = "data.source.task", "data.source.tasks"
"""In the configurations of tasks only: the number of the task, and how many tasks there are."""


def _number(name: str, default: int, doc: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.INT, default, Importance.LOW, doc, validators.at_least(1), width=Width.SHORT,
                     display_name=name.replace(".", " ").capitalize())  # fmt: skip


SOURCE_KEYS = ConfigDef(
    *grouped(GROUP, 1,
        *common_keys("Schema of the records as Spark's DDL, such as `id INT, name STRING`; by default the data "
             "source's."),
        ConfigKey(MODE, ConfigType.STRING, STREAM, Importance.HIGH, "stream follows the data source with its streaming "
             "reader. once reads all rows of its batch reader once, interval again and again.",
             validators.one_of(STREAM, ONCE, AT_INTERVALS), width=Width.SHORT, display_name="Data source mode"),
        ConfigKey(TRIGGER, ConfigType.STRING, "1 minute", Importance.MEDIUM, "With data.source.mode=interval: time "
             "between the starts of two reads.", is_interval, width=Width.SHORT, display_name="Data source trigger"),
        TOPIC_KEY,
        ConfigKey(KEY, ConfigType.STRING, None, Importance.MEDIUM, "Field whose value is the key of the record. By "
             "default, records have no key.", width=Width.SHORT, display_name="Key field"),
        _number(INTERVAL, 1000, "Time between two questions for new data, if there is none."),
        _number(THREADS, 1, "Partitions of a micro-batch that a task reads at the same time."),
        _number(BATCH, 1000, "Maximum number of records in a batch."),
    ),
)  # fmt: skip
