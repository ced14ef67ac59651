"""Notices workers whose processes have ended, before their sessions expire.

The leader keeps a connection to every other worker, the others one to the leader. When a process ends, its kernel
closes its connections; if the next connection is refused, no process listens at the address, unlike silence, which may
be a slow network: the session timeout decides about that. A Headrace worker listens until its tasks have ended; other
implementations stop listening earlier, so they are not checked. A worker that advertises a wrong address would be
refused, too, so a worker on another machine is removed only if its address has accepted a connection before. Slots on a
cluster may outlive their worker by their leases: such workers are removed when their sessions expire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import cast
from urllib.parse import urlsplit

from runtime.herder.group.group import GroupWorkerInfo
from runtime.herder.group.worker_group import WorkerGroup
from runtime.kafka.errors import KafkaProblem
from runtime.system import process_identity
from runtime.system.repeating import repeat

_log = logging.getLogger(__name__)

INTERVAL, TIMEOUT, CONFIRMATION = 0.5, 1.0, 0.2
"""Seconds between two checks, for one connection, and until a refusal is checked again."""

_TLS_HANDSHAKE = b"\x16"


class PeerConnection(asyncio.Protocol):
    """A connection to another worker, on which no request is sent. The worker closes it after some time, and its kernel
    when the process ends. Then `on_lost` is called, at the earliest INTERVAL seconds after the connection was made: a
    worker that has too many connections closes each at once."""

    def __init__(self, on_lost: Callable[[], None], greeting: bytes = b"") -> None:
        self.lost = False
        self._on_lost, self._greeting = on_lost, greeting
        self._loop = asyncio.get_running_loop()
        self._made = self._loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._greeting)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self._loop.call_at(max(self._made + INTERVAL, self._loop.time()), self._on_lost)

    def close(self) -> None:
        """Close the connection, without a call of `on_lost`."""
        self._on_lost = lambda: None
        self._transport.abort()


async def connect(url: str, on_lost: Callable[[], None]) -> PeerConnection | None:
    """A connection to the process that listens at the address; None without a response. Raises ConnectionRefusedError
    or ConnectionResetError if none listens."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 0
        # a listener with TLS leaves silent connections in the kernel, which would not tell of the process's end
        greeting = _TLS_HANDSHAKE if parts.scheme == "https" else b""
        async with asyncio.timeout(TIMEOUT):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: PeerConnection(on_lost, greeting), host, port
            )
            return connection
    except (ConnectionRefusedError, ConnectionResetError):
        raise
    except (OSError, TimeoutError, ValueError):  # of an address that is not one
        return None


Connect = Callable[[str, Callable[[], None]], Awaitable[PeerConnection | None]]


class PeerWatch:
    """Checks the other workers from start() to close(). Event loop only."""

    def __init__(self, group: WorkerGroup, every: float = INTERVAL, connect: Connect = connect) -> None:
        self._group, self._every, self._connect = group, every, connect
        self._watching: asyncio.Task[None] | None = None
        self._connections: dict[str, PeerConnection] = {}  # by member id
        self._changed = asyncio.Event()
        self._reached: set[str] = set()  # ids of present members whose address has accepted a connection

    def start(self) -> None:
        """Start to check."""
        checks = repeat(self.check, self._every, "check the other workers", self._changed)
        self._watching = asyncio.create_task(checks, name="peers")

    def close(self) -> None:
        """Stop checking."""
        if self._watching is not None:
            self._watching.cancel()
        self._keep(())

    async def check(self) -> None:
        """Remove the watched workers that have ended."""
        watched = self._watched()
        self._reached &= {worker.member_id for worker in self._group.peers()}
        self._keep(worker.member_id for worker in watched)
        gone = await asyncio.gather(*(self._has_ended(worker) for worker in watched))
        dead = [worker for worker, ended in zip(watched, gone, strict=True) if ended]
        if dead:
            await self._evict(dead)

    def _watched(self) -> list[GroupWorkerInfo]:
        peers = [worker for worker in self._group.peers() if not worker.elsewhere]
        if self._group.leads:
            return peers
        return [worker for worker in peers if worker.member_id == self._group.leader_member]

    def _keep(self, members: Iterable[str]) -> None:
        """Close the connections to all others."""
        for member in self._connections.keys() - set(members):
            self._connections.pop(member).close()

    async def _evict(self, dead: list[GroupWorkerInfo]) -> None:
        names = ", ".join(worker.worker_id for worker in dead)
        _log.warning("Removing worker(s) %s from the group: their processes have ended", names)
        try:
            await self._group.evict(dead)
        except KafkaProblem as e:
            _log.warning("Could not remove worker(s) %s from the group: %s", names, e)

    async def _has_ended(self, worker: GroupWorkerInfo) -> bool:
        """Whether nothing listens at the worker's address, twice in a row, and its process is not known to be alive."""
        if await self._listens(worker) is not False:
            return False
        await asyncio.sleep(CONFIRMATION)
        if await self._listens(worker) is not False:
            return False
        if process_identity.is_here(worker.process):
            return process_identity.is_gone(worker.process)
        return worker.member_id in self._reached

    async def _listens(self, worker: GroupWorkerInfo) -> bool | None:
        """Whether a process listens at the address; None without a response."""
        known = self._connections.get(worker.member_id)
        if known is not None and not known.lost:
            return True
        try:
            connection = await self._connect(worker.url, self._changed.set)
        except ConnectionError:
            return False
        if connection is None:
            return None
        self._connections[worker.member_id] = connection
        self._reached.add(worker.member_id)
        return True
