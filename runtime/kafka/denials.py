"""Missing rights in Kafka, named so that they can be granted: principal, operation and resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.kafka.errors import NotAuthorizedError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_NAMES = ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")


def is_denial(error: KafkaError) -> bool:
    """Whether the broker refused for want of a right."""
    return error.name() in _NAMES


def principal(settings: Mapping[str, Any]) -> str:
    """Whom the brokers know a client as, from its librdkafka settings."""
    if user := settings.get("sasl.username") or settings.get("sasl.kerberos.principal"):
        return f"User:{user}"
    if "SASL" in str(settings.get("security.protocol", "")):
        return "the principal of the SASL login"
    certified = any(k in settings for k in ("ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location"))
    return "the principal of the client's certificate" if certified else "User:ANONYMOUS"


def denial(settings: Mapping[str, Any], operation: str, resource: str) -> str:
    """`operation` and `resource` as kafka-acls names them: WRITE, topic orders."""
    return f"{principal(settings)} is not authorized to {operation} {resource}: grant {operation} on {resource}"


def not_authorized(settings: Mapping[str, Any], operation: str, resource: str) -> NotAuthorizedError:
    return NotAuthorizedError(denial(settings, operation, resource))


def unwritten(error: KafkaError, topic: str | None) -> KafkaError:
    """The error of a producer, which does not name the topic that may not be written."""
    if error.name() != "TOPIC_AUTHORIZATION_FAILED":
        return error
    return type(error)(error.code(), f"{error.str()}: WRITE on topic {topic}")


def of_consumer(error: KafkaError, settings: Mapping[str, Any], topic: str | None) -> str:
    """What a consumer was refused; the error's own words for anything that is not about rights."""
    if error.name() == "GROUP_AUTHORIZATION_FAILED":
        return denial(settings, "READ", f"group {settings.get('group.id', '')}")
    if error.name() == "TOPIC_AUTHORIZATION_FAILED":
        return denial(settings, "READ", f"topic {topic}" if topic else "one of its topics")
    return str(error.str())
