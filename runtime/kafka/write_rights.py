"""Which topics a principal may not write: brokers do not name the topic that a transaction was refused for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from runtime.kafka.clients.open_clients import admin_client

_TIMEOUT = 5.0  # seconds


def without_write(settings: Mapping[str, Any], topics: Collection[str]) -> list[str]:
    """Those of the topics that the principal may not write; all of them if Kafka does not answer. `settings` are a
    producer's. Blocks."""
    from confluent_kafka import KafkaException, TopicCollection
    from confluent_kafka.admin._acl import AclOperation

    denied = []
    with admin_client({k: v for k, v in settings.items() if not k.startswith("transaction")}) as admin:
        asked = admin.describe_topics(
            TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=_TIMEOUT
        )
        for topic, answer in asked.items():
            try:
                allowed = answer.result().authorized_operations or []
            except KafkaException:  # also without DESCRIBE, which WRITE includes
                allowed = []
            if AclOperation.WRITE not in allowed:
                denied.append(topic)
    return sorted(denied or topics)
