"""The configuration of SparkSource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, grouped
from runtime.connectors.config_keys import INTERVAL, ONCE, STREAM, TOPIC_KEY, interval, is_interval
from runtime.connectors.spark.config_keys import (
    FORMAT,
    MODE,
    PATH,
    SCHEMA,
    SQL,
    TABLE,
    TRIGGER,
    is_ddl,
    is_format,
    is_query,
    options_of,
)

CHECKPOINT, KEY, RETRIES, BATCH = "spark.checkpoint", "spark.key", "spark.read.retries", "batch.size"
_DEFAULT_FORMAT = "parquet"
_SOURCE, _RECORDS, _BATCHES = "Source", "Records", "Batches"


def source_conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    if parsed.get(TABLE) and (parsed.get(PATH) or parsed.get(FORMAT)):
        return {TABLE: f"Set either {TABLE}, or {FORMAT} and {PATH}, not both"}
    if not any(parsed.get(key) for key in (FORMAT, PATH, TABLE, SQL)):
        return {FORMAT: f'Missing required configuration "{FORMAT}" (or set {PATH}, {TABLE} or {SQL})'}
    return {}


CONFIG = ConfigDef(
    *grouped(_SOURCE, 0,
        ConfigKey(FORMAT, ConfigType.STRING, "", Importance.HIGH, "Format of the source: parquet, orc, json, csv, "
             "jdbc, rate, or another format that Spark or one of its packages can read; or a Python data source, as "
             "package.module.Class. parquet if only spark.path is set.", is_format),
        ConfigKey(PATH, ConfigType.STRING, "", Importance.HIGH, "Path of the source, for formats that have one, on any "
             "file system that Spark's Hadoop supports."),
        ConfigKey(TABLE, ConfigType.STRING, "", Importance.MEDIUM, "Table of a catalog of Spark, instead of a format "
             "and a path."),
        ConfigKey(SCHEMA, ConfigType.STRING, "", Importance.MEDIUM, "Columns as Spark's DDL, such as id BIGINT, name "
             "STRING, for formats without a schema. By default Spark finds the columns of files when the task starts.",
             is_ddl),
        ConfigKey(SQL, ConfigType.STRING, "", Importance.MEDIUM, "Query whose result is read, over the view record "
             "with the rows of the source, such as SELECT id, upper(name) AS name FROM record. Without a source, a "
             "query over tables of catalogs.", is_query),
        ConfigKey(MODE, ConfigType.STRING, STREAM, Importance.HIGH, "stream follows the source, as Spark's Structured "
             "Streaming does. once reads all rows once. interval reads all rows again and again.",
             validators.one_of(STREAM, ONCE, INTERVAL)),
    ),
    *grouped(_RECORDS, 0,
        TOPIC_KEY,
        ConfigKey(KEY, ConfigType.LIST, "", Importance.MEDIUM, "Columns of the key: the value of one column, or a "
             "struct of several. By default records have no key."),
        ConfigKey(BATCH, ConfigType.INT, 5000, Importance.LOW, "Maximum number of records that the task hands over at "
             "a time.", validators.between(1, 100_000)),
    ),
    *grouped(_BATCHES, 0,
        ConfigKey(CHECKPOINT, ConfigType.STRING, None, Importance.HIGH, "Folder in which Spark keeps the progress of "
             "the stream, and batches until they are committed, on any file system that Spark's Hadoop supports and "
             "all workers reach. Connectors may share it.", validators.non_empty),
        ConfigKey(TRIGGER, ConfigType.STRING, "10 seconds", Importance.HIGH, "Time between the starts of two batches.",
             is_interval),
        ConfigKey(RETRIES, ConfigType.INT, 3, Importance.LOW, "How often reading is tried again after an error of "
             "Spark, until a batch has been read.", validators.at_least(0)),
    ),
    conflicts=source_conflicts,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparkSourceSettings:
    """The typed configuration of the task."""

    format: str
    path: str
    table: str
    schema: str
    sql: str
    mode: str
    topic: str
    key: tuple[str, ...]
    batch_size: int
    checkpoint: str
    trigger: float  # seconds
    retries: int
    options: Mapping[str, str]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> SparkSourceSettings:
        """The settings of a configuration; ConfigError for the first invalid one."""
        parsed = CONFIG.parse(config)
        path, kind = parsed[PATH] or "", parsed[FORMAT] or ""
        return cls(
            kind or (_DEFAULT_FORMAT if path else ""), path, parsed[TABLE] or "", parsed[SCHEMA] or "",
            parsed[SQL] or "", parsed[MODE], parsed["topic"], tuple(parsed[KEY]), parsed[BATCH], parsed[CHECKPOINT],
            interval(parsed[TRIGGER]), parsed[RETRIES], options_of(config),
        )  # fmt: skip

    @property
    def source_name(self) -> str:
        """What is read, as text that names the source partition."""
        if self.table:
            return f"table {self.table}"
        return f"{self.format} {self.path}".strip() if self.format else "query"

    def source(self) -> dict[str, Any]:
        """The part of requests that names the source."""
        return {
            "format": self.format,
            "path": self.path,
            "table": self.table,
            "schema": self.schema,
            "sql": self.sql,
            "mode": self.mode,
            "trigger": self.trigger,
            "checkpoint": self.checkpoint,
            "options": dict(self.options),
        }
