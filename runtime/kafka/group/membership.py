"""Membership in Connect's worker group, through Kafka's group coordinator: one worker per group.id."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runtime.kafka.clients.kafka_python import Group, Member, ask, describe, evict
from runtime.kafka.denials import denial
from runtime.kafka.errors import GroupOccupied, KafkaProblem
from runtime.kafka.group import process_identity

_log = logging.getLogger(__name__)
_POLL_INTERVAL = 0.2  # seconds between two checks of the group
_LOG_INTERVAL = 5.0  # seconds between two log lines about the same problem
_REQUEST_TIMEOUT = 5.0  # seconds for one request


@dataclass(frozen=True, slots=True)
class Joined:
    """This worker's membership; statuses record the generation."""

    member_id: str
    generation: int


class Membership:
    """Joins the group, stays in it and leaves it, on its own thread. Create and call on the event loop.

    `settings` are librdkafka settings that reach the cluster; times are in seconds. `on_lost` is called on the event
    loop, with the reason, if another worker holds the group after a time without contact: the worker must stop."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        group_id: str,
        url: str,
        on_lost: Callable[[str], None],
        session_timeout: float = 10.0,
        heartbeat: float = 3.0,
        rebalance_timeout: float = 60.0,
    ) -> None:
        self._settings, self._group_id, self._url = dict(settings), group_id, url
        self._on_lost = on_lost
        self._times = {
            "session_timeout_ms": int(session_timeout * 1000),
            "heartbeat_interval_ms": int(heartbeat * 1000),
            "max_poll_interval_ms": int(rebalance_timeout * 1000),
        }
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="group-member", daemon=True)
        self._coordinator: Any = None
        self._joined: Joined | None = None
        self.trouble = ""  # why the membership is not confirmed; empty while confirmed
        self._loop: asyncio.AbstractEventLoop
        self._first: asyncio.Future[Joined]

    @property
    def joined(self) -> Joined | None:
        """The current membership; the generation rises when another worker tries to join."""
        return self._joined

    @property
    def confirmed_until(self) -> float:
        """The time.monotonic() until which the coordinator is certain to count this worker as a member; 0 if it is
        not."""
        return self._coordinator.confirmed_until if self._coordinator is not None else 0.0

    async def join(self) -> Joined:
        """Join, waiting for Kafka as long as necessary. GroupOccupied names the other worker and the remedy."""
        self._loop = asyncio.get_running_loop()
        self._first = self._loop.create_future()
        self._thread.start()
        return await asyncio.shield(self._first)

    async def leave(self) -> None:
        """Leave, so that another worker may join immediately."""
        self._closing.set()
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join, 10.0)

    # The thread

    def _run(self) -> None:
        from runtime.kafka.group.coordinator import WorkerCoordinator, connect

        client = None
        try:
            client = connect(self._settings, f"connect-{urlsplit(self._url).netloc}")
            if not self._retried(lambda: self._check_members(client)):
                return
            self._coordinator = WorkerCoordinator(
                client,
                {"url": self._url, **process_identity.own_identity()},
                group_id=self._group_id,
                api_version=client._manager.broker_version,
                **self._times,
            )
            while self._retried(self._stay):
                self._closing.wait(_POLL_INTERVAL)
        except GroupOccupied as e:
            self._post(self._refuse, e)
        except Exception as e:
            _log.exception("Membership in group %s ended", self._group_id)
            self._post(self._refuse, GroupOccupied(f"membership in group {self._group_id} ended: {e}"))
        finally:
            self._close(client)

    def _retried(self, step: Callable[[], None]) -> bool:
        """Run a step, repeating it while Kafka fails; False when the worker leaves the group."""
        from kafka import errors

        logged_at = time.monotonic()
        while not self._closing.is_set():
            try:
                step()
                self.trouble = ""
                return not self._closing.is_set()
            except errors.InconsistentGroupProtocolError:
                raise self._java_group() from None
            except (errors.KafkaError, KafkaProblem) as e:
                if isinstance(e, GroupOccupied):
                    raise
                self.trouble = self._why(e)
                if time.monotonic() - logged_at >= _LOG_INTERVAL:
                    logged_at = time.monotonic()
                    _log.warning("Still trying to join group %s: %s", self._group_id, self.trouble)
                self._closing.wait(0.5)
        return False

    def _why(self, error: Exception) -> str:
        """The error as text; if a right is missing, its name."""
        denied = type(error).__name__ == "GroupAuthorizationFailedError"
        return denial(self._settings, "READ", f"group {self._group_id}") if denied else str(error)

    def _check_members(self, client: Any) -> None:
        """Check the group's members. A killed worker would hold the group for a whole session, so it is removed."""
        client._manager.bootstrap(1000)
        group = ask(self._settings, self._group_id, describe(self._group_id), _REQUEST_TIMEOUT)
        if group is None or not group.members:
            return
        dead = [m.member_id for m in group.members if process_identity.is_gone(_metadata(m))]
        if dead:
            _log.info("Removing %d dead member(s) from group %s", len(dead), self._group_id)
            ask(self._settings, self._group_id, evict(self._group_id, dead), _REQUEST_TIMEOUT)
        living = [_metadata(m) for m in group.members if m.member_id not in dead]
        here = [m for m in living if m.get("machine") == process_identity.own_identity()["machine"]]
        if here:
            raise self._occupied(str(here[0].get("url")))
        self._refuse_foreign(group)

    def _refuse_foreign(self, group: Group) -> None:
        from runtime.kafka.group.protocol import GROUP_TYPE

        if group.protocol_type not in ("", GROUP_TYPE):
            raise GroupOccupied(
                f"group.id={self._group_id} belongs to a group of type {group.protocol_type}: choose another group.id"
            )

    def _stay(self) -> None:
        """Join or rejoin if necessary, and send heartbeats."""
        coordinator = self._coordinator
        if not coordinator.ensure_active_group(timeout_ms=1000):
            return
        coordinator.poll_heartbeat()
        now = coordinator.group_metadata()
        holder = coordinator.assignment.get("holder")
        if not coordinator.stable():
            return
        if holder != now.member_id:
            raise self._occupied(str(coordinator.assignment.get("url")))
        joined = Joined(now.member_id, now.generation_id)
        if joined != self._joined:
            self._joined = joined
            _log.info("Member of group %s: generation %d", self._group_id, joined.generation)
            self._post(self._accept, joined)

    def _close(self, client: Any) -> None:
        from kafka import errors

        try:
            if self._coordinator is not None:
                self._coordinator.close(timeout_ms=2000)
            if client is not None:
                client.close()
        except errors.KafkaError as e:
            _log.info("Could not leave group %s: %s", self._group_id, e)

    def _occupied(self, url: str) -> GroupOccupied:
        return GroupOccupied(
            f"the worker at {url} already runs group.id={self._group_id}, and this version runs one worker per group: "
            "stop that worker, or set another group.id and other storage topics"
        )

    def _java_group(self) -> GroupOccupied:
        return GroupOccupied(
            f"workers of Apache Kafka Connect are alive in group.id={self._group_id}: stop all of them to take over "
            "the cluster (a killed worker counts as alive for its session.timeout.ms), or set another group.id"
        )

    def _post(self, call: Callable[..., object], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *args)

    # The event loop

    def _accept(self, joined: Joined) -> None:
        if not self._first.done():
            self._first.set_result(joined)

    def _refuse(self, error: GroupOccupied) -> None:
        if not self._first.done():
            self._first.set_exception(error)
        else:
            self._on_lost(str(error))


def _metadata(member: Member) -> dict[str, Any]:
    """The metadata of a Headrace worker; empty for other members."""
    try:
        found = json.loads(member.metadata)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
