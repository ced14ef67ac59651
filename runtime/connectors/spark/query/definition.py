"""The configuration of KafkaQuery."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, grouped
from runtime.api.config.types import invalid
from runtime.api.errors import ConfigError
from runtime.connectors.config_keys import STREAM, TOPIC_KEY, interval, is_interval
from runtime.connectors.spark.config_keys import SQL, TRIGGER, check_start, is_ddl
from runtime.connectors.spark.source.definition import BATCH, CHECKPOINT, KEY, RETRIES
from runtime.kafka.clients.settings import client_config, reaching_config
from runtime.kafka.errors import ClientConfigError

TOPICS, TABLES, START = "query.topics", "query.tables", "query.start"
OUTPUT_MODE, MALFORMED = "query.output.mode", "query.malformed"
BATCH_RECORDS, PARTITIONS = "query.batch.records", "query.partitions"
SCHEMA, UNIQUE = "query.schema.", "query.unique."
CLIENT, BOOTSTRAP = "kafka.", "kafka.bootstrap.servers"
EARLIEST, LATEST = "earliest", "latest"
FAIL, SKIP = "fail", "skip"

_INPUT, _QUERY, _RECORDS, _BATCHES = "Input", "Query", "Records", "Batches"


def _is_query(name: str, value: Any) -> None:
    check_start(name, value, "orders")


def _has_topics(name: str, value: Any) -> None:
    if not value:
        raise invalid(name, value, "Must name at least one topic")


def _conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    topics = parsed.get(TOPICS) or ()
    names = [name.lower() for name in (*topics, *(parsed.get(TABLES) or ()))]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return {TABLES: f"{twice[0]} is named twice in {TOPICS} and {TABLES}: each name is a view of the query"}
    if parsed.get("topic") in topics:
        return {"topic": f"The query would read its own results: {parsed['topic']} is one of {TOPICS}"}
    return {}


CONFIG = ConfigDef(
    *grouped(_INPUT, 0,
        ConfigKey(TOPICS, ConfigType.LIST, importance=Importance.HIGH, doc="Topics that the query reads as streams. "
             "Each is a view with its name.", validator=_has_topics),
        ConfigKey(TABLES, ConfigType.LIST, "", Importance.MEDIUM, "Topics that the query reads as tables: the last "
             "record of each key, without those whose value is null. Each is a view with its name, which each batch "
             "reads again from the start of the topic."),
        ConfigKey(BOOTSTRAP, ConfigType.STRING, importance=Importance.HIGH, doc="Brokers of the topics that are read. "
             "Further keys with the prefix kafka. are properties of the consumer, such as kafka.security.protocol.",
             validator=validators.non_empty),
        ConfigKey(START, ConfigType.STRING, EARLIEST, Importance.MEDIUM, "Where a connector without an offset starts: "
             "earliest or latest.", validators.one_of(EARLIEST, LATEST)),
        ConfigKey(MALFORMED, ConfigType.STRING, FAIL, Importance.MEDIUM, "What a value does that is not JSON of the "
             "topic's schema: fail ends the task with the offset of the record, skip leaves the record out.",
             validators.one_of(FAIL, SKIP)),
    ),
    *grouped(_QUERY, 0,
        ConfigKey(SQL, ConfigType.STRING, importance=Importance.HIGH, doc="Query over the views of the topics and over "
             "tables of Spark's catalogs. Its rows are the records.", validator=_is_query),
        ConfigKey(OUTPUT_MODE, ConfigType.STRING, "append", Importance.HIGH, "Rows of a batch that become records: "
             "append (final rows), update (new and changed rows) or complete (all rows), as in Structured Streaming.",
             validators.one_of("append", "update", "complete")),
        ConfigKey(PARTITIONS, ConfigType.INT, 4, Importance.LOW, "Partitions of the query's state and of its shuffles. "
             "A change takes effect with a new checkpoint.", validators.between(1, 10_000)),
    ),
    *grouped(_RECORDS, 0,
        TOPIC_KEY,
        ConfigKey(KEY, ConfigType.LIST, "", Importance.MEDIUM, "Columns of the key: the value of one column, or a "
             "struct of several. By default records have no key."),
        ConfigKey(BATCH, ConfigType.INT, 5000, Importance.LOW, "Maximum number of records that the task hands over at "
             "a time.", validators.between(1, 100_000)),
    ),
    *grouped(_BATCHES, 0,
        ConfigKey(CHECKPOINT, ConfigType.STRING, importance=Importance.HIGH, doc="Folder in which Spark keeps the "
             "progress and the state of the query, and batches until they are committed, on any file system that "
             "Spark's Hadoop supports and all workers reach. Connectors may share it.",
             validator=validators.non_empty),
        ConfigKey(TRIGGER, ConfigType.STRING, "1 second", Importance.HIGH, "Time between the starts of two batches.",
             is_interval),
        ConfigKey(BATCH_RECORDS, ConfigType.INT, 200_000, Importance.MEDIUM, "Most records of each topic that a batch "
             "reads.", validators.at_least(1)),
        ConfigKey(RETRIES, ConfigType.INT, 3, Importance.LOW, "How often reading is tried again after an error of "
             "Spark, until a batch has been read.", validators.at_least(0)),
    ),
    conflicts=_conflicts,
)  # fmt: skip


def schemas_of(config: Mapping[str, str]) -> dict[str, str]:
    """The schemas of values by topic: the keys `query.schema.<topic>`."""
    return {key.removeprefix(SCHEMA): value for key, value in config.items() if key.startswith(SCHEMA)}


_UNIQUE = re.compile(
    r"\s*(?P<columns>\w+(?:\s*,\s*\w+)*)(?:\s+within\s+(?P<time>\d+\s+\w+)\s+of\s+(?P<column>\w+))?\s*",
    re.IGNORECASE,
)


def unique_of(config: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What the records of a topic are unique by: the keys `query.unique.<topic>`, such as `id within 1 day of at`.
    ConfigError for another text."""
    rules = {}
    for key, text in config.items():
        if not key.startswith(UNIQUE):
            continue
        if (match := _UNIQUE.fullmatch(text)) is None:
            raise invalid(key, text, "Must be columns, such as id, or columns and a time: id within 1 day of at")
        columns = [name.strip() for name in match["columns"].split(",")]
        rules[key.removeprefix(UNIQUE)] = {"columns": columns, "time": match["time"], "column": match["column"]}
    return rules


