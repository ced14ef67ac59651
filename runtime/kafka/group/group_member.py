"""A worker's membership in a group of several workers, in its own threads.

The threads join, send heartbeats and prove the membership during rebalances; they report each assignment to the event
loop, which calls `released` when revoked work has stopped. A busy event loop does not end the membership: the threads
never wait for the loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.kafka.clients.kafka_python import ask, describe, evict, log_in_again
from runtime.kafka.clients.logins import credentials, current
from runtime.kafka.clients.oauth.tokens import await_token
from runtime.kafka.denials import denial
from runtime.kafka.errors import GroupOccupied, KafkaProblem
from runtime.kafka.group.ownership import MembershipProof, Ownership, Unit
from runtime.kafka.group.protocol import (
    GROUP_TYPE,
    AssignmentError,
    Lead,
    ProtocolError,
    WorkerMetadata,
    decode_metadata,
)
from runtime.system import process_identity
from runtime.system.lease_clock import lease_time

_log = logging.getLogger(__name__)

_TICK = 0.1  # seconds between two steps during a rebalance
_REST = 0.5  # seconds between two steps of a member; a rebalance begins the next one at once
_LOG_INTERVAL = 5.0  # seconds between two log lines about the same problem
_REQUEST_TIMEOUT = 5.0  # seconds for one request about the group


@dataclass(frozen=True, slots=True)
class Place:
    """The worker's place in the group since the last rebalance. `config_offset` is the offset of the config topic that
    the assignment is based on; `edition` is the edition of the ownership that the assignment created."""

    member_id: str
    generation: int
    leader: str
    leader_url: str
    config_offset: int = -1
    mismatch: bool = False
    """The leader had read less of the config topic than another member, and assigned nothing."""
    edition: int = 0

    @property
    def leads(self) -> bool:
        return self.member_id == self.leader


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds, named as the worker's properties. `rebootstrap`: without a coordinator, until the brokers are looked up
    through `bootstrap.servers`."""

    session_timeout: float = 10.0
    heartbeat_interval: float = 3.0
    rebalance_timeout: float = 60.0
    rebootstrap: float = 5.0


@dataclass(frozen=True, slots=True)
class MemberEvents:
    """Calls of the owner of a membership. The network thread calls `describe` and `lead`, the event loop the others.

    `describe` returns the worker's metadata without its units, which `ownership` adds; `lead` computes the assignments
    when this worker is the leader. `on_place` is called after each rebalance; `on_lost` when the coordinator no longer
    counts the worker as a member: all its work must stop, and it joins again; `on_refused` when the worker cannot join
    this group, which ends the membership."""

    describe: Callable[[], WorkerMetadata]
    lead: Lead
    on_place: Callable[[Place], None]
    on_lost: Callable[[], None]
    on_refused: Callable[[GroupOccupied], None]


