"""Table of Java's client properties and the corresponding librdkafka settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.kafka.clients import addresses
from runtime.kafka.clients.offset_reset import offset_reset

Translate = Callable[[str, str], "dict[str, Any]"]  # key, value → settings; ValueError if invalid


def _text(name: str) -> Translate:
    return lambda key, value: {name: value}


def _lower(name: str, *allowed: str) -> Translate:
    def translate(key: str, value: str) -> dict[str, Any]:
        if value.lower() not in allowed:
            raise ValueError(f"String must be one of: {', '.join(allowed)}")
        return {name: value.lower()}

    return translate


def _number(name: str, lowest: int = 0, highest: int = 2**31 - 1) -> Translate:
    """An integer, clamped to the range that librdkafka accepts."""

    def translate(key: str, value: str) -> dict[str, Any]:
        return {name: min(max(_whole(value), lowest), highest)}

    return translate


def _boolean(name: str) -> Translate:
    def translate(key: str, value: str) -> dict[str, Any]:
        if value.lower() not in ("true", "false"):
            raise ValueError("Expected value to be either true or false")
        return {name: value.lower() == "true"}

    return translate


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError("Not a number of type INT") from None


def _delivery_timeout(key: str, value: str) -> dict[str, Any]:
    """Java's maximum integer, which Connect sets, means no timeout; in librdkafka that is 0."""
    number = _whole(value)
    return {"message.timeout.ms": 0 if number >= 2**31 - 1 else max(number, 1)}


def _buffer_memory(key: str, value: str) -> dict[str, Any]:
    return {"queue.buffering.max.kbytes": max(_whole(value) // 1024, 1)}


def _level(codec: str) -> Translate:
    """librdkafka has one setting for the level, of the codec in use."""
    return lambda key, value: {"compression.level": _whole(value)}


def _assignors(key: str, value: str) -> dict[str, Any]:
    known = {"range": "range", "roundrobin": "roundrobin", "cooperativesticky": "cooperative-sticky"}
    names = [v.strip().rpartition(".")[2].removesuffix("Assignor").lower() for v in value.split(",") if v.strip()]
    chosen = [known[n] for n in names if n in known]
    if not chosen:
        raise ValueError(
            "this worker's Kafka client supports only the range, round-robin and cooperative sticky assignors"
        )
    eager = [
        c for c in chosen if c != "cooperative-sticky"
    ]  # librdkafka cannot mix eager and cooperative; Java's migration starts eager
    return {"partition.assignment.strategy": ",".join(eager or chosen)}


COMMON: Mapping[str, Translate] = {
    "bootstrap.servers": lambda key, value: addresses.servers(value),
    "client.id": _text("client.id"),
    "client.rack": _text("client.rack"),
    "client.dns.lookup": _lower("client.dns.lookup", "use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "connections.max.idle.ms": _number("connections.max.idle.ms"),
    "enable.metrics.push": _boolean("enable.metrics.push"),
    "metadata.recovery.rebootstrap.trigger.ms": _number("metadata.recovery.rebootstrap.trigger.ms"),
    "metadata.recovery.strategy": _lower("metadata.recovery.strategy", "none", "rebootstrap"),
    "metadata.max.age.ms": _number("metadata.max.age.ms", 1, 86_400_000),
    "receive.buffer.bytes": _number("socket.receive.buffer.bytes", 0, 100_000_000),
    "reconnect.backoff.ms": _number("reconnect.backoff.ms", 0, 3_600_000),
    "reconnect.backoff.max.ms": _number("reconnect.backoff.max.ms", 0, 3_600_000),
    "request.timeout.ms": _number("socket.timeout.ms", 10, 300_000),
    "retry.backoff.ms": _number("retry.backoff.ms", 1, 300_000),
    "retry.backoff.max.ms": _number("retry.backoff.max.ms", 1, 300_000),
    "send.buffer.bytes": _number("socket.send.buffer.bytes", 0, 100_000_000),
    "socket.connection.setup.timeout.ms": _number("socket.connection.setup.timeout.ms", 1_000),
}

PRODUCER: Mapping[str, Translate] = {
    "acks": _lower("acks", "all", "-1", "0", "1"),
    "batch.size": _number("batch.size", 1),
    "buffer.memory": _buffer_memory,
    "compression.type": _lower("compression.type", "none", "gzip", "snappy", "lz4", "zstd"),
    "compression.gzip.level": _level("gzip"),
    "compression.lz4.level": _level("lz4"),
    "compression.zstd.level": _level("zstd"),
    "delivery.timeout.ms": _delivery_timeout,
    "enable.idempotence": _boolean("enable.idempotence"),
    "linger.ms": _number("linger.ms", 0, 900_000),
    "max.in.flight.requests.per.connection": _number("max.in.flight", 1, 1_000_000),
    "max.request.size": _number("message.max.bytes", 1_000, 1_000_000_000),
    "request.timeout.ms": _number("request.timeout.ms", 1, 900_000),
    "retries": _number("retries"),
    "transaction.timeout.ms": _number("transaction.timeout.ms", 1_000),
    "transactional.id": _text("transactional.id"),
}

CONSUMER: Mapping[str, Translate] = {
    "allow.auto.create.topics": _boolean("allow.auto.create.topics"),
    "auto.offset.reset": offset_reset,
    "check.crcs": _boolean("check.crcs"),
    "fetch.max.bytes": _number("fetch.max.bytes", 1_000_000, 2**31 - 512 - 1),
    "fetch.max.wait.ms": _number("fetch.wait.max.ms", 0, 300_000),
    "fetch.min.bytes": _number("fetch.min.bytes", 1, 100_000_000),
    "group.id": _text("group.id"),
    "group.instance.id": _text("group.instance.id"),
    "group.protocol": _lower("group.protocol", "classic", "consumer"),
    "group.remote.assignor": _text("group.remote.assignor"),
    "heartbeat.interval.ms": _number("heartbeat.interval.ms", 1, 3_600_000),
    "isolation.level": _lower("isolation.level", "read_committed", "read_uncommitted"),
    "max.partition.fetch.bytes": _number("max.partition.fetch.bytes", 1, 1_000_000_000),
    "max.poll.interval.ms": _number("max.poll.interval.ms", 1, 86_400_000),
    "partition.assignment.strategy": _assignors,
    "session.timeout.ms": _number("session.timeout.ms", 1, 3_600_000),
}

BUILT_IN = frozenset({
    "auto.commit.interval.ms", "bootstrap.resolve.timeout.ms", "buffer.memory.allocation.strategy",
    "default.api.timeout.ms", "enable.auto.commit", "exclude.internal.topics",
    "key.deserializer", "key.serializer", "max.block.ms", "max.poll.records", "metadata.cluster.check.enable",
    "metadata.max.idle.ms",
    "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
    "socket.connection.setup.timeout.max.ms", "value.deserializer", "value.serializer",
    "auto.include.jmx.reporter", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms",
})  # fmt: skip
"""Accepted without effect: librdkafka or the worker handles these (commits, conversion, size of put batches)."""

UNUSED_PREFIXES = ("metrics.context.",)
"""Prefixes of properties that only Java's metrics reporters read."""
