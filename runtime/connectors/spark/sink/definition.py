"""The configuration of SparkSink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, grouped
from runtime.connectors.spark.config_keys import (
    FORMAT,
    MODE,
    PATH,
    SCHEMA,
    SQL,
    TABLE,
    TRIGGER,
    interval,
    is_ddl,
    is_interval,
    is_query,
    options_of,
)
from runtime.connectors.spark.staging import Staging

PARTITION_BY, EVOLUTION = "spark.partition.by", "spark.schema.evolution"
RECORDS, RETRIES = "spark.batch.records", "spark.write.retries"
TASK = "spark.task"
"""Added to each task's configuration: its number."""

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro", "text", "xml")
TYPED_FORMATS = ("parquet", "orc", "avro")
"""Formats of files that contain their types."""
_TABLE_STAGING = {"delta": Staging.DELTA, "iceberg": Staging.ICEBERG}
_MERGE_SCHEMA = "mergeSchema"
"""Option with which both add new columns to a table."""

_TARGET, _ROWS, _BATCHES = "Target", "Rows", "Batches"


def target_conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    kind = str(parsed.get(FORMAT) or "").lower()
    if parsed.get(PATH) and parsed.get(TABLE):
        return {TABLE: f"Set either {PATH} or {TABLE}, not both"}
    if kind == Staging.ICEBERG and not parsed.get(TABLE):
        return {TABLE: f'Missing required configuration "{TABLE}": Iceberg tables belong to a catalog'}
    if kind in (*FILE_FORMATS, Staging.DELTA) and not (parsed.get(PATH) or parsed.get(TABLE)):
        return {PATH: f'Missing required configuration "{PATH}": the format {kind} writes files (or set {TABLE})'}
    return {}


CONFIG = ConfigDef(
    *grouped(_TARGET, 0,
        ConfigKey(FORMAT, ConfigType.STRING, "parquet", Importance.HIGH, "Format of the target: parquet, orc, json, "
             "csv, avro, jdbc, delta, iceberg, or another format that Spark or one of its packages has.",
             validators.non_empty),
        ConfigKey(PATH, ConfigType.STRING, "", Importance.HIGH, "Folder for the files, on any file system that Spark's "
             "Hadoop supports."),
        ConfigKey(TABLE, ConfigType.STRING, "", Importance.MEDIUM, "Table of a catalog of Spark, instead of a path."),
        ConfigKey(MODE, ConfigType.STRING, "append", Importance.MEDIUM, "append adds each batch to the target. "
             "overwrite replaces the target by each batch, or only its partitions with the option "
             "partitionOverwriteMode=dynamic.", validators.one_of("append", "overwrite")),
        ConfigKey(PARTITION_BY, ConfigType.LIST, "", Importance.MEDIUM, "Columns whose values name folders, as in "
             "country=DE."),
    ),
    *grouped(_ROWS, 0,
        ConfigKey(SCHEMA, ConfigType.STRING, "", Importance.MEDIUM, "Columns as Spark's DDL, such as id BIGINT, name "
             "STRING. Other fields are dropped. By default the columns are those of the Connect schema or, without "
             "one, of the first records.", is_ddl),
        ConfigKey(EVOLUTION, ConfigType.STRING, "add", Importance.MEDIUM, "What happens with fields that are not "
             "columns yet: add makes them columns, none treats the record as an error, any gives each batch the "
             "columns and types of its own records.", validators.one_of("add", "none", "any")),
        ConfigKey(SQL, ConfigType.STRING, "", Importance.MEDIUM, "Query whose result is written, over the view record "
             "with the rows of a batch, such as SELECT id, upper(name) AS name FROM record WHERE id > 0.", is_query),
    ),
    *grouped(_BATCHES, 0,
        ConfigKey(TRIGGER, ConfigType.STRING, "10 seconds", Importance.HIGH, "Time after the first record of a batch "
             "at which the batch is written.", is_interval),
        ConfigKey(RECORDS, ConfigType.INT, 500_000, Importance.MEDIUM, "Records after which a batch is written before "
             "that time.", validators.at_least(1)),
        ConfigKey("spark.batch.bytes", ConfigType.LONG, 64 * 1024 * 1024, Importance.LOW,
             "Bytes in memory after which a batch is written before that time.", validators.at_least(1)),
        ConfigKey(RETRIES, ConfigType.INT, 3, Importance.LOW, "How often a batch is written or published again after "
             "an error.", validators.at_least(0)),
    ),
    conflicts=target_conflicts,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparkSinkSettings:
    """The typed configuration of a task."""

    format: str
    path: str
    table: str
    mode: str
    partition_by: tuple[str, ...]
    schema: str
    evolution: str
    sql: str
    trigger: float  # seconds
    max_records: int
    max_bytes: int
    retries: int
    options: Mapping[str, str]
    task: int

    @classmethod
    def of(cls, config: Mapping[str, str]) -> SparkSinkSettings:
        """The settings of a configuration; ConfigError for the first invalid one."""
        parsed = CONFIG.parse(config)
        return cls(
            parsed[FORMAT].lower(), parsed[PATH] or "", parsed[TABLE] or "", parsed[MODE], tuple(parsed[PARTITION_BY]),
            parsed[SCHEMA] or "", parsed[EVOLUTION], parsed[SQL] or "", interval(parsed[TRIGGER]), parsed[RECORDS],
            parsed["spark.batch.bytes"], parsed[RETRIES], options_of(config), int(config.get(TASK, 0)),
        )  # fmt: skip

    @property
    def staging(self) -> Staging:
        """How batches are staged before they are published, each record exactly once; NONE: they are not."""
        if self.mode != "append":
            return Staging.NONE
        if self.format in FILE_FORMATS:
            return Staging.NONE if self.table else Staging.FILES
        return _TABLE_STAGING.get(self.format, Staging.NONE)

    @property
    def has_types(self) -> bool:
        """Whether the types of earlier batches can be read from the target."""
        return bool(self.table) or self.format in TYPED_FORMATS or self.format in _TABLE_STAGING

    def target(self) -> dict[str, Any]:
        """The part of requests that names the target."""
        return {
            "format": self.format,
            "path": self.path,
            "table": self.table,
            "mode": self.mode,
            "partition_by": list(self.partition_by),
            "options": self._options(),
            "sql": self.sql,
        }

    def _options(self) -> dict[str, str]:
        options = dict(self.options)
        given = {key.lower() for key in options}
        if self.format in _TABLE_STAGING and self.evolution != "none" and _MERGE_SCHEMA.lower() not in given:
            options[_MERGE_SCHEMA] = "true"
        return options
