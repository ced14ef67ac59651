"""The configuration of SparkSink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, grouped
from runtime.connectors import unchanged
from runtime.connectors.config_keys import interval, is_interval
from runtime.connectors.spark.config_keys import (
    FORMAT,
    MODE,
    PATH,
    SCHEMA,
    SQL,
    TABLE,
    TRIGGER,
    is_ddl,
    is_empty_or_interval,
    is_format,
    is_query,
    options_of,
)
from runtime.connectors.spark.local_paths import local_path
from runtime.connectors.spark.staging import Staging
from runtime.connectors.unchanged import Placeholder

PARTITION_BY, EVOLUTION = "spark.partition.by", "spark.schema.evolution"
KEYS, SEQUENCE, ENVELOPE, DELETE_MODE, PLACEHOLDER = (
    "spark.key.columns", "spark.sequence.column", "spark.envelope", "spark.delete.mode",
    "spark.unavailable.value.placeholder",
)  # fmt: skip
RECORDS, RETRIES = "spark.batch.records", "spark.write.retries"
COMPACT, EXPIRE = "spark.compact.interval", "spark.expire.after"
UPSERT = "upsert"
TASK = "spark.task"
"""Added to each task's configuration: its number."""

FILE_FORMATS = ("parquet", "orc", "json", "csv", "avro", "text", "xml")
TYPED_FORMATS = ("parquet", "orc", "avro")
"""Formats of files that contain their types."""
_TABLE_STAGING = {"delta": Staging.DELTA, "iceberg": Staging.ICEBERG}
_MERGE_SCHEMA = "mergeSchema"
"""Option with which both add new columns to a table."""

_TARGET, _ROWS, _CHANGES, _BATCHES, _MAINTENANCE = "Target", "Rows", "Changes", "Batches", "Maintenance"


class Evolution(StrEnum):
    """What happens with fields that are not columns yet, and with other types."""

    ADD = "add"  # new fields become columns; types of columns do not change
    EVOLVE = "evolve"  # also, numbers that do not fit widen the type of their column
    FREEZE = "freeze"  # records with other fields are errors
    DISCARD = "discard"  # other fields are dropped
    ANY = "any"  # each batch has the columns of its own records


class Envelope(StrEnum):
    """What the values of changes are."""

    NONE = "none"  # rows
    DEBEZIUM = "debezium"  # events with op, before and after


def _is_format(name: str, value: Any) -> None:
    validators.non_empty(name, value)
    is_format(name, value)


def target_conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    kind = str(parsed.get(FORMAT) or "").lower()
    if parsed.get(PATH) and parsed.get(TABLE):
        return {TABLE: f"Set either {PATH} or {TABLE}, not both"}
    if kind == Staging.ICEBERG and not parsed.get(TABLE):
        return {TABLE: f'Missing required configuration "{TABLE}": Iceberg tables belong to a catalog'}
    if kind in (*FILE_FORMATS, Staging.DELTA) and not (parsed.get(PATH) or parsed.get(TABLE)):
        return {PATH: f'Missing required configuration "{PATH}": the format {kind} writes files (or set {TABLE})'}
    return _merge_conflicts(parsed, kind) or _maintenance_conflicts(parsed, kind)


def _maintenance_conflicts(parsed: Mapping[str, Any], kind: str) -> dict[str, str]:
    if parsed.get(COMPACT) and kind not in _TABLE_STAGING:
        return {COMPACT: f"Needs {FORMAT}=delta or {FORMAT}=iceberg"}
    if parsed.get(EXPIRE) and not parsed.get(COMPACT):
        return {EXPIRE: f"Needs {COMPACT}"}
    return {}


def _merge_conflicts(parsed: Mapping[str, Any], kind: str) -> dict[str, str]:
    upsert = parsed.get(MODE) == UPSERT
    if upsert and kind not in _TABLE_STAGING:
        return {MODE: f"{UPSERT} needs {FORMAT}=delta or {FORMAT}=iceberg"}
    if upsert and parsed.get(SQL):
        return {SQL: f"Not with {MODE}={UPSERT}: use the transformation headrace.SparkSql"}
    if upsert and parsed.get(EVOLUTION) == Evolution.ANY:
        return {EVOLUTION: f"any is for files, not for {MODE}={UPSERT}"}
    if upsert:
        return {}
    alone = [key for key in (KEYS, SEQUENCE) if parsed.get(key)]
    alone += [ENVELOPE] if parsed.get(ENVELOPE) == Envelope.DEBEZIUM else []
    return dict.fromkeys(alone, f"Needs {MODE}={UPSERT}")


