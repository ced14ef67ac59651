"""Java connectors for tests and benchmarks, installed once by their coordinates in folders of the cache."""

from __future__ import annotations

import sys

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.installer import install
from runtime.system.cache import cache_folder
from runtime.system.locks import exclusive

DEBEZIUM_POSTGRES = "io.debezium:debezium-connector-postgres:3.6.1.Final:plugin@tar.gz"
DEBEZIUM_JDBC = "io.debezium:debezium-connector-jdbc:3.6.0.Final:plugin@tar.gz"
DEBEZIUM_MYSQL = "io.debezium:debezium-connector-mysql:3.2.0.Final:plugin@tar.gz"
DEBEZIUM_SQL_SERVER = "io.debezium:debezium-connector-sqlserver:3.2.0.Final:plugin@tar.gz"
DEBEZIUM_MONGO = "io.debezium:debezium-connector-mongodb:3.2.0.Final:plugin@tar.gz"
PUBSUB = "com.google.cloud:pubsub-group-kafka-connector:1.3.2"
MIRROR = "org.apache.kafka:connect-mirror:4.3.0"
MONGO = "org.mongodb.kafka:mongo-kafka-connect:2.0.1"
FILE = "org.apache.kafka:connect-file:4.3.0"

MAIN = (DEBEZIUM_POSTGRES, DEBEZIUM_JDBC, MIRROR, MONGO, FILE)
"""Those whose systems the tests can start."""

PREFER_FILE = {"headrace.java.prefer": "org.apache.kafka.connect.file.*"}
"""The worker property with which Kafka's file connectors in `plugin.path` are used instead of the bundled ones."""


def plugin_path(*coordinates: str) -> str:
    """The `plugin.path` with these connectors and no others. Raises InstallError."""
    folder = cache_folder() / "test-connectors"
    folder.mkdir(parents=True, exist_ok=True)
    places = []
    with exclusive(folder / ".lock"):
        for text in coordinates:
            coordinate = Coordinate.parse(text)
            places.append(folder / coordinate.folder_name)
            install(coordinate, places[-1], progress=sys.stderr)
    return ",".join(map(str, places))
