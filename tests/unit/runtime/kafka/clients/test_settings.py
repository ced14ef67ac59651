"""Java client properties are translated into settings that librdkafka accepts."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from runtime.kafka.clients.oauth.tokens import native_settings
from runtime.kafka.clients.settings import client_config, kafka_python_config
from runtime.kafka.errors import ClientConfigError

WORKER = {
    "bootstrap.servers": "localhost:1",
    "group.id": "connect",
    "session.timeout.ms": "9999",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="me" password="a\\"b";',
    "producer.linger.ms": "7",
    "producer.compression.type": "lz4",
}


def test_worker_client_takes_top_level_security_only() -> None:
    config = client_config(WORKER, "admin", client_id="me")
    assert config.warnings == ()
    assert config.settings == {
        "bootstrap.servers": "localhost:1",
        "client.id": "me",
        "headrace.login": "worker.",
        "reconnect.backoff.max.ms": 1000,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 'a"b',
    }
    assert kafka_python_config(config.settings) == {
        "bootstrap_servers": ["localhost:1"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": 'a"b',
    }


def test_connector_client_takes_prefixed_properties_then_overrides() -> None:
    settings = client_config(WORKER, "producer", {"producer.override.linger.ms": "9"}).settings
    assert (settings["linger.ms"], settings["compression.type"]) == (9, "lz4")
    assert "security.protocol" not in settings
    assert settings["partitioner"] == "murmur2_random"
    assert settings["message.timeout.ms"] == 0
    assert settings["enable.idempotence"] is True


@pytest.mark.parametrize(
    ("key", "value"), [("acks", "1"), ("max.in.flight.requests.per.connection", "6"), ("retries", "0")]
)
def test_settings_without_idempotence_disable_it(key: str, value: str) -> None:
    settings = client_config(WORKER, "producer", {f"producer.override.{key}": value}).settings
    assert settings["enable.idempotence"] is False
    Producer(settings)


@pytest.mark.parametrize("given, wanted", [("2147483647", 0), ("120000", 120000)])
def test_delivery_timeout(given: str, wanted: int) -> None:
    settings = client_config(WORKER, "producer", {"producer.override.delivery.timeout.ms": given}).settings
    assert settings["message.timeout.ms"] == wanted


@pytest.mark.parametrize(
    "key, value, message",
    [
        ("max.request.size", "x", "Invalid value x for configuration max.request.size: Not a number of type INT"),
        ("acks", "2", "Invalid value 2 for configuration acks: String must be one of: all, -1, 0, 1"),
    ],
)
def test_invalid_values_are_refused_with_connects_messages(key: str, value: str, message: str) -> None:
    with pytest.raises(ClientConfigError) as e:
        client_config(WORKER, "producer", {f"producer.override.{key}": value})
    assert str(e.value) == message


def test_unknown_properties_are_named_and_known_ones_without_use_are_not() -> None:
    overrides = {"consumer.override.max.poll.records": "10", "consumer.override.no.such": "1"}
    (warning,) = client_config(WORKER, "consumer", overrides).warnings
    assert "no.such" in warning


@pytest.mark.parametrize(
    "key, value, native, wanted",
    [
        ("client.dns.lookup", "use_all_dns_ips", "client.dns.lookup", "use_all_dns_ips"),
        ("connections.max.idle.ms", "540000", "connections.max.idle.ms", 540_000),
        ("send.buffer.bytes", "65536", "socket.send.buffer.bytes", 65_536),
        ("send.buffer.bytes", "-1", "socket.send.buffer.bytes", 0),
        ("metadata.recovery.rebootstrap.trigger.ms", "5000", "metadata.recovery.rebootstrap.trigger.ms", 5_000),
        ("metadata.recovery.strategy", "NONE", "metadata.recovery.strategy", "none"),
        ("socket.connection.setup.timeout.ms", "2000", "socket.connection.setup.timeout.ms", 2_000),
    ],
)
def test_settings_of_connections_reach_every_client(key: str, value: str, native: str, wanted: object) -> None:
    config = client_config({**WORKER, key: value}, "admin")
    assert (config.warnings, config.settings[native]) == ((), wanted)
    AdminClient(native_settings(config.settings))
    assert client_config(WORKER, "producer", {f"producer.override.{key}": value}).settings[native] == wanted


@pytest.mark.parametrize(
    "kind, key, value",
    [
        ("producer", "buffer.memory", "33554432"),
        ("producer", "batch.size", "16384"),
        ("producer", "compression.zstd.level", "3"),
        ("producer", "request.timeout.ms", "30000"),
        ("producer", "reconnect.backoff.ms", "5000"),
        ("consumer", "fetch.max.bytes", "100"),
        ("consumer", "fetch.max.wait.ms", "500"),
        ("consumer", "auto.offset.reset", "none"),
        ("consumer", "isolation.level", "read_committed"),
        ("consumer", "max.poll.interval.ms", "10000"),
        (
            "consumer",
            "partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        ),
        ("admin", "request.timeout.ms", "30000"),
        ("admin", "receive.buffer.bytes", "-1"),
    ],
)
def test_librdkafka_accepts_the_translated_settings(kind: str, key: str, value: str) -> None:
    config = client_config(WORKER, kind, {f"{kind}.override.{key}": value})
    assert config.warnings == ()
    client = {"producer": Producer, "consumer": Consumer, "admin": AdminClient}[kind]
    client({**native_settings(config.settings), **({"group.id": "g"} if kind == "consumer" else {})})
