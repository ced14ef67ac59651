"""Explains refusals of Kafka: missing rights by principal, operation and resource, and records that are too large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.kafka.errors import NotAuthorizedError, RecordTooLarge

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

TOO_LARGE = "MSG_SIZE_TOO_LARGE"
"""The error of a record or request that exceeds a limit of the producer or of the topic."""

_NAMES = (
    "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
)  # fmt: skip


def is_denial(error: KafkaError) -> bool:
    """Whether the broker refused a request because a right is missing."""
    return error.name() in _NAMES


def principal(settings: Mapping[str, Any]) -> str:
    """The principal of a client, from its librdkafka settings."""
    if user := settings.get("sasl.username") or settings.get("sasl.kerberos.principal"):
        return f"User:{user}"
    if "SASL" in str(settings.get("security.protocol", "")):
        return "the principal of the SASL login"
    return "the principal of the client's certificate" if "ssl.certificate.pem" in settings else "User:ANONYMOUS"


def denial(settings: Mapping[str, Any], operation: str, resource: str) -> str:
    """The message for a missing right. `operation` and `resource` as kafka-acls names them: WRITE, topic orders."""
    return f"{principal(settings)} is not authorized to {operation} {resource}: grant {operation} on {resource}"


def not_authorized(settings: Mapping[str, Any], operation: str, resource: str) -> NotAuthorizedError:
    """As denial(), as an exception."""
    return NotAuthorizedError(denial(settings, operation, resource))


def too_large(settings: Mapping[str, Any], topic: str, size: int) -> RecordTooLarge:
    """The error for a record of this size, in bytes, for a storage topic, from the worker's producer."""
    limit = int(settings.get("message.max.bytes", 1_000_000))  # librdkafka's default
    limits = f"max.request.size of the worker is {limit:,}"
    if size <= limit:
        limits += f", and max.message.bytes of topic {topic} (by default message.max.bytes of the brokers) is less"
    return RecordTooLarge(
        f"A record of {size:,} bytes for topic {topic} is too large: {limits}. Make it smaller, or raise both "
        "max.request.size in the worker's properties and max.message.bytes of the topic"
    )


def with_topic(error: KafkaError, topic: str | None) -> KafkaError:
    """A producer's error; if the topic does not admit a record, with the topic and the reason, which librdkafka
    omits."""
    match error.name():
        case "TOPIC_AUTHORIZATION_FAILED":
            refusal = f"WRITE on topic {topic}"
        case error_name if error_name == TOO_LARGE:
            refusal = (
                f"a record for topic {topic} exceeds the limit of the topic or of the producer. Raise "
                "max.message.bytes of the topic and producer.override.max.request.size of the connector"
            )
        case "UNKNOWN_TOPIC_OR_PART" | "_UNKNOWN_TOPIC" | "_UNKNOWN_PARTITION":
            refusal = f"topic {topic} or the record's partition of it does not exist"
        case "INVALID_RECORD":
            refusal = (
                f"topic {topic} has cleanup.policy=compact and the record has no key, or its "
                "message.timestamp.before.max.ms or message.timestamp.after.max.ms does not allow the timestamp"
            )
        case "INVALID_TIMESTAMP":
            refusal = (
                f"message.timestamp.before.max.ms or message.timestamp.after.max.ms of topic {topic} does not allow "
                "the timestamp. Compare the clocks of this machine and of the brokers"
            )
        case "_MSG_TIMED_OUT":
            refusal = (
                f"topic {topic} has not confirmed a record within delivery.timeout.ms. Check that its partitions have "
                "a leader, or raise producer.override.delivery.timeout.ms of the connector"
            )
        case _:
            return error
    return type(error)(error.code(), f"{error.str()}: {refusal}")


def consumer_error_text(error: KafkaError, settings: Mapping[str, Any], topic: str | None) -> str:
    """The message for a right that a consumer lacks, or a setting that brokers refuse; the error's own message for
    other errors."""
    if error.name() == "INVALID_SESSION_TIMEOUT":
        timeout = settings.get("session.timeout.ms")
        lowered = ", limited by max.poll.interval.ms," if settings.get("max.poll.interval.ms") == timeout else ""
        return (
            f"{error.str()}: session.timeout.ms={timeout}{lowered} is not between the brokers' "
            "group.min.session.timeout.ms and group.max.session.timeout.ms"
        )
    if error.name() == "INCONSISTENT_GROUP_PROTOCOL":
        return (
            f"{error.str()}: other members of group {settings.get('group.id', '')} have another "
            "partition.assignment.strategy, or are not consumers"
        )
    if error.name() == "GROUP_AUTHORIZATION_FAILED":
        return denial(settings, "READ", f"group {settings.get('group.id', '')}")
    if error.name() == "TOPIC_AUTHORIZATION_FAILED":
        return denial(settings, "READ", f"topic {topic}" if topic else "one of its topics")
    return str(error.str())
