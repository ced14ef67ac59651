"""Connect's group protocol over kafka-python's group machinery. Importing this takes 0.3 seconds: from threads only.

`BaseCoordinator` is not public API; kafka-python is pinned. All methods here run on its network thread."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka import coordinator
from kafka.net.compat import KafkaNetClient

from runtime.kafka.clients.next_address import FAILED_LAST
from runtime.kafka.clients.settings import kafka_python_config
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.group.ownership import Ownership
from runtime.kafka.group.protocol import (
    GROUP_TYPE,
    PROTOCOL_NAMES,
    Assignment,
    Lead,
    ProtocolError,
    WorkerMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
    refusals,
)
from runtime.system.lease_clock import lease_time

_log = logging.getLogger(__name__)

OFFERED = (2, 1)
"""Protocol versions offered, the preferred one first. Version 0 would stop all work in each rebalance."""


class ConfirmingHeartbeat(coordinator.heartbeat.Heartbeat):  # type: ignore[misc]  # kafka-python has no types
    """Records the time until which the coordinator certainly counts this worker as a member."""

    confirmed_until = 0.0
    _sent = 0.0

    def __init__(self, clock: Callable[[], float], **configs: Any) -> None:
        super().__init__(**configs)
        self._clock = clock

    def sent_heartbeat(self) -> None:
        super().sent_heartbeat()
        self._sent = self._clock()

    def received_heartbeat(self) -> None:
        super().received_heartbeat()
        self.confirm(self._sent)  # from the time of sending: the coordinator's timer started later

    @property
    def duration(self) -> float:
        """Seconds for which a confirmation holds. The coordinator removes a member after its session timeout; or after
        the rebalance timeout, if a rebalance starts right after the confirmation and the member does not join."""
        return float(min(self.config["session_timeout_ms"], self.config["max_poll_interval_ms"])) / 1000

    def confirm(self, since: float) -> None:
        self.confirmed_until = since + self.duration


class GroupCoordinator(coordinator.base.BaseCoordinator):  # type: ignore[misc]  # kafka-python has no types
    """One worker's membership. `describe` returns the worker's metadata without its allocation; `on_lost` is called at
    once when the coordinator no longer counts the worker as a member, `on_rejoin` when it must join again."""

    def __init__(
        self, client: Any, ownership: Ownership, describe: Callable[[], WorkerMetadata], lead: Lead,
        on_lost: Callable[[], None], on_rejoin: Callable[[], None], clock: Callable[[], float] = lease_time,
        **configs: Any,
    ) -> None:  # fmt: skip
        super().__init__(client, **configs)
        self.heartbeat = ConfirmingHeartbeat(clock, **self.config)
        self._ownership, self._describe, self._lead = ownership, describe, lead
        self._on_lost, self._on_rejoin = on_lost, on_rejoin
        self._clock, self._joined = clock, 0.0
        self.join_sent: float | None = None
        """When the pending JoinGroup was sent (lease_time()); None while none is pending."""
        self.assignment: Assignment | None = None

    def protocol_type(self) -> str:
        return GROUP_TYPE

    def group_protocols(self) -> list[tuple[str, bytes]]:
        """The metadata, once for each version offered. Called when JoinGroup is about to be sent."""
        described = self._describe()
        self.join_sent = self._clock()
        return [
            (
                PROTOCOL_NAMES[version],
                encode_metadata(
                    dataclasses.replace(described, version=version, allocation=self._ownership.allocation(version))
                ),
            )
            for version in OFFERED
        ]

    def _process_join_group_response(self, response: Any, send_time: float) -> Any:
        self._joined, self.join_sent = self._clock(), None
        return super()._process_join_group_response(response, send_time)

    async def _do_join_and_sync_async(self) -> Any:
        try:
            return await super()._do_join_and_sync_async()
        finally:
            self.join_sent = None  # also if the request could not be sent or was not answered

    def _perform_assignment(self, leader_id: str, protocol: str, members: Sequence[Any]) -> dict[str, bytes]:
        version = next(v for v, name in PROTOCOL_NAMES.items() if name == protocol)
        decided = self._decide(leader_id, {m.member_id: bytes(m.metadata) for m in members})
        return {name: encode_assignment(dataclasses.replace(a, version=version)) for name, a in decided.items()}

    def _decide(self, leader_id: str, members: Mapping[str, bytes]) -> Mapping[str, Assignment]:
        """The assignments. Nothing is assigned while the metadata of a member cannot be read: the work of that member
        is unknown. Raising would end this worker, and then each next leader."""
        known, unreadable = {}, {}
        for name, metadata in members.items():
            try:
                known[name] = decode_metadata(metadata)
            except ProtocolError as e:
                unreadable[name] = str(e)
        if not unreadable:
            return self._lead(leader_id, known)
        _log.error(
            "Nothing is assigned in group %s: the metadata of these members is not Connect's (%s). End these members, "
            "or give them another group.id",
            self.group_id,
            ", ".join(f"{name}: {why}" for name, why in unreadable.items()),
        )
        return refusals(leader_id, known, members)

    async def _on_join_complete_async(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        try:
            decoded = decode_assignment(bytes(assignment))
        except ProtocolError as e:
            self.request_rejoin()
            raise KafkaProblem(f"the assignment of the leader is not Connect's: {e}") from None
        self._ownership.apply(decoded)
        self.assignment = decoded
        self.heartbeat.confirm(self._joined)  # SyncGroup was sent later, and counts as a heartbeat

    def reset_generation(self, member_id: str = "") -> None:
        """Without a member id the membership is lost, or has not started. With a member id the worker only missed a
        generation: the coordinator still counts it as a member, and no other worker has its work."""
        if not member_id:
            was_member, self.heartbeat.confirmed_until = self.heartbeat.confirmed_until > 0, 0.0
            if was_member:
                self._on_lost()
            self._ownership.lose()
            self.assignment = None
        super().reset_generation(member_id)
        self._on_rejoin()

    def request_rejoin(self) -> None:
        super().request_rejoin()
        self._on_rejoin()

    def proven(self, since: float) -> None:
        """The coordinator confirmed the membership on another connection, in answer to a request sent at `since`."""
        if self.join_sent is not None:
            self.heartbeat.confirm(max(since, self.heartbeat.confirmed_until - self.heartbeat.duration))

    @property
    def confirmed_until(self) -> float:
        """The lease_time() until which the coordinator certainly counts the worker as a member."""
        return float(self.heartbeat.confirmed_until)


def connect(settings: Mapping[str, Any], client_id: str) -> Any:
    """A client whose I/O thread is running; not connected yet."""
    reaching = {**kafka_python_config(settings), **FAILED_LAST}
    client = KafkaNetClient(**reaching, client_id=client_id, reconnect_backoff_max_ms=1000)
    client._manager._net.start()
    return client
