"""The configuration and the offsets of SparkSource."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api import ConfigError, ConnectError
from runtime.connectors.spark.source.connector import SparkSourceConnector
from runtime.connectors.spark.source.definition import SparkSourceSettings

CONFIG = {"topic": "t", "spark.checkpoint": "/c", "spark.path": "/in"}


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
def test_invalid_configurations(config: dict[str, str], key: str, message: str) -> None:
    config = CONFIG | config
    errors = {value.name: value.errors for value in SparkSourceConnector().validate(config)}
    assert [name for name, found in errors.items() if found] == [key]
    assert message in errors[key][0]
    with pytest.raises(ConfigError):
        SparkSourceSettings.of(config)


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
    config = CONFIG | config
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
        SparkSourceConnector().alter_offsets(CONFIG, [({"spark.source": "parquet /in"}, offset)])


def test_a_format_that_is_not_a_data_source_is_the_only_error() -> None:
    config = {"topic": "t", "spark.format": "os.path", "spark.checkpoint": "/tmp/x"}
    errors = [error for value in SparkSourceConnector().validate(config) for error in value.errors]
    assert len(errors) == 1 and "os.path" in errors[0]
