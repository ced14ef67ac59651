"""Connect's worker group, on kafka-python's group coordination. The import takes 0.3 seconds: from threads only.

`BaseCoordinator` is not public API; kafka-python is pinned, and only this folder uses it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.coordinator.base import BaseCoordinator
from kafka.coordinator.heartbeat import Heartbeat
from kafka.net.compat import KafkaNetClient

from runtime.kafka.clients.settings import kafka_python_config
from runtime.kafka.group.protocol import GROUP_TYPE

PROTOCOL = "headrace"


class ConfirmingHeartbeat(Heartbeat):  # type: ignore[misc]  # kafka-python has no types
    """Records until when the coordinator is certain to count this worker as a member."""

    confirmed_until = 0.0

    def received_heartbeat(self) -> None:
        super().received_heartbeat()
        self.confirm(self.last_send)  # from the time of sending: the coordinator's timer started later

    def confirm(self, since: float) -> None:
        self.confirmed_until = since + self.config["session_timeout_ms"] / 1000


class WorkerCoordinator(BaseCoordinator):  # type: ignore[misc]  # likewise
    """A group member. The leader holds the group, and its assignments name it to all members."""

    def __init__(self, client: Any, metadata: Mapping[str, Any], **configs: Any) -> None:
        super().__init__(client, **configs)
        self.heartbeat = ConfirmingHeartbeat(**self.config)
        self._metadata = json.dumps(metadata).encode()
        self._join_answered = 0.0
        self.assignment: dict[str, Any] = {}

    @property
    def confirmed_until(self) -> float:
        """The time.monotonic() until which the coordinator is certain to count this worker as a member."""
        return float(self.heartbeat.confirmed_until)

    def protocol_type(self) -> str:
        return GROUP_TYPE

    def group_protocols(self) -> list[tuple[str, bytes]]:
        return [(PROTOCOL, self._metadata)]

    def _perform_assignment(self, leader_id: str, protocol: str, members: Sequence[Any]) -> dict[str, bytes]:
        """Called on the leader, which joined first: it holds the group."""
        holder = json.loads(self._metadata)
        answer = {"holder": leader_id, "url": holder.get("url", "")}
        return {m.member_id: json.dumps(answer).encode() for m in members}

    def _process_join_group_response(self, response: Any, send_time: float) -> Any:
        self._join_answered = time.monotonic()
        return super()._process_join_group_response(response, send_time)

    async def _on_join_complete_async(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self.assignment = json.loads(bytes(assignment))
        if self.assignment["holder"] == member_id:
            self.heartbeat.confirm(self._join_answered)  # SyncGroup was sent later, and counts as a heartbeat

    def reset_generation(self, *args: Any, **kwargs: Any) -> None:
        self.heartbeat.confirmed_until = 0.0
        super().reset_generation(*args, **kwargs)


def connect(settings: Mapping[str, Any], client_id: str) -> Any:
    """A client whose I/O thread is running; not connected yet."""
    client = KafkaNetClient(**kafka_python_config(settings), client_id=client_id, reconnect_backoff_max_ms=1000)
    client._manager._net.start()
    return client
