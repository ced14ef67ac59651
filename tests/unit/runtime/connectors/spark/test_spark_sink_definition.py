"""The configuration of SparkSink."""

from __future__ import annotations

import pytest

from runtime.api import ConfigError
from runtime.connectors.config_keys import interval
from runtime.connectors.spark.sink.connector import SparkSinkConnector
from runtime.connectors.spark.sink.definition import SparkSinkSettings


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
def test_invalid_configurations(config: dict[str, str], key: str, message: str) -> None:
    errors = {value.name: value.errors for value in SparkSinkConnector().validate(config)}
    assert [name for name, found in errors.items() if found] == [key]
    assert message in errors[key][0]
    with pytest.raises(ConfigError):
        SparkSinkSettings.of(config)


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
