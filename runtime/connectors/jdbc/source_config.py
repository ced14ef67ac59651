"""The configuration of JdbcSource."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Recommender, Width, grouped
from runtime.api.config.types import invalid
from runtime.api.config.validators import at_least, one_of
from runtime.api.errors import ConfigError
from runtime.connectors.config_keys import regular_expressions
from runtime.connectors.jdbc.connection_config import (
    QUOTE,
    TIME_ZONE,
    ConnectionSettings,
    connection_keys,
    zone_of,
)
from runtime.connectors.jdbc.modes import Granularity, Mode, NumericMapping, ZeroDates
from runtime.connectors.jdbc.tables import TableFilter, parse_table

MODE, INCREMENTING, TIMESTAMPS = "mode", "incrementing.column.name", "timestamp.column.name"
DELAY, INITIAL, NON_NULL = "timestamp.delay.interval.ms", "timestamp.initial", "validate.non.null"
MAX_WAIT = "transaction.max.wait.ms"
INCLUDE, EXCLUDE = "table.include.list", "table.exclude.list"
WHITELIST, BLACKLIST = "table.whitelist", "table.blacklist"
TYPES, SCHEMA_PATTERN, CATALOG_PATTERN = "table.types", "schema.pattern", "catalog.pattern"
QUERY, SUFFIX, QUERY_ATTEMPTS = "query", "query.suffix", "query.retry.attempts"
TOPIC_PREFIX, POLL_INTERVAL, MAX_ROWS = "topic.prefix", "poll.interval.ms", "batch.max.rows"
TABLE_POLL_INTERVAL = "table.poll.interval.ms"
NUMERIC, GRANULARITY, ZERO_DATES = "numeric.mapping", "timestamp.granularity", "zero.dates"
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_LISTS = (WHITELIST, BLACKLIST, INCLUDE, EXCLUDE)
_TABLES, _MODE, _OUTPUT = "Tables", "Mode", "Output"


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The typed configuration. Times are in seconds; `initial` is in milliseconds since 1970, or -1 for now; `max_wait`
    is negative for no limit."""

    connection: ConnectionSettings
    mode: Mode
    incrementing: str
    timestamps: tuple[str, ...]
    delay: float
    max_wait: float
    initial: int | None
    non_null: bool
    filter: TableFilter
    table_types: tuple[str, ...]
    schema_pattern: str | None
    catalog_pattern: str | None
    query: str
    suffix: str
    query_attempts: int
    topic_prefix: str
    poll_interval: float
    max_rows: int
    table_poll_interval: float
    numeric: NumericMapping
    granularity: Granularity
    zero_dates: ZeroDates
    zone: dt.tzinfo
    quote: bool
    dead_letters: str

    @classmethod
    def of(cls, config: Mapping[str, str], definition: ConfigDef) -> SourceSettings:
        """The settings of a configuration; ConfigError if it is not valid."""
        parsed = definition.parse(config)
        return cls(
            connection=ConnectionSettings.of(parsed),
            mode=Mode(parsed[MODE]),
            incrementing=parsed[INCREMENTING] or "",
            timestamps=tuple(parsed[TIMESTAMPS]),
            delay=parsed[DELAY] / 1000,
            max_wait=parsed[MAX_WAIT] / 1000,
            initial=parsed[INITIAL],
            non_null=parsed[NON_NULL],
            filter=TableFilter(*(tuple(parsed[name]) for name in _LISTS)),
            table_types=tuple(parsed[TYPES]),
            schema_pattern=parsed[SCHEMA_PATTERN],
            catalog_pattern=parsed[CATALOG_PATTERN],
            query=(parsed[QUERY] or "").strip().rstrip(";"),
            suffix=(parsed[SUFFIX] or "").strip().rstrip(";"),
            query_attempts=parsed[QUERY_ATTEMPTS],
            topic_prefix=parsed[TOPIC_PREFIX],
            poll_interval=parsed[POLL_INTERVAL] / 1000,
            max_rows=parsed[MAX_ROWS],
            table_poll_interval=parsed[TABLE_POLL_INTERVAL] / 1000,
            numeric=NumericMapping(parsed[NUMERIC]),
            granularity=Granularity(parsed[GRANULARITY]),
            zero_dates=ZeroDates(parsed[ZERO_DATES]),
            zone=zone_of(parsed[TIME_ZONE]),
            quote=parsed[QUOTE].upper() == "ALWAYS",
            dead_letters=parsed[DEAD_LETTERS],
        )


def conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    problems: dict[str, str] = {}
    mode = Mode(parsed[MODE]) if parsed.get(MODE) else None
    if mode is not None and mode.incrementing and not parsed.get(INCREMENTING):
        problems[INCREMENTING] = f"{INCREMENTING} is required in mode {mode}"
    if mode is not None and mode.timestamp and not parsed.get(TIMESTAMPS):
        problems[TIMESTAMPS] = f"{TIMESTAMPS} is required in mode {mode}"
    given = [name for name in _LISTS if parsed.get(name)]
    if parsed.get(QUERY) and given:
        problems[QUERY] = f"{QUERY} and {given[0]} cannot be set together: a query selects its own tables"
    included, excluded = (
        [name for name in (WHITELIST, INCLUDE) if parsed.get(name)],
        [name for name in (BLACKLIST, EXCLUDE) if parsed.get(name)],
    )
    for names in (included, excluded):
        if len(names) > 1:
            problems[names[0]] = f"{names[0]} and {names[1]} cannot be set together"
    if parsed.get(WHITELIST) and parsed.get(BLACKLIST):
        problems[WHITELIST] = f"{WHITELIST} and {BLACKLIST} cannot be set together"
    return problems


def _names(name: str, value: Any) -> None:
    for text in value or ():
        try:
            parse_table(text)
        except ConfigError as error:
            raise invalid(name, value, str(error)) from None


