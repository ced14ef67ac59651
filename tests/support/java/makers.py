"""Connectors of many makers, with configurations whose servers cannot be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_HOST, _PORT = "127.0.0.1", "1"
_ADDRESS = f"{_HOST}:{_PORT}"
_MONGO = f"mongodb://{_ADDRESS}/?serverSelectionTimeoutMS=2000"
_DATABASE = {
    "database.hostname": _HOST,
    "database.port": _PORT,
    "database.user": "u",
    "database.password": "secret",
    "topic.prefix": "t",
}
_HISTORY = {
    "schema.history.internal.kafka.bootstrap.servers": "{bootstrap}",
    "schema.history.internal.kafka.topic": "schema-history",
}


@dataclass(frozen=True, slots=True)
class Maker:
    """A connector class, the coordinates of its plugin and a minimal configuration.

    `{bootstrap}` and `{topic}` in values are replaced by those of the test.
    """

    coordinates: str
    connector: str
    config: Mapping[str, str]

    def filled(self, bootstrap: str, topic: str) -> dict[str, str]:
        """The configuration for this broker and topic."""
        return {
            key: value.replace("{bootstrap}", bootstrap).replace("{topic}", topic) for key, value in self.config.items()
        }


MAKERS = (
    Maker(
        "io.debezium:debezium-connector-mysql:3.6.1.Final:plugin@tar.gz",
        "io.debezium.connector.mysql.MySqlConnector",
        {**_DATABASE, **_HISTORY, "database.server.id": "1"},
    ),
    Maker(
        "io.debezium:debezium-connector-mariadb:3.5.0.Final:plugin@tar.gz",
        "io.debezium.connector.mariadb.MariaDbConnector",
        {**_DATABASE, **_HISTORY, "database.server.id": "1"},
    ),
    Maker(
        "io.debezium:debezium-connector-sqlserver:3.6.1.Final:plugin@tar.gz",
        "io.debezium.connector.sqlserver.SqlServerConnector",
        # The driver waits for 30 s by default, and our worker no longer (headrace.request.timeout.ms); Apache's does.
        {**_DATABASE, **_HISTORY, "database.names": "d", "driver.loginTimeout": "2"},
    ),
    Maker(
        "io.debezium:debezium-connector-mongodb:3.6.1.Final:plugin@tar.gz",
        "io.debezium.connector.mongodb.MongoDbConnector",
        {"topic.prefix": "t", "mongodb.connection.string": f"{_MONGO}&replicaSet=r"},
    ),
    Maker(
        "org.mongodb.kafka:mongo-kafka-connect:2.0.1",
        "com.mongodb.kafka.connect.MongoSinkConnector",
        {"topics": "{topic}", "connection.uri": _MONGO, "database": "d"},
    ),
    Maker(
        "org.mongodb.kafka:mongo-kafka-connect:2.0.1",
        "com.mongodb.kafka.connect.MongoSourceConnector",
        {"connection.uri": _MONGO, "database": "d", "topic.prefix": "t"},
    ),
    Maker(
        "com.google.cloud:pubsub-group-kafka-connector:1.3.3",
        "com.google.pubsub.kafka.sink.CloudPubSubSinkConnector",
        {"topics": "{topic}", "cps.project": "p", "cps.topic": "t"},
    ),
    Maker(
        "com.google.cloud:pubsub-group-kafka-connector:1.3.3",
        "com.google.pubsub.kafka.source.CloudPubSubSourceConnector",
        {"kafka.topic": "{topic}", "cps.project": "p", "cps.subscription": "s"},
    ),
)