CONFIG = ConfigDef(
    *grouped(_TARGET, 0,
        ConfigKey(FORMAT, ConfigType.STRING, "parquet", Importance.HIGH, "Format of the target: parquet, orc, json, "
             "csv, avro, jdbc, delta, iceberg, or another format that Spark or one of its packages has; or a Python "
             "data source, as package.module.Class.", _is_format),
        ConfigKey(PATH, ConfigType.STRING, "", Importance.HIGH, "Folder for the files, on any file system that Spark's "
             "Hadoop supports."),
        ConfigKey(TABLE, ConfigType.STRING, "", Importance.MEDIUM, "Table of a catalog of Spark, instead of a path."),
        ConfigKey(MODE, ConfigType.STRING, "append", Importance.MEDIUM, "append adds each batch to the target. "
             "upsert merges changes into a Delta or Iceberg table by key: see the keys of the group Changes. "
             "overwrite replaces the target by each batch, or only its partitions with the option "
             "partitionOverwriteMode=dynamic.", validators.one_of("append", UPSERT, "overwrite")),
        ConfigKey(PARTITION_BY, ConfigType.LIST, "", Importance.MEDIUM, "Columns whose values name folders, as in "
             "country=DE."),
    ),
    *grouped(_ROWS, 0,
        ConfigKey(SCHEMA, ConfigType.STRING, "", Importance.MEDIUM, "Columns as Spark's DDL, such as id BIGINT, name "
             "STRING. Other fields are dropped. By default the columns are those of the Connect schema or, without "
             "one, of the first records.", is_ddl),
        ConfigKey(EVOLUTION, ConfigType.STRING, "add", Importance.MEDIUM, "What happens with fields that are not "
             "columns yet: add makes them columns, evolve also widens the types of columns for numbers that do not "
             "fit, freeze treats the record as an error, discard drops the fields, any gives each batch the columns "
             "and types of its own records.", validators.one_of(*Evolution)),
        ConfigKey(SQL, ConfigType.STRING, "", Importance.MEDIUM, "Query whose result is written, over the view record "
             "with the rows of a batch, such as SELECT id, upper(name) AS name FROM record WHERE id > 0.", is_query),
    ),
    *grouped(_CHANGES, 0,
        ConfigKey(KEYS, ConfigType.LIST, "", Importance.MEDIUM, "With spark.mode=upsert: columns that identify a row. "
             "They are taken from the value, or from the record's key if the value does not have them. By default the "
             "fields of the record's key."),
        ConfigKey(ENVELOPE, ConfigType.STRING, "none", Importance.MEDIUM, "With spark.mode=upsert: none if values are "
             "rows, debezium if they are change events of Debezium with op, before and after.",
             validators.one_of(*Envelope)),
        ConfigKey(SEQUENCE, ConfigType.STRING, "", Importance.MEDIUM, "With spark.mode=upsert: field that orders the "
             "changes of a row, such as updated_at or source.lsn. A change with a smaller value than that of the row "
             "is ignored. By default changes are applied in the order of their offsets."),
        ConfigKey(DELETE_MODE, ConfigType.STRING, "hard", Importance.MEDIUM, "With spark.mode=upsert: hard removes "
             "deleted rows, soft keeps them with true in the column __deleted.", validators.one_of("hard", "soft")),
        ConfigKey(PLACEHOLDER, ConfigType.STRING, unchanged.DEFAULT, Importance.LOW, "With spark.mode=upsert: "
             "the text in place of a large value that an update did not change and the database did not send: the row "
             "keeps its value. The same as unavailable.value.placeholder of the source; empty: none."),
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
    *grouped(_MAINTENANCE, 0,
        ConfigKey(COMPACT, ConfigType.STRING, "", Importance.LOW, "Time between two compactions of a Delta or Iceberg "
             "table, such as 1 hour: small files are merged into larger ones. By default never.", is_empty_or_interval),
        ConfigKey(EXPIRE, ConfigType.STRING, "", Importance.LOW, "Age from which old versions of the table are removed "
             "after a compaction, such as 7 days. By default never.", is_empty_or_interval),
    ),
    conflicts=target_conflicts,
)  # fmt: skip


def _seconds(text: str) -> float | None:
    return interval(text) if text else None


@dataclass(frozen=True, slots=True)
class MergeSettings:
    """How records are merged into a table. `keys`: the key columns; empty: the fields of the record's key. `sequence`:
    the path of the field that orders changes, or empty. `placeholder`: what stands for unchanged values."""

    keys: tuple[str, ...]
    envelope: Envelope
    sequence: str
    soft: bool
    placeholder: Placeholder | None

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> MergeSettings | None:
        """The settings of a parsed configuration; None if rows are not merged."""
        if parsed[MODE] != UPSERT:
            return None
        soft = parsed[DELETE_MODE] == "soft"
        placeholder = Placeholder(parsed[PLACEHOLDER]) if parsed[PLACEHOLDER] else None
        return cls(tuple(parsed[KEYS]), Envelope(parsed[ENVELOPE]), parsed[SEQUENCE] or "", soft, placeholder)


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
    merge: MergeSettings | None
    compact_interval: float | None  # seconds
    expire_after: float | None  # seconds

    @classmethod
    def of(cls, config: Mapping[str, str]) -> SparkSinkSettings:
        """The settings of a configuration; ConfigError for the first invalid one."""
        parsed = CONFIG.parse(config)
        return cls(
            parsed[FORMAT].lower(), parsed[PATH] or "", parsed[TABLE] or "", parsed[MODE], tuple(parsed[PARTITION_BY]),
            parsed[SCHEMA] or "", parsed[EVOLUTION], parsed[SQL] or "", interval(parsed[TRIGGER]), parsed[RECORDS],
            parsed["spark.batch.bytes"], parsed[RETRIES], options_of(config), int(config.get(TASK, 0)),
            MergeSettings.of(parsed), _seconds(parsed[COMPACT]), _seconds(parsed[EXPIRE]),
        )  # fmt: skip

    @property
    def staging(self) -> Staging:
        """How batches are staged before they are published, each record exactly once; NONE: they are not."""
        if self.mode not in ("append", UPSERT):
            return Staging.NONE
        if self.format in FILE_FORMATS:
            return Staging.NONE if self.table else Staging.FILES
        return _TABLE_STAGING.get(self.format, Staging.NONE)

    @property
    def named_folders(self) -> Sequence[str]:
        """The columns of records whose values name folders of limited length: on disks and in HDFS."""
        is_limited = local_path(self.path) is not None or self.path.lower().startswith("hdfs:")
        return self.partition_by if self.staging is Staging.FILES and is_limited and not self.sql else ()

    @property
    def has_types(self) -> bool:
        """Whether the types of earlier batches can be read from the target."""
        return bool(self.table) or self.format in TYPED_FORMATS or self.format in _TABLE_STAGING

    def target(self, keys: Sequence[str] = ()) -> dict[str, Any]:
        """The part of requests that names the target. `keys`: the key columns of a batch of changes."""
        merge = self.merge
        return {
            "format": self.format,
            "path": self.path,
            "table": self.table,
            "mode": self.mode,
            "partition_by": list(self.partition_by),
            "options": self._options(),
            "sql": self.sql,
            "widen": self.evolution == Evolution.EVOLVE,
            "merge": merge and {"keys": list(keys), "sequence": bool(merge.sequence), "soft": merge.soft},
        }

    def _options(self) -> dict[str, str]:
        options = dict(self.options)
        given = {key.lower() for key in options}
        if (
            self.format in _TABLE_STAGING
            and self.evolution in (Evolution.ADD, Evolution.EVOLVE, Evolution.ANY)
            and _MERGE_SCHEMA.lower() not in given
        ):
            options[_MERGE_SCHEMA] = "true"
        return options