class GroupMember:
    """Create and call on the event loop."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        group_id: str,
        client_id: str,
        times: Times = Times(),
    ) -> None:
        self._settings, self.group_id, self._client_id = dict(settings), group_id, client_id
        self.ownership = Ownership()
        self._foreign_refusal = ""
        self.process = process_identity.own_identity()
        """The identity of this process, for the worker's metadata."""
        self._times = times
        self._closing, self._rejoin, self._wake = threading.Event(), threading.Event(), threading.Event()
        self._proof = MembershipProof(self._settings, group_id)
        self._client: Any = None
        self._credentials = credentials(current(settings))
        self._coordinator: Any = None
        self._place: Place | None = None
        self._rejoin_at = float("inf")
        self._reached = 0.0  # when a step last succeeded, or the brokers were looked up; on the monotonic clock
        self._on_lost: Callable[[], None] = lambda: None
        self.trouble = ""
        """The reason why the worker is not in the group; empty while it is a member."""
        self._events: MemberEvents
        self._loop: asyncio.AbstractEventLoop
        self._threads = [
            threading.Thread(target=self._run, name="group-member", daemon=True),
            threading.Thread(target=self._prove, name="group-proof", daemon=True),
        ]

    @property
    def confirmed_until(self) -> float:
        """The lease_time() until which the coordinator certainly counts the worker as a member; 0 if it may not."""
        return self._coordinator.confirmed_until if self._coordinator is not None else 0.0

    @property
    def rebalancing(self) -> bool:
        """Whether a rebalance is under way."""
        return self._coordinator is None or self._coordinator.join_sent is not None

    def subscribe_losses(self, on_lost: Callable[[], None]) -> None:
        """Call this function on the network thread as soon as the membership is lost, before `MemberEvents.on_lost`:
        another worker may be given the work immediately, and the event loop may be busy."""
        self._on_lost = on_lost

    def start(self, events: MemberEvents, foreign_refusal: str = "") -> None:
        """Join the group, and stay in it until leave(). `foreign_refusal` is the reason why this worker does not join a
        group that has workers of another implementation; empty if it does."""
        self._events, self._foreign_refusal = events, foreign_refusal
        self._loop = asyncio.get_running_loop()
        for thread in self._threads:
            thread.start()

    def released(self, units: Iterable[Unit]) -> None:
        """Revoked work has stopped. Requests a rebalance, which may assign the work to other workers."""
        self.ownership.release(units)
        if not self.ownership.stopping:
            self.rejoin()

    def rejoin(self) -> None:
        """Request a rebalance, because configurations or this worker's metadata have changed."""
        self._rejoin.set()
        self._wake.set()

    async def evict(self, member_ids: Sequence[str]) -> None:
        """Remove members whose process has ended, so that the group does not wait for their sessions to expire."""
        request = evict(self.group_id, list(member_ids))
        await asyncio.to_thread(ask, self._settings, self.group_id, request, _REQUEST_TIMEOUT)

    async def members(self) -> dict[str, WorkerMetadata]:
        """The members by their ids, as they described themselves when they joined. Raises KafkaProblem."""
        group = await asyncio.to_thread(ask, self._settings, self.group_id, describe(self.group_id), _REQUEST_TIMEOUT)
        metadata_of = {m.member_id: _metadata(m.metadata) for m in group.members} if group is not None else {}
        return {name: metadata for name, metadata in metadata_of.items() if metadata is not None}

    async def leave(self) -> None:
        """Leave the group, so that other workers get the work immediately."""
        self._closing.set()
        self._wake.set()
        for thread in self._threads:
            if thread.ident is not None:
                await asyncio.to_thread(thread.join, 10.0)

    # The network thread

    def _run(self) -> None:
        client = None
        try:
            from runtime.kafka.group.group_coordinator import GroupCoordinator, connect

            client = self._client = connect(self._settings, self._client_id)
            self._coordinator = self._retrying(lambda: self._create(GroupCoordinator, client))
            while not self._closing.is_set():
                self._retrying(self._stay)
                self._wake.wait(self._pause())
                if not self._closing.is_set():
                    self._wake.clear()
        except GroupOccupied as error:
            self._post(self._events.on_refused, error)
        except Exception as error:  # the thread must not end without a report
            _log.exception("The membership in group %s ended", self.group_id)
            self._post(self._events.on_refused, GroupOccupied(f"membership in group {self.group_id} ended: {error}"))
        finally:
            self._close(client)

    def _create(self, coordinator: Callable[..., Any], client: Any) -> Any:
        await_token(self._settings)
        self._bootstrap()
        self._check_members()
        return coordinator(
            client,
            self.ownership,
            self._describe,
            self._events.lead,
            self._on_lost,
            self._wake.set,
            group_id=self.group_id,
            api_version=client._manager.broker_version,
            session_timeout_ms=int(self._times.session_timeout * 1000),
            heartbeat_interval_ms=int(self._times.heartbeat_interval * 1000),
            max_poll_interval_ms=int(self._times.rebalance_timeout * 1000),
        )

    def _bootstrap(self) -> None:
        self._reached = time.monotonic()
        self._client._manager.bootstrap(1000)

    def _describe(self) -> WorkerMetadata:
        """The JoinGroup that is about to be sent serves all earlier requests for a rebalance."""
        self._rejoin.clear()
        return self._events.describe()

    def _check_members(self) -> None:
        """Remove members whose process on this machine has ended, and refuse groups of other implementations."""
        group = ask(self._settings, self.group_id, describe(self.group_id), _REQUEST_TIMEOUT)
        if group is None or not group.members:
            return
        if group.protocol_type not in ("", GROUP_TYPE):
            raise GroupOccupied(
                f"group.id={self.group_id} belongs to a group of type {group.protocol_type}: choose another group.id"
            )
        metadata_of = {member.member_id: _metadata(member.metadata) for member in group.members}
        known = [(name, m.details) for name, m in metadata_of.items() if m and m.details and not m.details.elsewhere]
        dead = [name for name, details in known if process_identity.is_gone(details.process)]
        if dead:
            _log.info("Removing %d dead member(s) from group %s", len(dead), self.group_id)
            ask(self._settings, self.group_id, evict(self.group_id, dead), _REQUEST_TIMEOUT)
        if self._foreign_refusal and any(m is not None and m.details is None for m in metadata_of.values()):
            raise GroupOccupied(
                f"workers of Apache Kafka Connect are alive in group.id={self.group_id}: {self._foreign_refusal}"
            )

    def _retrying(self, step: Callable[[], Any]) -> Any:
        """The result of a step, repeated while Kafka fails; None when the worker leaves the group."""
        from kafka import errors

        logged = time.monotonic()
        while not self._closing.is_set():
            self._log_in_again()
            try:
                result = step()
            except errors.InconsistentGroupProtocolError:
                raise GroupOccupied(
                    f"the members of group.id={self.group_id} do not speak Connect's cooperative protocol: set "
                    "connect.protocol=sessioned or compatible on all workers, or choose another group.id"
                ) from None
            except GroupOccupied:
                raise
            except (errors.KafkaError, KafkaProblem) as error:
                self.trouble = self._why(error)
                self._note_loss()
                if time.monotonic() - logged >= _LOG_INTERVAL:
                    logged = time.monotonic()
                    _log.warning("Not in group %s yet: %s", self.group_id, self.trouble)
                self._closing.wait(0.5)
            else:
                self.trouble = ""
                return result
        return None

    def _log_in_again(self) -> None:
        """Use the current credentials if they have changed."""
        now = credentials(current(self._settings))
        if now != self._credentials:
            log_in_again(self._client, self._settings)
            self._credentials = now

    def _why(self, error: Exception) -> str:
        denied = type(error).__name__ == "GroupAuthorizationFailedError"
        return denial(self._settings, "READ", f"group {self.group_id}") if denied else str(error)

    def _pause(self) -> float:
        """Seconds until the next step, unless something wakes the thread."""
        coordinator = self._coordinator
        if self._place is None or coordinator is None or coordinator.need_rejoin() or self._rejoin.is_set():
            return _TICK
        return min(max(self._rejoin_at - time.monotonic(), 0.0), _REST)

    def _stay(self) -> None:
        coordinator = self._coordinator
        if time.monotonic() >= self._rejoin_at:
            self._rejoin_at = float("inf")
            self._rejoin.set()
        # kafka-python asks only the brokers of its last metadata, which may all have moved to other addresses.
        if time.monotonic() - self._reached >= self._times.rebootstrap and coordinator.join_sent is None:
            self._bootstrap()
        if self._rejoin.is_set() and coordinator.stable():  # a request during a rebalance would be forgotten at its end
            coordinator.request_rejoin()
        joined = coordinator.ensure_active_group(timeout_ms=500)
        self._note_loss()
        if not joined:
            return
        coordinator.poll_heartbeat()
        self._reached = time.monotonic()
        self._note_place()

    def _note_loss(self) -> None:
        if self._place is not None and self._coordinator is not None and self._coordinator.assignment is None:
            self._place = None
            _log.warning("Group %s no longer counts this worker as a member: joining again", self.group_id)
            self._post(self._events.on_lost)

    def _note_place(self) -> None:
        metadata, assignment = self._coordinator.group_metadata(), self._coordinator.assignment
        if assignment is None or not self._coordinator.stable():
            return
        place = Place(
            metadata.member_id,
            metadata.generation_id,
            assignment.leader,
            assignment.leader_url,
            assignment.config_offset,
            assignment.error is AssignmentError.CONFIG_MISMATCH,
            self.ownership.edition,
        )
        if self._place is not None and place.member_id != self._place.member_id:  # lost, and joined again at once
            self._post(self._events.on_lost)
        elif self._place is not None and place.generation == self._place.generation:
            return
        self._place = place
        if assignment.delay:
            self._rejoin_at = time.monotonic() + assignment.delay / 1000
        _log.info(
            "Group %s, generation %d: %s, %d connectors and tasks here, %d to stop",
            self.group_id,
            place.generation,
            "this worker is the leader" if place.leads else f"the leader is {place.leader_url}",
            len(self.ownership.running),
            len(self.ownership.stopping),
        )
        self._post(self._events.on_place, place)

    def _close(self, client: Any) -> None:
        from kafka import errors

        try:
            if self._coordinator is not None:
                self._coordinator.close(timeout_ms=2000)
            if client is not None:
                client.close()
        except errors.KafkaError as error:
            _log.info("Could not leave group %s: %s", self.group_id, error)

    # The thread that proves the membership

    def _prove(self) -> None:
        interval = self._times.heartbeat_interval
        while not self._closing.wait(interval / 2):
            coordinator = self._coordinator
            pending = coordinator.join_sent if coordinator is not None else None
            if pending is None or lease_time() - pending < interval:
                continue
            current = coordinator.group_metadata()
            if not current.member_id:
                continue
            since = self._proof.since(current.member_id, current.generation_id)
            if since is not None:
                coordinator.proven(since)
        self._proof.close()

    def _post(self, call: Callable[..., object], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *args)


def _metadata(data: bytes) -> WorkerMetadata | None:
    """The metadata of a member; None while the coordinator does not have it, or if it cannot be read."""
    try:
        return decode_metadata(data) if data else None
    except ProtocolError:
        return None
