"""The configuration of JdbcSink."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Recommender, Width
from runtime.api.config.types import invalid
from runtime.api.config.validators import at_least, one_of_ignoring_case
from runtime.connectors.jdbc.connection_config import (
    QUOTE,
    TIME_ZONE,
    ConnectionSettings,
    connection_keys,
    key,
    non_blank,
    zone_of,
)
from runtime.connectors.key_conflicts import refuse_conflicts

INSERT_MODE, BATCH_SIZE, DELETE = "insert.mode", "batch.size", "delete.enabled"
TABLE_FORMAT, PK_MODE, PK_FIELDS = "table.name.format", "pk.mode", "pk.fields"
WHITELIST, INCLUDE = "fields.whitelist", "fields.include.list"
CREATE, EVOLVE, DEFAULTS = "auto.create", "auto.evolve", "replace.null.with.default"
DATE_ZONE, RETRIES, RETRY_BACKOFF = "date.timezone", "max.retries", "retry.backoff.ms"
KAFKA_KEYS = ("__connect_topic", "__connect_partition", "__connect_offset")
"""Names of the key columns with pk.mode=kafka, unless pk.fields names others."""
_WRITES, _MAPPING, _TABLES, _RETRIES = "Writes", "Data mapping", "Tables", "Retries"


class InsertMode(StrEnum):
    """The statement that writes rows (`insert.mode`)."""

    INSERT = "insert"
    UPSERT = "upsert"
    UPDATE = "update"


class KeyMode(StrEnum):
    """Where the columns of the primary key come from (`pk.mode`)."""

    NONE = "none"
    KAFKA = "kafka"
    RECORD_KEY = "record_key"
    RECORD_VALUE = "record_value"


@dataclass(frozen=True, slots=True)
class RowSettings:
    """How records become rows."""

    table_format: str
    key_mode: KeyMode
    key_fields: tuple[str, ...]
    fields: frozenset[str]
    delete: bool
    defaults: bool


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """The typed configuration. `retry_backoff` is in seconds."""

    connection: ConnectionSettings
    insert_mode: InsertMode
    rows: RowSettings
    batch_size: int
    create: bool
    evolve: bool
    zone: dt.tzinfo
    date_in_zone: bool
    quote: bool
    retries: int
    retry_backoff: float

    @classmethod
    def of(cls, config: Mapping[str, str], definition: ConfigDef) -> SinkSettings:
        """The settings of a configuration; ConfigError if it is not valid."""
        parsed = definition.parse(config)
        refuse_conflicts(parsed, conflicts)
        rows = RowSettings(
            parsed[TABLE_FORMAT],
            KeyMode(parsed[PK_MODE].lower()),
            tuple(parsed[PK_FIELDS]),
            frozenset(parsed[INCLUDE] or parsed[WHITELIST]),
            parsed[DELETE],
            parsed[DEFAULTS],
        )
        return cls(
            connection=ConnectionSettings.of(parsed),
            insert_mode=InsertMode(parsed[INSERT_MODE].lower()),
            rows=rows,
            batch_size=parsed[BATCH_SIZE],
            create=parsed[CREATE],
            evolve=parsed[EVOLVE],
            zone=zone_of(parsed[TIME_ZONE]),
            date_in_zone=parsed[DATE_ZONE].upper() == "DB_TIMEZONE",
            quote=parsed[QUOTE].upper() == "ALWAYS",
            retries=parsed[RETRIES],
            retry_backoff=parsed[RETRY_BACKOFF] / 1000,
        )


def conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (key_conflicts.Conflicts)."""
    problems: dict[str, str] = {}
    if INSERT_MODE not in parsed or PK_MODE not in parsed:
        return problems
    insert, keys = InsertMode(parsed[INSERT_MODE].lower()), KeyMode(parsed[PK_MODE].lower())
    fields = parsed.get(PK_FIELDS) or []
    if insert is not InsertMode.INSERT and keys is KeyMode.NONE:
        problems[PK_MODE] = f"{INSERT_MODE}={insert} needs a primary key: set {PK_MODE}"
    if parsed.get(DELETE) and keys is not KeyMode.RECORD_KEY:
        problems[DELETE] = f"{DELETE} needs {PK_MODE}=record_key, since a record with a null value has only its key"
    if keys is KeyMode.KAFKA and len(fields) not in (0, 3):
        problems[PK_FIELDS] = f"{PK_FIELDS} needs three names with {PK_MODE}=kafka: for topic, partition and offset"
    if keys is KeyMode.NONE and fields:
        problems[PK_FIELDS] = f"{PK_FIELDS} has no effect with {PK_MODE}=none: set {PK_MODE} or remove it"
    if parsed.get(WHITELIST) and parsed.get(INCLUDE):
        problems[INCLUDE] = f"{INCLUDE} and {WHITELIST} cannot be set together"
    return problems


