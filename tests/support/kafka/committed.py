"""Records of topics that are written in transactions."""

from __future__ import annotations

from typing import Any

import orjson

from runtime.model.task_spec import SourceOffset, TaskSpec
from tests.support.broker import KafkaBroker
from tests.support.kafka import topics


def committed(broker: KafkaBroker, topic: str, isolation: str = "read_committed") -> list[Any]:
    """The messages of all partitions that a consumer with this isolation level can read now."""
    return topics.messages(broker.bootstrap, topic, isolation=isolation)


def values(broker: KafkaBroker, topic: str, isolation: str = "read_committed") -> list[bytes | None]:
    """The values of committed(), in order."""
    return [message.value() for message in committed(broker, topic, isolation)]


def committed_offsets(broker: KafkaBroker, spec: TaskSpec) -> list[SourceOffset]:
    """The committed source offsets of the spec's connector."""
    newest = {message.key(): message.value() for message in committed(broker, spec.offsets_topic)}
    return [
        SourceOffset(orjson.loads(key)[1], orjson.loads(value), key.decode())
        for key, value in newest.items()
        if value is not None and orjson.loads(key)[0] == spec.connector
    ]
