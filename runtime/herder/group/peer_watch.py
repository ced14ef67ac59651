"""Notices workers whose processes have ended, before their sessions expire.

The leader connects to every other worker twice a second, the others to the leader. A refused connection means that no
process listens at the address, unlike silence, which may be a slow network: the session timeout decides about that. A
Headrace worker listens until its tasks have ended; other implementations stop listening earlier, so they are not
checked. A worker that advertises a wrong address would be refused, too, so a worker on another machine is removed only
if its address has accepted a connection before. Slots on a cluster may outlive their worker by their leases: such
workers are removed when their sessions expire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from runtime.herder.group.group import GroupWorkerInfo
from runtime.herder.group.worker_group import WorkerGroup
from runtime.kafka.errors import KafkaProblem
from runtime.system import process_identity
from runtime.system.repeating import repeat

_log = logging.getLogger(__name__)

INTERVAL, TIMEOUT, CONFIRMATION = 0.5, 1.0, 0.2
"""Seconds between two checks, for one connection, and until a refusal is checked again."""


async def accepts(url: str) -> bool | None:
    """Whether a process listens at the address; None without a response."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 0
        async with asyncio.timeout(TIMEOUT):
            transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, host, port)
    except (ConnectionRefusedError, ConnectionResetError):
        return False
    except (OSError, TimeoutError, ValueError):  # of an address that is not one
        return None
    transport.abort()
    return True


class PeerWatch:
    """Checks the other workers from start() to close(). Event loop only."""

    def __init__(
        self, group: WorkerGroup, every: float = INTERVAL, accepts: Callable[[str], Awaitable[bool | None]] = accepts
    ) -> None:
        self._group, self._every, self._accepts = group, every, accepts
        self._watching: asyncio.Task[None] | None = None
        self._reached: set[str] = set()  # ids of present members whose address has accepted a connection

    def start(self) -> None:
        """Start to check."""
        self._watching = asyncio.create_task(repeat(self.check, self._every, "check the other workers"), name="peers")

    def close(self) -> None:
        """Stop checking."""
        if self._watching is not None:
            self._watching.cancel()

    async def check(self) -> None:
        """Remove the watched workers that have ended."""
        watched = self._watched()
        self._reached &= {worker.member_id for worker in self._group.peers()}
        gone = await asyncio.gather(*(self._has_ended(worker) for worker in watched))
        dead = [worker for worker, ended in zip(watched, gone, strict=True) if ended]
        if dead:
            await self._evict(dead)

    def _watched(self) -> list[GroupWorkerInfo]:
        peers = [worker for worker in self._group.peers() if not worker.elsewhere]
        if self._group.leads:
            return peers
        return [worker for worker in peers if worker.member_id == self._group.leader_member]

    async def _evict(self, dead: list[GroupWorkerInfo]) -> None:
        names = ", ".join(worker.worker_id for worker in dead)
        _log.warning("Removing worker(s) %s from the group: their processes have ended", names)
        try:
            await self._group.evict(dead)
        except KafkaProblem as e:
            _log.warning("Could not remove worker(s) %s from the group: %s", names, e)

    async def _has_ended(self, worker: GroupWorkerInfo) -> bool:
        """Whether nothing listens at the worker's address, twice in a row, and its process is not known to be alive."""
        listening = await self._accepts(worker.url)
        if listening:
            self._reached.add(worker.member_id)
        if listening is not False:
            return False
        await asyncio.sleep(CONFIRMATION)
        if await self._accepts(worker.url) is not False:
            return False
        if process_identity.is_here(worker.process):
            return process_identity.is_gone(worker.process)
        return worker.member_id in self._reached