def source_keys(tables: Recommender, columns: Recommender, choices: Recommender) -> tuple[ConfigKey, ...]:
    """All keys of JdbcSource. `tables` recommends names of tables, `columns` tells which columns the mode needs,
    `choices` lists the values of a key that has a fixed set of them."""
    high, medium, low = Importance.HIGH, Importance.MEDIUM, Importance.LOW
    text, names, whole = ConfigType.STRING, ConfigType.LIST, ConfigType.LONG
    return (
        *connection_keys(WHITELIST, BLACKLIST),
        *grouped(_TABLES, 1,
            ConfigKey(WHITELIST, names, "", medium, "Names of the tables to read, such as orders or sales.orders.",
                 _names, width=Width.LONG, display_name="Tables", recommender=tables),
            ConfigKey(BLACKLIST, names, "", medium, "Names of tables not to read.", _names, width=Width.LONG,
                 display_name="Excluded tables", recommender=tables),
            ConfigKey(INCLUDE, names, "", medium, "Regular expressions for the names of the tables to read, with or "
                 "without the schema; a name must match completely.", regular_expressions, width=Width.LONG,
                 display_name="Table patterns"),
            ConfigKey(EXCLUDE, names, "", medium, "Regular expressions for the names of tables not to read.",
                 regular_expressions, width=Width.LONG, display_name="Excluded table patterns"),
            ConfigKey(TYPES, names, "TABLE", low, "Types of tables to read: TABLE, VIEW, and with PostgreSQL also "
                 "PARTITIONED TABLE, MATERIALIZED VIEW and FOREIGN TABLE.", width=Width.MEDIUM,
                 display_name="Table types"),
            ConfigKey(SCHEMA_PATTERN, text, None, medium, "Pattern for the schemas whose tables are read; % matches "
                 "any text, _ any character. By default all schemas but the system's.", width=Width.MEDIUM,
                 display_name="Schema pattern"),
            ConfigKey(CATALOG_PATTERN, text, None, low, "Pattern for the name of the database. No table is read if it "
                 "does not match.", width=Width.MEDIUM, display_name="Catalog pattern"),
            ConfigKey(TABLE_POLL_INTERVAL, whole, 60_000, low, "Milliseconds between two checks for new and dropped "
                 "tables.", at_least(1), width=Width.SHORT, display_name="Interval of table checks (ms)"),
        ),
        *grouped(_MODE, 1,
            ConfigKey(MODE, text, "bulk", high, "How new rows are found: bulk reads all rows each time, incrementing "
                 "those with a larger number, timestamp those changed later, timestamp+incrementing uses both.",
                 one_of(*Mode), width=Width.MEDIUM, display_name="Mode",
                 dependents=(INCREMENTING, TIMESTAMPS, NON_NULL), recommender=choices),
            ConfigKey(INCREMENTING, text, "", medium, "Column whose value grows with each new row.", width=Width.MEDIUM,
                 display_name="Incrementing column", recommender=columns),
            ConfigKey(TIMESTAMPS, names, "", medium, "Columns with the time of the last change of a row. With several, "
                 "the first that is not null counts.", width=Width.MEDIUM, display_name="Timestamp columns",
                 recommender=columns),
            ConfigKey(INITIAL, whole, None, low, "Where a source without committed offsets starts in modes with "
                 "timestamps: milliseconds since 1970, or -1 for the database's time. By default all rows are read.",
                 width=Width.MEDIUM, display_name="First timestamp (ms)", recommender=columns),
            ConfigKey(DELAY, whole, 0, high, "Milliseconds for which a row is left unread after its timestamp, so that "
                 "transactions with earlier timestamps can commit.", at_least(0), width=Width.SHORT,
                 display_name="Delay (ms)", recommender=columns),
            ConfigKey(MAX_WAIT, whole, -1, medium, "Milliseconds for which rows of PostgreSQL, MySQL and MariaDB stay "
                 "unread while transactions are open that may commit rows with smaller numbers or earlier timestamps. "
                 "-1: until these have ended. 0: rows are read at once, and rows that are committed late are missed.",
                 at_least(-1), width=Width.SHORT, display_name="Longest wait (ms)", recommender=columns),
            ConfigKey(NON_NULL, ConfigType.BOOLEAN, True, low, "Whether the task fails if the columns of the mode may "
                 "be null. Rows in which they are null are never read.", width=Width.SHORT,
                 display_name="Require NOT NULL", recommender=columns),
            ConfigKey(QUERY, text, "", medium, "A SELECT statement to read instead of tables. In modes with columns "
                 "these must be part of its result; conditions for them are added around the statement.",
                 width=Width.LONG, display_name="Query"),
            ConfigKey(SUFFIX, text, "", low, "Text for the end of each statement, such as FOR SHARE.",
                 width=Width.MEDIUM, display_name="Query suffix"),
            ConfigKey(QUERY_ATTEMPTS, ConfigType.INT, -1, low, "How often a statement is tried again in a row after a "
                 "failure that may pass, such as a lost connection. -1: without limit.", at_least(-1),
                 width=Width.SHORT, display_name="Query retries"),
        ),
        *grouped(_OUTPUT, 1,
            ConfigKey(TOPIC_PREFIX, text, "", high, "Text before a table's name in the name of its topic; the whole "
                 "name of the topic for a query.", width=Width.MEDIUM, display_name="Topic prefix"),
            ConfigKey(POLL_INTERVAL, whole, 5000, high, "Milliseconds between two statements for a table.", at_least(1),
                 width=Width.SHORT, display_name="Poll interval (ms)"),
            ConfigKey(MAX_ROWS, ConfigType.INT, 5000, low, "Maximum number of rows in a batch.", at_least(1),
                 width=Width.SHORT, display_name="Rows per batch"),
            ConfigKey(NUMERIC, text, "none", low, "Fields for NUMERIC columns: none keeps Decimal, precision_only uses "
                 "integers for columns without fraction, best_fit also FLOAT64 for up to 18 digits, "
                 "best_fit_eager_double FLOAT64 for every column with a fraction.", one_of(*NumericMapping),
                 width=Width.SHORT, display_name="Numeric mapping", recommender=choices),
            ConfigKey(GRANULARITY, text, "connect_logical", low, "Fields for timestamps: connect_logical has "
                 "milliseconds; the others keep microseconds, as a number or text.", one_of(*Granularity),
                 width=Width.MEDIUM, display_name="Timestamp granularity", recommender=choices),
            ConfigKey(ZERO_DATES, text, "fail", low, "How dates of MySQL and MariaDB without a year, month or day, "
                 "such as 0000-00-00, are read: fail makes their row an error, null reads them as null and makes all "
                 "fields of dates optional, epoch reads them as 1970-01-01.",
                 one_of(*ZeroDates), width=Width.SHORT, display_name="Zero dates", recommender=choices),
            ConfigKey(DEAD_LETTERS, text, "", medium, "Topic for rows with a value that cannot be a field and that "
                 "errors.tolerance=all skips. The error is in their headers.", width=Width.MEDIUM,
                 display_name="Dead letter topic"),
        ),
    )  # fmt: skip
