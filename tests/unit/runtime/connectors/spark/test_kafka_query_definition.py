"""The configuration of KafkaQuery."""

from __future__ import annotations

import pytest

from runtime.api import ConfigError
from runtime.connectors.spark.query.connector import KafkaQueryConnector
from runtime.connectors.spark.query.definition import KafkaQuerySettings

CONFIG = {
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
def test_invalid_configurations(config: dict[str, str], key: str, message: str) -> None:
    config = CONFIG | config
    errors = {value.name: value.errors for value in KafkaQueryConnector().validate(config)}
    assert [name for name, found in errors.items() if found] == [key]
    assert message in errors[key][0]
    with pytest.raises(ConfigError):
        KafkaQuerySettings.of(config)


def test_client_properties_are_those_of_a_sink() -> None:
    settings = KafkaQuerySettings.of(CONFIG | {"kafka.security.protocol": "SSL", "kafka.fetch.min.bytes": "7"})
    assert settings.clients.consumer["fetch.min.bytes"] == 7
    for client in (settings.clients.consumer, settings.clients.admin):
        assert client["bootstrap.servers"] == "localhost:1"
        assert client["security.protocol"].lower() == "ssl"
    assert "fetch.min.bytes" not in settings.clients.admin


def test_schemas_and_prefixes_reach_the_session() -> None:
    source = KafkaQuerySettings.of(CONFIG | {"query.schema.orders": "id BIGINT", "spark.trigger": "500 ms"}).source()
    assert source["query"]["unique"] == {}
    assert source["query"]["schemas"] == {"orders": "id BIGINT"}
    assert (source["mode"], source["trigger"], source["query"]["topics"]) == ("stream", 0.5, ["orders", "payments"])
