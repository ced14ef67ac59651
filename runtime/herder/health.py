"""How the worker is, for GET / and GET /health."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import runtime


class Cluster(Protocol):
    """What is known of the Kafka cluster."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def error(self) -> str: ...


@dataclass(slots=True)
class WorkerHealth:
    """Ready once the stores have been read; in trouble while Kafka is away."""

    cluster: Cluster
    ready: bool = False
    waiting_for: str = "Kafka"

    @property
    def trouble(self) -> str | None:
        if self.cluster.error:
            return self.cluster.error
        return None if self.ready else f"waiting for {self.waiting_for}"

    @property
    def root(self) -> dict[str, str | None]:
        commit = f"headrace-{runtime.__version__}"
        return {
            "version": runtime.CONNECT_VERSION,
            "commit": commit,
            "kafka_cluster_id": self.cluster.cluster_id or None,
        }
