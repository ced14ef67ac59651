"""The units of work that a worker owns in its group, and claims in its metadata.

A worker claims every unit that it may still be running. Work that the leader revoked stays claimed until it
has stopped, so that no other worker starts it earlier; work of a lost membership is not claimed at all, since the
leader may have assigned it to another worker, and the expired lease ends it (KIP-415).

    state of a unit   assigned        revoked          released       membership lost
    not owned         owned           -                -              -
    owned             owned           stopping         not owned      not owned
    stopping          owned           stopping         not owned      not owned

A worker that is alone in its group adopts new units without a rebalance. That is safe while its next claims have not
been computed: another worker receives nothing before this worker has joined again with all its claims.

Thread-safe: the network thread applies assignments, the event loop releases and adopts units.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.kafka.clients.kafka_python import open_admin
from runtime.kafka.group.protocol import Assignment, AssignmentError, Work
from runtime.system.lease_clock import lease_time

# Proves membership while a rebalance is under way, by heartbeats on a separate connection.
#
# A broker responds to JoinGroup only when all members have joined or the rebalance timeout has expired, and reads
# nothing else from that connection meanwhile. Another member that hangs would therefore end the leases of healthy
# workers. A heartbeat on a second connection is answered with REBALANCE_IN_PROGRESS for members, with UNKNOWN_MEMBER_ID
# for others.
#
# The response proves nothing for a worker that has not sent its JoinGroup: the coordinator responds to it in the same
# way, and removes the worker when the rebalance timeout ends.
_REQUEST_TIMEOUT = 2.0
"""Seconds for one request; a later response would not extend the lease."""


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


Unit = tuple[str, int]
"""A connector's name and the number of a task, or `protocol.CONNECTOR` for the connector itself."""


class Ownership:
    """The units of one worker, by the last assignment it received."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owned: set[Unit] = set()
        self._stopping: set[Unit] = set()
        self._last: Assignment | None = None
        self._edition = 0
        self._claimed = False  # the claims for the next assignment have been computed

    @property
    def running(self) -> frozenset[Unit]:
        """The units that should run here."""
        with self._lock:
            return frozenset(self._owned)

    @property
    def edition(self) -> int:
        """Rises with each assignment and each loss of the membership."""
        with self._lock:
            return self._edition

    @property
    def stopping(self) -> frozenset[Unit]:
        """Units that must stop, and are still claimed."""
        with self._lock:
            return frozenset(self._stopping)

    def apply(self, assignment: Assignment) -> None:
        """Apply an assignment. An assignment with an error changes nothing: the worker joins again.

        Version 0 lists all units that the worker owns; later versions list added and revoked units. A unit that was
        stopping and is not revoked again stays with this worker and runs again."""
        assigned, revoked = set(_units(assignment.assigned)), set(_units(assignment.revoked))
        with self._lock:
            self._edition, self._claimed = self._edition + 1, False
            if assignment.error is not AssignmentError.NONE:
                return
            self._last = assignment
            claimed = self._owned | self._stopping
            if assignment.version == 0:
                self._owned, self._stopping = assigned, claimed - assigned
            else:
                self._owned = (claimed | assigned) - revoked
                self._stopping = claimed & revoked

    def release(self, units: Iterable[Unit]) -> None:
        """These units have stopped. Units that a later assignment returned to this worker stay owned."""
        with self._lock:
            self._stopping -= set(units)

    def adopt(self, units: Iterable[Unit], edition: int) -> bool:
        """Own these units without a rebalance, for the only worker of a group. False if the assignment of `edition` is
        no longer the last one, or a rebalance is under way."""
        with self._lock:
            if self._claimed or edition != self._edition or self._last is None:
                return False
            self._owned |= set(units)
            return True

    def drop(self, units: Iterable[Unit]) -> None:
        """These units no longer exist and do not run here."""
        with self._lock:
            self._owned -= set(units)

    def lose(self) -> None:
        """The group no longer counts this worker as a member."""
        with self._lock:
            self._owned, self._stopping, self._last = set(), set(), None
            self._edition, self._claimed = self._edition + 1, False

    def allocation(self, version: int) -> Assignment | None:
        """The units that the worker claims when it joins; None before its first assignment."""
        with self._lock:
            self._claimed = True
            if self._last is None:
                return None
            last = self._last
            return Assignment(
                last.leader, last.leader_url, last.config_offset, _work(self._owned | self._stopping), version=version
            )


def _units(work: Work) -> Iterable[Unit]:
    return ((connector, task) for connector, tasks in work.items() for task in tasks)


def _work(units: Iterable[Unit]) -> Work:
    by_connector: dict[str, list[int]] = defaultdict(list)
    for connector, task in sorted(units):
        by_connector[connector].append(task)
    return {connector: tuple(tasks) for connector, tasks in by_connector.items()}
