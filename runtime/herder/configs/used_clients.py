"""The Kafka clients that the tasks of a connector use."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.types import java_trim
from runtime.herder.configs.topic_creation import PREFIX
from runtime.model.states import ConnectorType

OFFSETS_TOPIC = "offsets.storage.topic"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"


def used_clients(kind: str, config: Mapping[str, str], transactional: bool) -> list[str]:
    """Of "producer", "consumer" and "admin" those that the connector uses; overrides of the others have no effect. A
    source with an offset topic of its own, as with exactly-once, also reads and creates that topic (KIP-618)."""
    if kind == ConnectorType.SINK:
        return ["producer", "consumer", "admin"] if java_trim(config.get(_DEAD_LETTERS, "")) else ["consumer"]
    if transactional or java_trim(config.get(OFFSETS_TOPIC, "")):
        return ["producer", "consumer", "admin"]
    return ["producer", "admin"] if any(key.startswith(PREFIX) for key in config) else ["producer"]
