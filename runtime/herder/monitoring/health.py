"""The worker's health, for GET / and GET /health."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import runtime


class ClusterStatus(Protocol):
    """The connection to the Kafka cluster."""

    @property
    def cluster_id(self) -> str:
        """The cluster id; empty until the cluster has answered."""

    @property
    def error(self) -> str:
        """The reason why the cluster cannot be reached; empty while the cluster answers."""


class MembershipStatus(Protocol):
    """The worker's membership in its group."""

    @property
    def trouble(self) -> str:
        """The reason why the membership is not confirmed; empty while it is confirmed."""


@dataclass(slots=True)
class WorkerHealth:
    """`ready` once the worker serves requests; until then, `waiting_for` names the missing part."""

    cluster: ClusterStatus
    ready: bool = False
    waiting_for: str = "Kafka"
    membership: MembershipStatus | None = None

    @property
    def trouble(self) -> str | None:
        """The reason why the worker is not ready or not healthy; None if the worker is ready and healthy."""
        if self.cluster.error:
            return self.cluster.error
        trouble = self.membership.trouble if self.membership is not None else ""
        if self.ready:
            return trouble or None
        return f"waiting for {self.waiting_for}{f': {trouble}' if trouble else ''}"

    @property
    def root(self) -> dict[str, str | None]:
        """GET /."""
        commit = f"headrace-{runtime.__version__}"
        return {
            "version": runtime.CONNECT_VERSION,
            "commit": commit,
            "kafka_cluster_id": self.cluster.cluster_id or None,
        }
