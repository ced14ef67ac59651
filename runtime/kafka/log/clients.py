"""Settings of the Kafka clients of storage topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LogClients:
    """librdkafka settings that reach one cluster, for each kind of client: the principals may differ."""

    admin: Mapping[str, Any]
    consumer: Mapping[str, Any]
    producer: Mapping[str, Any]

    @classmethod
    def alike(cls, settings: Mapping[str, Any]) -> LogClients:
        """The same settings for all clients."""
        return cls(settings, settings, settings)
