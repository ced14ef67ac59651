"""The configurations of SparkSink, SparkSource and KafkaQuery, and the offsets of SparkSource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from runtime.api import ConfigError, ConnectError, Connector
from runtime.connectors.config_keys import interval
from runtime.connectors.spark.query.connector import KafkaQueryConnector
from runtime.connectors.spark.query.definition import KafkaQuerySettings
from runtime.connectors.spark.sink.connector import SparkSinkConnector
from runtime.connectors.spark.sink.definition import SparkSinkSettings
from runtime.connectors.spark.source.connector import SparkSourceConnector
from runtime.connectors.spark.source.definition import SparkSourceSettings


def check_invalid(
    connector: Connector, settings: Callable[[Mapping[str, str]], Any], config: dict[str, str], key: str, message: str
) -> None:
    """Only this key has an error, which says so, and there are no settings."""
    errors = {value.name: value.errors for value in connector.validate(config)}
    assert [name for name, found in errors.items() if found] == [key]
    assert message in errors[key][0]
    with pytest.raises(ConfigError):
        settings(config)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500 ms", 0.5), ("10 seconds", 10), ("1 minute", 60), ("2h", 7200), ("1.5 s", 1.5), ("7 days", 604_800)],
)
def test_triggers(text: str, seconds: float) -> None:
    assert interval(text) == seconds


UPSERT = {"spark.format": "delta", "spark.path": "/t", "spark.mode": "upsert"}


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({}, "spark.path", "Missing required configuration"),
        ({"spark.path": "/t", "spark.table": "t"}, "spark.table", "not both"),
        ({"spark.path": "/t", "spark.trigger": "soon"}, "spark.trigger", "a number with a unit"),
        ({"spark.path": "/t", "spark.schema": "id BIGINTEGER"}, "spark.schema", "biginteger"),
        ({"spark.format": "delta"}, "spark.path", "Missing required configuration"),
        ({"spark.format": "iceberg", "spark.path": "/t"}, "spark.table", "belong to a catalog"),
        ({"spark.path": "/t", "spark.mode": "merge"}, "spark.mode", "merge"),
        ({"spark.path": "/t", "spark.mode": "upsert"}, "spark.mode", "needs spark.format=delta"),
        ({"spark.path": "/t", "spark.key.columns": "id"}, "spark.key.columns", "Needs spark.mode=upsert"),
        ({**UPSERT, "spark.sql": "SELECT 1"}, "spark.sql", "headrace.SparkSql"),
        ({**UPSERT, "spark.schema.evolution": "any"}, "spark.schema.evolution", "for files"),
        ({"spark.path": "/t", "spark.compact.interval": "1 h"}, "spark.compact.interval", "Needs spark.format=delta"),
        ({**UPSERT, "spark.compact.interval": "often"}, "spark.compact.interval", "a number with a unit"),
        ({**UPSERT, "spark.expire.after": "7 days"}, "spark.expire.after", "Needs spark.compact.interval"),
        ({"spark.path": "/t", "spark.sql": "SET a=b"}, "spark.sql", "Must be a query"),
        ({"spark.path": "/t", "spark.sql": "/* SELECT */ DROP TABLE t"}, "spark.sql", "Must be a query"),
    ],
)
def test_invalid_sinks(config: dict[str, str], key: str, message: str) -> None:
    check_invalid(SparkSinkConnector(), SparkSinkSettings.of, config, key, message)


def test_a_table_or_another_format_needs_no_path() -> None:
    for config in ({"spark.table": "t"}, {"spark.format": "jdbc", "spark.option.url": "jdbc:x:y"}):
        assert not [value for value in SparkSinkConnector().validate(config) if value.errors]
        assert not SparkSinkSettings.of(config).staging


def test_queries() -> None:
    for sql in ("", "SELECT 1", " -- x\n( /* y */ select 1)", "WITH a AS (SELECT 1) TABLE a", "FROM record"):
        assert SparkSinkSettings.of({"spark.path": "/t", "spark.sql": sql}).sql == sql.strip()


def test_each_task_knows_its_number() -> None:
    connector = SparkSinkConnector()
    connector.start({"spark.path": "/t", "spark.option.compression": "zstd"})
    first, second = map(SparkSinkSettings.of, connector.task_configs(2))
    assert (first.task, second.task) == (0, 1)
    assert first.options == {"compression": "zstd"}
    assert first.staging == "files"


def test_lakehouse_tables_are_staged_and_get_new_columns() -> None:
    delta = {"spark.format": "delta", "spark.path": "/t"}
    found = SparkSinkSettings.of(delta)
    assert (found.staging, found.has_types, found.target()["options"]) == ("delta", True, {"mergeSchema": "true"})
    assert SparkSinkSettings.of({**delta, "spark.schema.evolution": "freeze"}).target()["options"] == {}
    given = SparkSinkSettings.of({**delta, "spark.option.mergeschema": "false"})
    assert given.target()["options"] == {"mergeschema": "false"}
    assert not SparkSinkSettings.of({**delta, "spark.mode": "overwrite"}).staging
    assert SparkSinkSettings.of({"spark.format": "Iceberg", "spark.table": "lake.t"}).staging == "iceberg"


SOURCE = {"topic": "t", "spark.checkpoint": "/c", "spark.path": "/in"}


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"spark.path": ""}, "spark.format", "Missing required configuration"),
        ({"spark.table": "t"}, "spark.table", "not both"),
        ({"spark.checkpoint": ""}, "spark.checkpoint", "empty"),
        ({"spark.mode": "append"}, "spark.mode", "append"),
        ({"spark.trigger": "soon"}, "spark.trigger", "a number with a unit"),
        ({"spark.sql": "DROP TABLE t"}, "spark.sql", "Must be a query"),
    ],
)
def test_invalid_sources(config: dict[str, str], key: str, message: str) -> None:
    check_invalid(SparkSourceConnector(), SparkSourceSettings.of, SOURCE | config, key, message)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, "parquet /in"),
        ({"spark.format": "rate", "spark.path": ""}, "rate"),
        ({"spark.table": "shop.orders", "spark.path": ""}, "table shop.orders"),
        ({"spark.sql": "SELECT 1", "spark.path": ""}, "query"),
    ],
)
def test_the_source_partition_names_the_source(config: dict[str, str], name: str) -> None:
    config = SOURCE | config
    assert SparkSourceSettings.of(config).source_name == name
    connector = SparkSourceConnector()
    partition, offset = {"spark.source": name}, {"checkpoint": "a-1", "batch": 3, "rows": 5, "spool": "s"}
    assert connector.alter_offsets(config, [(partition, offset), ({"any": 1}, None)])
    with pytest.raises(ConnectError, match="The source partition of this configuration is"):
        connector.alter_offsets(config, [({"spark.source": "other"}, offset)])


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        ({"batch": 1}, "'checkpoint' must be the checkpoint"),
        ({"checkpoint": "../x", "batch": 1}, "'checkpoint' must be the checkpoint"),
        ({"checkpoint": "a"}, "'batch' .* a whole number from 0: None"),
        ({"checkpoint": "a", "batch": True}, "'batch' .* from 0: True"),
        ({"checkpoint": "a", "batch": 1, "rows": 0, "spool": "s"}, "'rows' .* from 1: 0"),
        (
            {"checkpoint": "a", "batch": 8, "rows": 5},
            "'rows' and 'spool'.*must be given together.*batch 8 again, remove 'rows' and 'spool' and set 'batch' to 7",
        ),
        ({"checkpoint": "a", "batch": 8, "spool": "s"}, "must be given together.*set 'batch' to 7"),
        ({"checkpoint": "a", "batch": 0, "rows": 5}, "must be given together.*batch 0 again, reset the offset"),
        ({"checkpoint": "a", "rows": 5}, "'batch' .* a whole number from 0: None"),
        ({"checkpoint": "a", "batch": 1, "rows": 5, "spool": "../s"}, "'spool' must be the folder"),
        ({"checkpoint": "a", "batch": 1, "row": 1}, "not 'row'"),
    ],
)
def test_offsets_with_another_form_are_refused(offset: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectError, match=message):
        SparkSourceConnector().alter_offsets(SOURCE, [({"spark.source": "parquet /in"}, offset)])


def test_a_format_that_is_not_a_data_source_is_the_only_error() -> None:
    config = {"topic": "t", "spark.format": "os.path", "spark.checkpoint": "/tmp/x"}
    errors = [error for value in SparkSourceConnector().validate(config) for error in value.errors]
    assert len(errors) == 1 and "os.path" in errors[0]


QUERY = {
    "kafka.bootstrap.servers": "localhost:1",
    "query.topics": "orders,payments",
    "spark.sql": "SELECT * FROM orders",
    "topic": "out",
    "spark.checkpoint": "/c",
}


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"query.topics": ""}, "query.topics", "Must name at least one topic"),
        ({"query.tables": "Orders"}, "query.tables", "orders is named twice in query.topics and query.tables"),
        ({"topic": "payments"}, "topic", "The query would read its own results: payments"),
        ({"spark.sql": "DROP TABLE t"}, "spark.sql", "Must be a query"),
        ({"query.output.mode": "all"}, "query.output.mode", "all"),
        ({"query.schema.other": "id BIGINT"}, "query.topics", "query.schema.other belongs to none of the topics"),
        ({"query.schema.orders": "id NUMBER"}, "query.topics", "query.schema.orders"),
        ({"query.unique.other": "id"}, "query.topics", "query.unique.other belongs to none of the topics"),
        ({"query.unique.orders": "id since 1 day"}, "query.topics", "id within 1 day of at"),
        ({"kafka.isolation.level": "any"}, "kafka.bootstrap.servers", "isolation.level"),
    ],
)
def test_invalid_queries(config: dict[str, str], key: str, message: str) -> None:
    check_invalid(KafkaQueryConnector(), KafkaQuerySettings.of, QUERY | config, key, message)


def test_client_properties_are_those_of_a_sink() -> None:
    settings = KafkaQuerySettings.of(QUERY | {"kafka.security.protocol": "SSL", "kafka.fetch.min.bytes": "7"})
    assert settings.clients.consumer["fetch.min.bytes"] == 7
    for client in (settings.clients.consumer, settings.clients.admin):
        assert client["bootstrap.servers"] == "localhost:1"
        assert client["security.protocol"].lower() == "ssl"
    assert "fetch.min.bytes" not in settings.clients.admin


def test_schemas_and_prefixes_reach_the_session() -> None:
    source = KafkaQuerySettings.of(QUERY | {"query.schema.orders": "id BIGINT", "spark.trigger": "500 ms"}).source()
    assert source["query"]["unique"] == {}
    assert source["query"]["schemas"] == {"orders": "id BIGINT"}
    assert (source["mode"], source["trigger"], source["query"]["topics"]) == ("stream", 0.5, ["orders", "payments"])
