"""The TLS port for slots on other machines, and callers that know its secret."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.engine.placement.slot_link import SlotLink
from runtime.engine.protocol.messages import FromSlot
from runtime.engine.protocol.remote import Attempt, RemoteAccess, SlotCaller
from runtime.engine.worker.archives import WorkerArchives
from runtime.engine.worker.remote_server import RemoteServer
from runtime.system import frames
from runtime.system.tls_socket import TlsSocket

KEY = "5e" * 32


@dataclass
class Listener:
    """Accepts every slot."""

    up: list[SlotLink] = field(default_factory=list)
    messages: list[FromSlot] = field(default_factory=list)
    down: list[SlotLink] = field(default_factory=list)

    def is_slot(self, pid: int) -> bool:
        return False

    def link_up(self, link: SlotLink) -> bool:
        self.up.append(link)
        link.send({"op": "welcome", "stuck_after": 1.0})
        return True

    def link_message(self, link: SlotLink, message: FromSlot) -> None:
        self.messages.append(message)

    def link_down(self, link: SlotLink) -> None:
        self.down.append(link)


@dataclass
class Port:
    """A server, and callers that know its secret."""

    listener: Listener
    access: RemoteAccess
    archives: WorkerArchives

    def caller(self, attempt: int = 1, slot: int = 0) -> SlotCaller:
        own = Attempt(1, slot, attempt)
        return SlotCaller(self.access, own, own.token(KEY), "elsewhere", 4711)

    async def slot(self, attempt: int = 1, slot: int = 0) -> TlsSocket:
        """The connection of an accepted slot."""
        connection = await asyncio.to_thread(self.caller(attempt, slot).connect, "slot")
        assert (await read(connection))["op"] == "welcome"
        return connection


@asynccontextmanager
async def opened_port(folder: Path, **limits: int) -> AsyncIterator[Port]:
    """A port on loopback; `folder` has its files. `limits` as for RemoteServer."""
    listener, archives = Listener(), WorkerArchives(folder / "archives")
    server = RemoteServer(listener, time.monotonic, KEY, archives, lambda generation: folder / "session.sock", **limits)
    access = await server.start("127.0.0.1", "127.0.0.1", 0, folder)
    yield Port(listener, access, archives)
    await server.close()


async def read(connection: TlsSocket) -> Any:
    """The next message; None at the end."""
    found = await asyncio.to_thread(frames.read, connection.stream)
    return None if found is None else found[0]
