"""Proves membership while a rebalance is under way, by heartbeats on a separate connection.

A broker answers JoinGroup only when all members have joined or the rebalance timeout has expired, and reads nothing
else from that connection meanwhile. Another member that hangs would therefore end the leases of healthy workers. A
heartbeat on a second connection is answered with REBALANCE_IN_PROGRESS for members, with UNKNOWN_MEMBER_ID for others.

The answer proves nothing for a worker that has not sent its JoinGroup: the coordinator answers it in the same way, and
removes the worker when the rebalance timeout ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.kafka.clients.kafka_python import open_admin
from runtime.system.lease_clock import lease_time

_REQUEST_TIMEOUT = 2.0
"""Seconds for one request; a later answer would not extend the lease."""


class MembershipProof:
    """Opens its connection with the first request. Called from one thread; blocks."""

    def __init__(self, settings: Mapping[str, Any], group_id: str) -> None:
        self._settings, self._group_id = settings, group_id
        self._admin: Any = None

    def since(self, member_id: str, generation: int) -> float | None:
        """The lease_time() at which the request was sent, if the coordinator confirms the membership; else None."""
        from kafka import errors

        sent = lease_time()
        try:
            code = self._ask(member_id, generation)
        except errors.KafkaError:
            self.close()  # the coordinator may have moved
            return None
        return sent if errors.for_code(code) in (errors.NoError, errors.RebalanceInProgressError) else None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _ask(self, member_id: str, generation: int) -> int:
        from kafka.protocol.consumer import HeartbeatRequest

        if self._admin is None:
            self._admin = open_admin(self._settings, _REQUEST_TIMEOUT)
        admin = self._admin
        request = HeartbeatRequest(
            group_id=self._group_id, generation_id=generation, member_id=member_id, group_instance_id=None
        )

        async def send() -> int:
            node = (await admin._find_coordinator_ids([self._group_id]))[self._group_id]
            return int((await admin._manager.send(request, node_id=node)).error_code)

        return int(admin._manager.run(send))
