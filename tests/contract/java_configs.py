"""Configurations of Java connectors, valid and invalid, for comparisons with Apache's worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Config = dict[str, str | None]

_KAFKA = "org.apache.kafka.connect."
_FILE = f"{_KAFKA}file.FileStream"
_MIRROR = f"{_KAFKA}mirror.Mirror"
_POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
_JDBC = "io.debezium.connector.jdbc.JdbcSinkConnector"
_MONGO_SOURCE = "com.mongodb.kafka.connect.MongoSourceConnector"
_MONGO_SINK = "com.mongodb.kafka.connect.MongoSinkConnector"

_DATABASE = {
    "database.hostname": "127.0.0.1",
    "database.port": "1",
    "database.user": "u",
    "database.password": "secret",
    "database.dbname": "d",
    "topic.prefix": "t",
}
_TARGET = {"connection.url": "jdbc:postgresql://127.0.0.1:1/d", "connection.username": "u", "topics": "a"}
_UNWRAP = {"transforms": "u", "transforms.u.type": "io.debezium.transforms.ExtractNewRecordState"}
_INVALID_CHAIN = {
    "transforms": "a,b,c,d",
    "transforms.a.type": "io.debezium.transforms.outbox.EventRouter",
    "transforms.a.table.op.invalid.behavior": "none of these",
    "transforms.b.type": "io.debezium.transforms.ByLogicalTableRouter",
    "transforms.b.topic.regex": "(",
    "transforms.c.type": "io.debezium.connector.jdbc.transforms.FieldNameTransformation",
    "transforms.c.column.naming.style": "none of these",
    "transforms.d.type": _POSTGRES,
    "predicates": "p",
    "predicates.p.type": f"{_KAFKA}transforms.predicates.TopicNameMatches",
    "predicates.p.pattern": "(",
}


def small(bootstrap: str) -> Iterator[Config]:
    """For connectors that need no download of their own."""
    for end in ("SourceConnector", "SinkConnector"):
        yield from _common(f"{_FILE}{end}")
    yield {"connector.class": f"{_FILE}SourceConnector", "name": "x", "topic": "t", "batch.size": "0", "file": None}
    clusters = {
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": bootstrap,
        "target.cluster.bootstrap.servers": bootstrap,
    }
    for kind in ("Source", "Checkpoint", "Heartbeat"):
        cls = f"{_MIRROR}{kind}Connector"
        yield from _common(cls)
        yield _of(cls, clusters)
        yield _of(cls, clusters, {"exactly.once.support": "required", "transaction.boundary": "connector"})
        yield _of(
            cls,
            clusters,
            {
                "topics": "(",
                "groups": "(",
                "replication.factor": "x",
                "emit.heartbeats.interval.seconds": "-5",
                "offset.lag.max": "x",
                "forwarding.admin.class": "x.y",
                "replication.policy.class": "java.lang.String",
            },
        )


def large() -> Iterator[Config]:
    """For Debezium's and MongoDB's connectors."""
    for cls in (_POSTGRES, _JDBC, _MONGO_SOURCE, _MONGO_SINK):
        yield from _common(cls)
        yield _of(
            cls,
            {
                "key.converter": "io.debezium.converters.BinaryDataConverter",
                "value.converter": "io.debezium.converters.CloudEventsConverter",
                "value.converter.serializer.type": "none of these",
                "header.converter": "io.debezium.converters.BinaryDataConverter",
            },
        )
    # A connector loads a converter of another folder.
    yield _of(f"{_MIRROR}SourceConnector", {"key.converter": "io.debezium.converters.BinaryDataConverter"})
    yield _of(f"{_MIRROR}SourceConnector", {"value.converter": "BinaryDataConverter"})
    yield _of(_POSTGRES, _DATABASE)
    yield _of(_POSTGRES, _DATABASE, _UNWRAP)
    yield _of(_POSTGRES, _DATABASE, _UNWRAP, {"transforms.u.delete.tombstone.handling.mode": "x"})
    yield _of(_POSTGRES, _INVALID_CHAIN)
    yield _of(
        _POSTGRES,
        _DATABASE,
        {
            "plugin.name": "x",
            "snapshot.mode": "x",
            "slot.name": "Bad-Name",
            "max.batch.size": "0",
            "table.include.list": "a(",
            "heartbeat.interval.ms": "-1",
        },
    )
    yield {**_of(_POSTGRES), "database.port": None, "database.hostname": None, "slot.name": None, "unknown": None}
    yield _of(_JDBC, _TARGET)
    yield _of(_JDBC, _TARGET, {"insert.mode": "x", "delete.enabled": "true", "batch.size": "-4"})
    yield _of(_JDBC, _TARGET, {"insert.mode": "upsert", "topics.regex": "a.*", "errors.tolerance": "x"})
    yield _of(
        _MONGO_SOURCE,
        {"connection.uri": "mongodb://127.0.0.1:1", "pipeline": "[", "poll.max.batch.size": "0", "startup.mode": "x"},
    )
    yield _of(
        _MONGO_SINK,
        {
            "topics": "a",
            "connection.uri": "mongodb://127.0.0.1:1",
            "max.num.retries": "-1",
            "writemodel.strategy": "no.Such",
            "errors.tolerance": "data",
            "topic.override.a.max.batch.size": "-9",
        },
    )


def further() -> Iterator[Config]:
    """For Debezium's connectors for MySQL, SQL Server and MongoDB, and Google's for Pub/Sub."""
    for database in ("mysql.MySql", "sqlserver.SqlServer", "mongodb.MongoDb"):
        cls = f"io.debezium.connector.{database}Connector"
        yield from _common(cls)
        yield _of(cls, _DATABASE, _UNWRAP)
        yield _of(cls, _DATABASE, {"snapshot.mode": "x", "max.batch.size": "0", "heartbeat.interval.ms": "-1"})
        yield _of(cls, {"database.server.id": "x", "database.names": "", "mongodb.connection.string": "nowhere"})
    for name in ("CloudPubSubSource", "CloudPubSubSink"):
        cls = f"com.google.pubsub.kafka.{name.removeprefix('CloudPubSub').lower()}.{name}Connector"
        yield from _common(cls)
        yield _of(cls, {"cps.project": "p", "cps.topic": "t", "cps.subscription": "s", "maxBufferSize": "x"})


def _common(cls: str) -> Iterator[Config]:
    """Configurations that any connector may have."""
    yield {"connector.class": cls}
    yield _of(cls)
    yield _of(cls, {"tasks.max": "x", "exactly.once.support": "required", "topics": "a", "topic": "a"})
    yield {**_of(cls), "topics": None, "tasks.max": None}


def _of(cls: str, *parts: Mapping[str, str]) -> Config:
    config: Config = {"connector.class": cls, "name": "x"}
    for part in parts:
        config |= part
    return config