def _distinct(name: str, value: Any) -> None:
    if value is not None and len(set(value)) < len(value):
        raise invalid(name, value, "names a field twice")


def sink_keys(choices: Recommender) -> tuple[ConfigKey, ...]:
    """All keys of JdbcSink. `choices` lists the values of a key that has a fixed set of them, and tells which keys
    apply."""
    high, medium, low = Importance.HIGH, Importance.MEDIUM, Importance.LOW
    text, names, flag = ConfigType.STRING, ConfigType.LIST, ConfigType.BOOLEAN
    short, long = Width.SHORT, Width.LONG
    return (
        *connection_keys(),
        key(INSERT_MODE, text, "insert", high, "How rows are written: insert adds them, upsert also replaces the "
             "columns of rows with the same primary key, update only does the latter. Records that are delivered "
             "again after a failure are added again by insert; upsert with pk.mode=kafka keeps each of them once.",
             _WRITES, 1, "Insert mode", one_of_ignoring_case(*InsertMode), short, choices, (PK_MODE,)),
        key(DELETE, flag, "false", medium, "Whether a record with a null value deletes the row of its key; needs "
             "pk.mode=record_key. Otherwise such a record is an error.", _WRITES, 2, "Delete rows", None, short,
             choices),
        key(BATCH_SIZE, ConfigType.INT, 10_000, medium, "Maximum number of rows in a statement. All rows that the "
             "worker delivers together are written in one transaction.", _WRITES, 3, "Rows per statement",
             at_least(1), short),
        key(TABLE_FORMAT, text, "${topic}", medium, "The name of a topic's table, with or without its schema; "
             "${topic} is the name of the topic.", _MAPPING, 1, "Table name", non_blank, long),
        key(PK_MODE, text, "none", high, "Source of the primary key: none, kafka (topic, partition and "
             "offset of the record), record_key or record_value.", _MAPPING, 2, "Primary key mode",
             one_of_ignoring_case(*KeyMode), Width.MEDIUM, choices, (PK_FIELDS, DELETE)),
        key(PK_FIELDS, names, "", medium, "Fields of the primary key, or the name of the column for a key that is "
             "not a struct. By default all fields of the struct.", _MAPPING, 3, "Primary key fields", _distinct, long,
             choices),
        key(INCLUDE, names, "", medium, "Fields of the value to write; by default all. Those of the primary key are "
             "always written.", _MAPPING, 4, "Fields", _distinct, long),
        key(WHITELIST, names, "", low, "Another name of fields.include.list.", _MAPPING, 5, "Fields (old name)",
             _distinct, long),
        key(DATE_ZONE, text, "DB_TIMEZONE", low, "Whether dates of timestamps that are written to DATE columns are "
             "those in db.timezone (DB_TIMEZONE) or in UTC (UTC).", _MAPPING, 6, "Time zone of dates",
             one_of_ignoring_case("DB_TIMEZONE", "UTC"), short, choices),
        key(DEFAULTS, flag, "true", medium, "Whether a null is replaced by the default of its field.", _MAPPING, 7,
             "Replace null with default", None, short),
        key(CREATE, flag, "false", medium, "Whether a missing table is created from the schemas of the first "
             "records.", _TABLES, 1, "Create tables", None, short),
        key(EVOLVE, flag, "false", medium, "Whether missing columns are added to a table. New fields must be optional "
             "or have a default.", _TABLES, 2, "Add columns", None, short),
        key(RETRIES, ConfigType.INT, 10, medium, "How often a batch is written again in a row after a failure that "
             "may pass, such as a lost connection or a deadlock.", _RETRIES, 1, "Retries", at_least(0), short),
        key(RETRY_BACKOFF, ConfigType.INT, 3000, medium, "Milliseconds before a batch is written again.", _RETRIES,
             2, "Retry back-off (ms)", at_least(0), short),
    )  # fmt: skip
