"""The configuration of SparkSink."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance
from runtime.api.config.types import invalid
from runtime.api.errors import ConfigError

FORMAT, PATH, TABLE, MODE = "spark.format", "spark.path", "spark.table", "spark.mode"
PARTITION_BY, TRIGGER, SCHEMA = "spark.partition.by", "spark.trigger", "spark.schema"
EVOLUTION, SQL, OPTION = "spark.schema.evolution", "spark.sql", "spark.option."
RECORDS, RETRIES = "spark.batch.records", "spark.write.retries"
TASK = "spark.task"
"""Added to each task's configuration: its number."""

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro", "text", "xml")
TYPED_FORMATS = ("parquet", "orc", "avro")
"""Formats of files that contain their types."""

_TARGET, _ROWS, _BATCHES = "Target", "Rows", "Batches"
_INTERVAL = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|seconds?|m|minutes?|h|hours?)\s*", re.IGNORECASE)
_QUERY = re.compile(
    r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*+(?:SELECT|WITH|FROM|TABLE|VALUES)\b", re.IGNORECASE | re.DOTALL
)
"""The start of a query, behind comments and parentheses."""
_SECONDS = {"m": 60.0, "h": 3600.0, "s": 1.0}


def interval(text: str) -> float:
    """Seconds of a text such as `10 seconds`, as in Spark's triggers. ValueError if it is not understood."""
    found = _INTERVAL.fullmatch(text)
    if found is None:
        raise ValueError("Must be a number with a unit, such as 500 ms, 10 seconds or 1 minute")
    unit = found[2].lower()
    return float(found[1]) * (0.001 if unit.startswith(("ms", "milli")) else _SECONDS[unit[0]])


def _trigger(name: str, value: Any) -> None:
    try:
        interval(str(value))
    except ValueError as error:
        raise invalid(name, value, str(error)) from None


def _ddl(name: str, value: Any) -> None:
    if value:
        from runtime.connectors.data_source.ddl import parse_ddl

        try:
            parse_ddl(value)
        except ConfigError as error:
            raise invalid(name, value, str(error)) from None


def _query(name: str, value: Any) -> None:
    """Checks the first word. Spark is not here: its parser has the whole text when a task starts."""
    if value and str(value).strip() and _QUERY.match(str(value)) is None:
        raise invalid(name, value, "Must be a query, such as SELECT id FROM record: other statements are refused")


def _key(name: str, kind: ConfigType, default: Any, doc: str, group: str, order: int, **more: Any) -> ConfigKey:
    importance = more.pop("importance", Importance.MEDIUM)
    return ConfigKey(name, kind, default, importance, doc, group=group, order_in_group=order, **more)


CONFIG = ConfigDef(
    _key(FORMAT, ConfigType.STRING, "parquet", "Format of the target: parquet, orc, json, csv, jdbc, or another format "
         "that Spark or one of its packages has.", _TARGET, 0, importance=Importance.HIGH,
         validator=validators.non_empty),
    _key(PATH, ConfigType.STRING, "", "Folder for the files, on any file system that Spark's Hadoop supports.",
         _TARGET, 1, importance=Importance.HIGH),
    _key(TABLE, ConfigType.STRING, "", "Table of a catalog of Spark, instead of a path.", _TARGET, 2),
    _key(MODE, ConfigType.STRING, "append", "append adds each batch to the target. overwrite replaces the target by "
         "each batch, or only its partitions with the option partitionOverwriteMode=dynamic.", _TARGET, 3,
         validator=validators.one_of("append", "overwrite")),
    _key(PARTITION_BY, ConfigType.LIST, "", "Columns whose values name folders, as in country=DE.", _TARGET, 4),
    _key(SCHEMA, ConfigType.STRING, "", "Columns as Spark's DDL, such as id BIGINT, name STRING. Other fields are "
         "dropped. By default the columns are those of the Connect schema or, without one, of the first records.",
         _ROWS, 0, validator=_ddl),
    _key(EVOLUTION, ConfigType.STRING, "add", "What happens with fields that are not columns yet: add makes them "
         "columns, none treats the record as an error, any gives each batch the columns and types of its own records.",
         _ROWS, 1, validator=validators.one_of("add", "none", "any")),
    _key(SQL, ConfigType.STRING, "", "Query whose result is written, over the view record with the rows of a batch, "
         "such as SELECT id, upper(name) AS name FROM record WHERE id > 0.", _ROWS, 2,
         validator=_query),
    _key(TRIGGER, ConfigType.STRING, "10 seconds", "Time after the first record of a batch at which the batch is "
         "written.", _BATCHES, 0, importance=Importance.HIGH, validator=_trigger),
    _key(RECORDS, ConfigType.INT, 500_000, "Records after which a batch is written before that time.", _BATCHES, 1,
         validator=validators.at_least(1)),
    _key("spark.batch.bytes", ConfigType.LONG, 64 * 1024 * 1024, "Bytes in memory after which a batch is written "
         "before that time.", _BATCHES, 2, importance=Importance.LOW, validator=validators.at_least(1)),
    _key(RETRIES, ConfigType.INT, 3, "How often a batch is written again after an error.", _BATCHES, 3,
         importance=Importance.LOW, validator=validators.at_least(0)),
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
        for _, message in target_problems(parsed):
            raise ConfigError(message)
        options = {key.removeprefix(OPTION): value for key, value in config.items() if key.startswith(OPTION)}
        return cls(
            parsed[FORMAT].lower(), parsed[PATH] or "", parsed[TABLE] or "", parsed[MODE], tuple(parsed[PARTITION_BY]),
            parsed[SCHEMA] or "", parsed[EVOLUTION], parsed[SQL] or "", interval(parsed[TRIGGER]), parsed[RECORDS],
            parsed["spark.batch.bytes"], parsed[RETRIES], options, int(config.get(TASK, 0)),
        )  # fmt: skip

    @property
    def staged(self) -> bool:
        """Whether batches are files that are staged and then published, each record exactly once."""
        return self.format in FILE_FORMATS and self.mode == "append" and not self.table

    @property
    def has_types(self) -> bool:
        """Whether the types of earlier batches can be read from the target."""
        return bool(self.table) or self.format in TYPED_FORMATS

    def target(self) -> dict[str, Any]:
        """The part of requests that names the target."""
        return {
            "format": self.format,
            "path": self.path,
            "table": self.table,
            "mode": self.mode,
            "partition_by": list(self.partition_by),
            "options": dict(self.options),
            "sql": self.sql,
        }


def target_problems(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The keys that do not fit each other, with their errors."""
    kind = str(found.get(FORMAT) or "").lower()
    if found.get(PATH) and found.get(TABLE):
        return [(TABLE, f"Set either {PATH} or {TABLE}, not both")]
    if kind in FILE_FORMATS and not (found.get(PATH) or found.get(TABLE)):
        return [(PATH, f'Missing required configuration "{PATH}": the format {kind} writes files (or set {TABLE})')]
    return []


def check_target(values: list[ConfigValue]) -> list[ConfigValue]:
    """Adds the errors of keys that do not fit each other."""
    by_name = {value.name: value for value in values}
    for name, message in target_problems({name: v.value for name, v in by_name.items() if not v.errors}):
        by_name[name].errors.append(message)
    return values
