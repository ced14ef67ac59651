"""The configuration of DataSource."""

from __future__ import annotations

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width
from runtime.connectors.config_keys import topic_key
from runtime.connectors.data_source.loading import GROUP, class_key, schema_key

TOPIC, KEY, INTERVAL = "topic", "key.field", "data.source.poll.interval.ms"
THREADS, BATCH = "data.source.threads", "data.source.batch.size"
TASK_NUMBER, TASK_COUNT = "data.source.task", "data.source.tasks"
"""In the configurations of tasks only: the number of the task, and how many tasks there are."""


def _number(name: str, default: int, doc: str, order: int) -> ConfigKey:
    return ConfigKey(
        name, ConfigType.INT, default, Importance.LOW, doc, validators.at_least(1), GROUP, order, Width.SHORT,
        name.replace(".", " ").capitalize(),
    )  # fmt: skip


SOURCE_KEYS = ConfigDef(
    class_key(),
    schema_key("Schema of the records as Spark's DDL, such as `id INT, name STRING`; by default the data source's."),
    topic_key(GROUP, 3),
    ConfigKey(
        KEY,
        ConfigType.STRING,
        None,
        Importance.MEDIUM,
        "Field whose value is the key of the record. By default, records have no key.",
        None,
        GROUP,
        4,
        Width.SHORT,
        "Key field",
    ),
    _number(INTERVAL, 1000, "Time between two questions for new data, if there is none.", 5),
    _number(THREADS, 1, "Partitions of a micro-batch that a task reads at the same time.", 6),
    _number(BATCH, 1000, "Maximum number of records in a batch.", 7),
)
