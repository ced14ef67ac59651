"""The configuration of PostgresCdcSource, with Debezium's names and choices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.config.types import invalid
from runtime.api.config.validators import Validator, at_least, between, non_empty, one_of, optional
from runtime.connectors import unchanged
from runtime.connectors.config_keys import regular_expressions
from runtime.connectors.postgres.connection import CERTIFICATE, HOST, KEY, ROOT_CERTIFICATE, Server
from runtime.connectors.postgres.modes import (
    Autocreate,
    Binary,
    Decimals,
    HStores,
    Intervals,
    SnapshotMode,
    TimePrecision,
)

PORT, USER, PASSWORD = "database.port", "database.user", "database.password"
DATABASE, TLS_MODE = "database.dbname", "database.sslmode"
PREFIX, SLOT, DROP_SLOT = "topic.prefix", "slot.name", "slot.drop.on.stop"
SLOT_RETRIES, SLOT_DELAY = "slot.max.retries", "slot.retry.delay.ms"
PUBLICATION, AUTOCREATE = "publication.name", "publication.autocreate.mode"
SCHEMAS, EXCLUDED_SCHEMAS = "schema.include.list", "schema.exclude.list"
TABLES, EXCLUDED_TABLES = "table.include.list", "table.exclude.list"
COLUMNS, EXCLUDED_COLUMNS = "column.include.list", "column.exclude.list"
SNAPSHOT = "snapshot.mode"
DECIMALS, TIMES, BINARY = "decimal.handling.mode", "time.precision.mode", "binary.handling.mode"
INTERVALS, HSTORES, MONEY = "interval.handling.mode", "hstore.handling.mode", "money.fraction.digits"
UNKNOWN, PLACEHOLDER = "include.unknown.datatypes", "unavailable.value.placeholder"
TOMBSTONES, SKIPPED, TRANSACTIONS = "tombstones.on.delete", "skipped.operations", "provide.transaction.metadata"
HEARTBEAT, HEARTBEAT_QUERY = "heartbeat.interval.ms", "heartbeat.action.query"
HEARTBEAT_PREFIX = "topic.heartbeat.prefix"
BATCH, STATUS_INTERVAL = "max.batch.size", "status.update.interval.ms"
RETRIES, RETRY_DELAY = "errors.max.retries", "retriable.restart.connector.wait.ms"
_TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_OPERATIONS = frozenset("cudt")
_SLOT_NAME = re.compile(r"[a-z0-9_]{1,63}\Z")
_PREFIX = re.compile(r"[\w.-]+\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Filters:
    """Regular expressions for complete names; empty ones match everything (include) or nothing (exclude)."""

    schemas: tuple[str, ...] = ()
    excluded_schemas: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    excluded_tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    excluded_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueModes:
    """How values are written."""

    decimals: Decimals = Decimals.PRECISE
    times: TimePrecision = TimePrecision.ADAPTIVE
    binary: Binary = Binary.BYTES
    intervals: Intervals = Intervals.NUMERIC
    hstores: HStores = HStores.JSON
    money_digits: int = 2
    unknown_types: bool = False
    placeholder: str = unchanged.DEFAULT


@dataclass(frozen=True, slots=True)
class CdcSettings:
    """The typed configuration. Times are in seconds, 0 for no heartbeats; `retries` is negative for no limit."""

    server: Server
    prefix: str
    slot: str
    drop_slot: bool
    slot_retries: int
    slot_delay: float
    publication: str
    autocreate: Autocreate
    filters: Filters
    snapshot: SnapshotMode
    values: ValueModes
    tombstones: bool
    skipped: frozenset[str]
    transactions: bool
    heartbeat: float
    heartbeat_query: str
    heartbeat_topic: str
    batch: int
    status_interval: float
    retries: int
    retry_delay: float

    @classmethod
    def of(cls, config: Mapping[str, str], definition: ConfigDef) -> CdcSettings:
        """The settings of a configuration; ConfigError if it is not valid."""
        return cls.of_parsed(definition.parse(config))

    @classmethod
    def of_parsed(cls, parsed: Mapping[str, Any]) -> CdcSettings:
        """The settings of valid values."""
        name = default_name(parsed[PREFIX])
        skipped = {text.strip().lower() for text in parsed[SKIPPED]} - {"none"}
        return cls(
            server=server_of(parsed),
            prefix=parsed[PREFIX],
            slot=parsed[SLOT] or name,
            drop_slot=parsed[DROP_SLOT],
            slot_retries=parsed[SLOT_RETRIES],
            slot_delay=parsed[SLOT_DELAY] / 1000,
            publication=parsed[PUBLICATION] or name,
            autocreate=Autocreate(parsed[AUTOCREATE]),
            filters=Filters(*(tuple(parsed[key] or ()) for key in _FILTERS)),
            snapshot=SnapshotMode(parsed[SNAPSHOT]),
            values=ValueModes(
                Decimals(parsed[DECIMALS]),
                TimePrecision(parsed[TIMES]),
                Binary(parsed[BINARY]),
                Intervals(parsed[INTERVALS]),
                HStores(parsed[HSTORES]),
                parsed[MONEY],
                parsed[UNKNOWN],
                parsed[PLACEHOLDER],
            ),
            tombstones=parsed[TOMBSTONES],
            skipped=frozenset(skipped),
            transactions=parsed[TRANSACTIONS],
            heartbeat=parsed[HEARTBEAT] / 1000,
            heartbeat_query=parsed[HEARTBEAT_QUERY] or "",
            heartbeat_topic=f"{parsed[HEARTBEAT_PREFIX]}.{parsed[PREFIX]}",
            batch=parsed[BATCH],
            status_interval=parsed[STATUS_INTERVAL] / 1000,
            retries=parsed[RETRIES],
            retry_delay=parsed[RETRY_DELAY] / 1000,
        )


_FILTERS = (SCHEMAS, EXCLUDED_SCHEMAS, TABLES, EXCLUDED_TABLES, COLUMNS, EXCLUDED_COLUMNS)


def default_name(prefix: str) -> str:
    """The name of a slot and publication that have none of their own."""
    return ("headrace_" + re.sub(r"[^a-z0-9_]", "_", prefix.lower()))[:63]


def server_of(parsed: Mapping[str, Any]) -> Server:
    """The server of valid values."""
    files = {ROOT_CERTIFICATE: "sslrootcert", CERTIFICATE: "sslcert", KEY: "sslkey"}
    tls = {"sslmode": parsed[TLS_MODE], **{name: parsed[key] for key, name in files.items() if parsed[key]}}
    return Server(parsed[HOST], parsed[PORT], parsed[USER], parsed[PASSWORD], parsed[DATABASE], tls)


def conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    pairs = ((SCHEMAS, EXCLUDED_SCHEMAS), (TABLES, EXCLUDED_TABLES), (COLUMNS, EXCLUDED_COLUMNS))
    return {
        excluded: f"{included} and {excluded} cannot be set together"
        for included, excluded in pairs
        if parsed.get(included) and parsed.get(excluded)
    }


def _slot_name(name: str, value: Any) -> None:
    if value and not _SLOT_NAME.match(value):
        raise invalid(name, value, "use at most 63 lower-case letters, digits and underscores")


def _prefix(name: str, value: Any) -> None:
    if value is not None and not _PREFIX.match(value):
        raise invalid(name, value, "use letters, digits, dots, hyphens and underscores")


def _operations(name: str, value: Any) -> None:
    texts = {text.strip().lower() for text in value or ()}
    if not texts <= _OPERATIONS | {"none"} or ("none" in texts and len(texts) > 1):
        raise invalid(name, value, "use c (insert), u (update), d (delete) and t (truncate), or none")


def _no_control_characters(name: str, value: Any) -> None:
    if value is not None and any(ord(char) < 32 for char in value):
        raise invalid(name, value, "must not have control characters")


def _text_key(name: str, default: Any, importance: Importance, doc: str, title: str, check: Validator | None = None,
              width: Width = Width.MEDIUM) -> ConfigKey:  # fmt: skip
    return ConfigKey(name, ConfigType.STRING, default, importance, doc, check, width=width, display_name=title)


def _choice(name: str, default: str, doc: str, title: str, values: Any) -> ConfigKey:
    return ConfigKey(name, ConfigType.STRING, default, Importance.MEDIUM, doc, one_of(*values), width=Width.MEDIUM,
                     display_name=title, recommender=Choices(tuple(map(str, values))))  # fmt: skip


def _number(name: str, default: int, doc: str, title: str, check: Validator) -> ConfigKey:
    return ConfigKey(name, ConfigType.INT, default, Importance.LOW, doc, check, width=Width.SHORT, display_name=title)


def _patterns(name: str, doc: str, title: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.LIST, "", Importance.MEDIUM, doc, regular_expressions, width=Width.LONG,
                     display_name=title)  # fmt: skip


def _switch(name: str, default: bool, doc: str, title: str) -> ConfigKey:
    return ConfigKey(name, ConfigType.BOOLEAN, default, Importance.LOW, doc, width=Width.SHORT, display_name=title)


@dataclass(frozen=True, slots=True)
class Choices:
    """Recommends the values of a key that has a fixed set of them."""

    values: tuple[str, ...]

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self.values)

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True


_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_REQUIRED = ConfigKey("", ConfigType.STRING).default

CONFIG_DEF = ConfigDef(
    *grouped("Database", 1,
        _text_key(HOST, _REQUIRED, _HIGH, "Host of the PostgreSQL server.", "Host", non_empty),
        ConfigKey(PORT, ConfigType.INT, 5432, _HIGH, "Port of the server.", between(1, 65535), width=Width.SHORT,
             display_name="Port"),
        _text_key(USER, _REQUIRED, _HIGH, "User name, with the attribute REPLICATION and SELECT on the tables.",
             "User", non_empty),
        ConfigKey(PASSWORD, ConfigType.PASSWORD, None, _HIGH, "Password of the user.", width=Width.MEDIUM,
             display_name="Password"),
        _text_key(DATABASE, _REQUIRED, _HIGH, "Database whose changes are read.", "Database", non_empty),
        ConfigKey(TLS_MODE, ConfigType.STRING, "prefer", _MEDIUM, "Whether the connection is encrypted, and what is "
             "verified: disable, allow, prefer, require, verify-ca or verify-full.", one_of(*_TLS_MODES),
             width=Width.SHORT, display_name="TLS mode", recommender=Choices(_TLS_MODES)),
        _text_key(ROOT_CERTIFICATE, None, _LOW, "File with the certificates of trusted authorities.",
             "Trusted certificates", width=Width.LONG),
        _text_key(CERTIFICATE, None, _LOW, "File with the client's certificate.", "Client certificate",
             width=Width.LONG),
        _text_key(KEY, None, _LOW, "File with the client's key.", "Client key", width=Width.LONG),
    ),
    *grouped("Replication", 1,
        _text_key(SLOT, None, _HIGH, "Replication slot, which keeps the changes that have not been read yet. Created "
             "if it is missing. By default headrace_ and topic.prefix.", "Slot", _slot_name),
        _switch(DROP_SLOT, False, "Whether the slot is dropped when the connector is stopped, so that changes until "
             "the next start are lost. For tests.", "Drop slot"),
        _number(SLOT_RETRIES, 30, "Attempts to read a slot that another connection uses, before the task fails.",
             "Slot attempts", at_least(0)),
        _number(SLOT_DELAY, 2_000, "Milliseconds between two attempts to read the slot.", "Slot delay (ms)",
             at_least(0)),
        _text_key(PUBLICATION, None, _HIGH, "Publication, which selects the tables. By default headrace_ and "
             "topic.prefix.", "Publication", _no_control_characters),
        _choice(AUTOCREATE, "filtered", "What a publication has that is missing: all_tables, which only a superuser "
             "may create; filtered, the tables that the options select; disabled, it is not created.",
             "Create publication", tuple(Autocreate)),
        _number(STATUS_INTERVAL, 10_000, "Milliseconds between two reports to the server of the position up to which "
             "offsets are committed.", "Report interval (ms)", at_least(100)),
        _number(RETRIES, -1, "Consecutive attempts to connect again after the connection was lost, before the task "
             "fails; -1 for no limit.", "Reconnect attempts", at_least(-1)),
        _number(RETRY_DELAY, 3_000, "Milliseconds between two attempts to connect again.", "Reconnect delay (ms)",
             at_least(0)),
    ),
    *grouped("Tables", 1,
        _patterns(SCHEMAS, "Regular expressions for the names of the schemas to read; a name must match completely.",
             "Schemas"),
        _patterns(EXCLUDED_SCHEMAS, "Regular expressions for the names of schemas not to read.", "Excluded schemas"),
        _patterns(TABLES, "Regular expressions for the names of the tables to read, with their schema, such as "
             "public.orders.", "Tables"),
        _patterns(EXCLUDED_TABLES, "Regular expressions for the names of tables not to read, with their schema.",
             "Excluded tables"),
        _patterns(COLUMNS, "Regular expressions for the columns to read, with schema and table, such as "
             "public.orders.id. Columns of the key are always read.", "Columns"),
        _patterns(EXCLUDED_COLUMNS, "Regular expressions for columns not to read, with schema and table.",
             "Excluded columns"),
        _choice(SNAPSHOT, "initial", "When the tables are read completely: initial, at the first start; always, at "
             "each start; initial_only, at the first start, without the changes after it; no_data or never.",
             "Snapshot", tuple(SnapshotMode)),
    ),
    *grouped("Records", 1,
        _text_key(PREFIX, _REQUIRED, _HIGH, "Start of the topic names, which are followed by schema and table.",
             "Topic prefix", _prefix),
        _choice(DECIMALS, "precise", "How numeric and money are written: precise, as Connect's Decimal; double; or "
             "string.", "Decimals", tuple(Decimals)),
        _choice(TIMES, "adaptive", "How dates and times are written: adaptive, in the unit of their precision; "
             "adaptive_time_microseconds, times of day always in microseconds; connect, in Connect's types with "
             "milliseconds.", "Times", tuple(TimePrecision)),
        _choice(BINARY, "bytes", "How bytea is written: bytes, base64, base64-url-safe or hex.", "Bytes",
             tuple(Binary)),
        _choice(INTERVALS, "numeric", "How intervals are written: numeric, in microseconds; or string, in ISO 8601.",
             "Intervals", tuple(Intervals)),
        _choice(HSTORES, "json", "How hstore is written: json or map.", "hstore", tuple(HStores)),
        _number(MONEY, 2, "Digits of money after the decimal point.", "Digits of money", between(0, 18)),
        _switch(UNKNOWN, False, "Whether columns of unknown types are written, as bytes of their texts.",
             "Unknown types"),
        _text_key(PLACEHOLDER, unchanged.DEFAULT, _LOW, "Text in place of a large value that an update "
             "has not changed, which PostgreSQL does not send.", "Placeholder", _no_control_characters),
        _switch(TOMBSTONES, True, "Whether a record without value follows each delete, for compacted topics.",
             "Tombstones"),
        ConfigKey(SKIPPED, ConfigType.LIST, "t", _LOW, "Operations that are not written: c (insert), u (update), d "
             "(delete), t (truncate), or none.", _operations, width=Width.SHORT, display_name="Skipped operations"),
        _switch(TRANSACTIONS, False, "Whether records have the fields of transaction, and start and end of each "
             "transaction are written to the topic <topic.prefix>.transaction.", "Transactions"),
        _number(HEARTBEAT, 0, "Milliseconds between two records of the heartbeat topic; 0 for none.",
             "Heartbeat (ms)", at_least(0)),
        _text_key(HEARTBEAT_QUERY, None, _LOW, "Statement that is executed with each heartbeat; "
                  "its errors are warnings.", "Heartbeat query",
             width=Width.LONG),
        _text_key(HEARTBEAT_PREFIX, "__debezium-heartbeat", _LOW, "Start of the heartbeat topic's name, followed by "
             "topic.prefix.", "Heartbeat topic", optional(non_empty)),
        _number(BATCH, 2_048, "Records of a poll.", "Batch size", at_least(1)),
    ),
    conflicts=conflicts,
)  # fmt: skip
"""All keys of PostgresCdcSource."""