def prefixed_errors(config: Mapping[str, str], inputs: list[str]) -> dict[str, str]:
    """The errors of keys with a prefix: schemas that are invalid or belong to none of the inputs, and properties of the
    consumer; by the defined key that shows them."""
    for topic, schema in schemas_of(config).items():
        if topic not in inputs:
            return {TOPICS: f"{SCHEMA}{topic} belongs to none of the topics of {TOPICS} and {TABLES}"}
        try:
            is_ddl(SCHEMA + topic, schema)
        except ConfigError as error:
            return {TOPICS: str(error)}
    try:
        if others := unique_of(config).keys() - set(inputs):
            return {TOPICS: f"{UNIQUE}{min(others)} belongs to none of the topics of {TOPICS}"}
    except ConfigError as error:
        return {TOPICS: str(error)}
    try:
        client_settings(config)
    except ClientConfigError as error:
        return {BOOTSTRAP: str(error)}
    return {}


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """librdkafka's settings of the clients that read the topics."""

    consumer: Mapping[str, Any]
    admin: Mapping[str, Any]


def client_settings(config: Mapping[str, str]) -> ClientSettings:
    """The settings by the keys `kafka.<property>`. ClientConfigError for an invalid property."""
    java = {key.removeprefix(CLIENT): value for key, value in config.items() if key.startswith(CLIENT)}
    servers = {"bootstrap.servers": java.pop("bootstrap.servers", "")}
    overrides = {f"consumer.override.{key}": value for key, value in java.items()}
    name = f"connector-query-{config.get('name', 'query')}"
    return ClientSettings(
        client_config(servers, "consumer", overrides, client_id=name).settings,
        reaching_config(servers, "consumer", overrides),
    )


@dataclass(frozen=True, slots=True)
class KafkaQuerySettings:
    """The typed configuration of the task."""

    parsed: Mapping[str, Any]
    schemas: Mapping[str, str]
    unique: Mapping[str, Any]
    clients: ClientSettings
    topic: str
    key: tuple[str, ...]
    batch_size: int
    retries: int

    @classmethod
    def of(cls, config: Mapping[str, str]) -> KafkaQuerySettings:
        """The settings of a configuration; ConfigError for the first invalid one."""
        parsed = CONFIG.parse(config)
        for error in prefixed_errors(config, [*parsed[TOPICS], *parsed[TABLES]]).values():
            raise ConfigError(error)
        return cls(
            parsed, schemas_of(config), unique_of(config), client_settings(config), parsed["topic"],
            tuple(parsed[KEY]), parsed[BATCH], parsed[RETRIES],
        )  # fmt: skip

    @property
    def source_name(self) -> str:
        """The name of the source partition. It names no topic: another list of topics must not silently start over."""
        return "query over topics"

    def source(self) -> dict[str, Any]:
        """The part of requests that names the source."""
        parsed = self.parsed
        return {
            "mode": STREAM,
            "sql": parsed[SQL],
            "trigger": interval(parsed[TRIGGER]),
            "checkpoint": parsed[CHECKPOINT],
            "key": list(self.key),
            "query": {
                "topics": list(parsed[TOPICS]),
                "tables": list(parsed[TABLES]),
                "schemas": dict(self.schemas),
                "unique": dict(self.unique),
                "consumer": dict(self.clients.consumer),
                "admin": dict(self.clients.admin),
                "start": parsed[START],
                "output_mode": parsed[OUTPUT_MODE],
                "malformed": parsed[MALFORMED],
                "batch_records": parsed[BATCH_RECORDS],
                "partitions": parsed[PARTITIONS],
            },
        }
