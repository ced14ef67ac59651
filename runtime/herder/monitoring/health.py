"""How the worker is, for GET / and GET /health."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import runtime


class ClusterStatus(Protocol):
    """What is known of the Kafka cluster."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def error(self) -> str: ...


class MembershipStatus(Protocol):
    """The worker's membership in its group, as far as it is confirmed."""

    @property
    def trouble(self) -> str:
        """Why the membership is not confirmed; empty while it is."""


@dataclass(slots=True)
class WorkerHealth:
    """Ready once the stores have been read; in trouble while Kafka is away."""

    cluster: ClusterStatus
    ready: bool = False
    waiting_for: str = "Kafka"
    place: MembershipStatus | None = None

    @property
    def trouble(self) -> str | None:
        if self.cluster.error:
            return self.cluster.error
        trouble = self.place.trouble if self.place is not None else ""
        if self.ready:
            return trouble or None
        return f"waiting for {self.waiting_for}{f': {trouble}' if trouble else ''}"

    @property
    def root(self) -> dict[str, str | None]:
        commit = f"headrace-{runtime.__version__}"
        return {
            "version": runtime.CONNECT_VERSION,
            "commit": commit,
            "kafka_cluster_id": self.cluster.cluster_id or None,
        }
